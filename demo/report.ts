import pc from 'picocolors'
import { formatCount, formatMs, formatTable } from '../src/cli/table.ts'
import type { AttemptRow, SessionStore } from '../src/shared/ports/store.ts'
import { isText } from '../src/shared/session/content.ts'
import { keys } from '../src/shared/session/keys.ts'
import type { Check } from './check.ts'

export async function printCompactions(store: SessionStore, sessionId: string): Promise<void> {
  const attempts = [...(await store.attempts({ sessionId }))].reverse().filter((row) => row.startSeq !== null)
  const rows = await Promise.all(attempts.map((row) => compactionRow(store, row)))
  console.log(`\n${pc.bold('Compactions')}\n`)
  console.log(formatTable(['cause', 'tokens', 'after', 'kept', 'duration', 'outcome', 'start', 'end'], rows))
}

async function compactionRow(store: SessionStore, row: AttemptRow): Promise<(string | number)[]> {
  const { outcome, plan, startSeq } = row
  const replaced = plan?.shadowedSeqs.length ?? 0
  const summary = await store.eventByKey(row.sessionId, keys.compactSummary(row.compactionId))
  const names = summary?.type === 'compact/summary' ? summary.data.ledger.items.length : 0
  return [
    row.cause,
    formatCount(outcome?.tokensBefore ?? 0),
    formatCount(outcome?.tokensAfter ?? 0),
    `${replaced} messages → checkpoint, ${names} names`,
    formatMs((row.endedAt ?? row.startedAt) - row.startedAt),
    outcome?.error === undefined ? (outcome?.outcome ?? row.state) : `failed: ${outcome.error.code}`,
    startSeq ?? '',
    outcome?.endSeq ?? '',
  ]
}

export async function printCheckpoint(store: SessionStore, sessionId: string): Promise<void> {
  const { nodes } = await store.surface(sessionId)
  const [first] = nodes
  if (first?.type !== 'user/message') return
  const page = first.data.content
    .filter(isText)
    .map((block) => block.text)
    .join('\n')
  console.log(`\n${pc.bold('The checkpoint that the model sees now')}\n`)
  console.log(
    page
      .split('\n')
      .map((line) => pc.dim(line.length > 400 ? `${line.slice(0, 400)} …` : line))
      .join('\n'),
  )
}

/** Prints the checks; true when all hold. */
export function printChecks(checks: readonly Check[]): boolean {
  console.log(`\n${pc.bold('Checked by the demo itself')}\n`)
  for (const { what, found, holds } of checks)
    console.log(`${holds ? pc.green('✓') : pc.red('✗')} ${what}: ${found}`)
  return checks.every((check) => check.holds)
}
