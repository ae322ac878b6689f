import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import * as activities from '../src/shared/activity-protocol.ts'
import * as own from '../src/shared/own-protocol.ts'
import { compactionInputSchema, compactionOutcomeSchema } from '../src/shared/protocol.ts'

// Writes docs/contract/*.schema.json from the zod schemas that both sides use. `--check` writes nothing and fails when a file is stale.

const SCHEMAS: Readonly<Record<string, { readonly what: string; readonly schema: z.ZodType }>> = {
  'session-open.input': { what: 'Activity sessionOpen, with a header', schema: activities.openInputSchema },
  'session-open.result': { what: 'Activity sessionOpen', schema: activities.openResultSchema },
  'session-start-turn.input': { what: 'Activity sessionStartTurn', schema: activities.startTurnInputSchema },
  'session-start-turn.result': {
    what: 'Activity sessionStartTurn',
    schema: activities.startTurnResultSchema,
  },
  'session-append.input': { what: 'Activity sessionAppend', schema: own.appendInputSchema },
  'session-append.result': { what: 'Activity sessionAppend', schema: own.stepResultSchema },
  'session-request.input': { what: 'Activity sessionRequest', schema: own.requestInputSchema },
  'session-request.result': { what: 'Activity sessionRequest', schema: own.requestResultSchema },
  'session-messages.input': { what: 'Activity sessionMessages', schema: own.messagesInputSchema },
  'session-messages.result': { what: 'Activity sessionMessages', schema: own.messagesResultSchema },
  'session-position.input': { what: 'Activity sessionPosition', schema: own.positionInputSchema },
  'session-position.result': { what: 'Activity sessionPosition', schema: own.positionResultSchema },
  'session-end-turn.input': { what: 'Activity sessionEndTurn', schema: activities.endTurnInputSchema },
  'session-end-turn.result': { what: 'Activity sessionEndTurn', schema: activities.readingResultSchema },
  'session-close.input': { what: 'Activity sessionClose', schema: activities.closeSessionInputSchema },
  'session-close-attempt.input': {
    what: 'Activity sessionCloseAttempt',
    schema: activities.closeAttemptInputSchema,
  },
  'session-compaction.input': { what: 'Workflow sessionCompaction', schema: compactionInputSchema },
  'session-compaction.result': {
    what: 'Workflow sessionCompaction, activity sessionCloseAttempt',
    schema: compactionOutcomeSchema,
  },
}

const folder = resolve(import.meta.dirname, '../docs/contract')
const isCheck = process.argv.includes('--check')
mkdirSync(folder, { recursive: true })
const stale = Object.entries(SCHEMAS).filter(([name, { what, schema }]) => {
  const io = name.endsWith('.input') ? 'input' : 'output'
  const text = `${JSON.stringify({ title: what, ...z.toJSONSchema(schema, { io, unrepresentable: 'any' }) }, null, 2)}\n`
  const path = join(folder, `${name}.schema.json`)
  if (existing(path) === text) return false
  if (!isCheck) writeFileSync(path, text)
  return true
})
if (isCheck && stale.length > 0) {
  const names = stale.map(([name]) => `docs/contract/${name}.schema.json`).join(', ')
  console.error(`stale: ${names}. Run \`node --import tsx scripts/write-contract.ts\` and commit the files.`)
  process.exitCode = 1
}

function existing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
