import pc from 'picocolors'
import { formatCount, formatMs, formatTable } from '../src/cli/table.ts'
import type { AttemptRow, SessionStore } from '../src/shared/ports/store.ts'
import { isText } from '../src/shared/session/content.ts'
import { keys } from '../src/shared/session/keys.ts'
import { headOf } from '../src/shared/session/well-formed.ts'
import type { Check } from './check.ts'

export async function printCompactions(store: SessionStore, sessionId: string): Promise<void> {
  const attempts = [...(await store.attempts({ sessionId }))].reverse().filter((row) => row.startSeq !== null)
  const rows = await Promise.all(attempts.map((row) => compactionRow(store, row)))
  console.log(`\n${pc.bold('Compactions')}\n`)
  console.log(formatTable(['cause', 'before', 'after', 'kept', 'duration', 'outcome', 'start', 'end'], rows))
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

const LINE_CHARS = 110
const SECTION_LINES = 6

export async function printCheckpoint(store: SessionStore, sessionId: string): Promise<void> {
  const [first] = (await store.surface(sessionId)).nodes
  if (first?.type !== 'user/message') return
  const page = first.data.content
    .filter(isText)
    .map((block) => block.text)
    .join('\n')
  console.log(
    `\n${pc.bold('The checkpoint that the model sees now')} (${formatCount(first.tokens)} tokens; long lists are cut here)\n`,
  )
  for (const section of page.split(/\n(?=## )/)) console.log(excerptOf(section))
}

/** The first lines of a section: prose is wrapped, lists are cut to the width of a page. */
function excerptOf(section: string): string {
  const isProse = /^(\[|## (The user said|Summary))/.test(section)
  const lines = section.split('\n').flatMap((line) => (isProse ? wrap(line) : [cut(line)]))
  const shown = lines.slice(0, SECTION_LINES)
  const left = lines.length - shown.length
  return [...shown, ...(left === 0 ? [] : [`… ${left} more lines`])].map(shade).join('\n')
}

const shade = (line: string): string => (line.startsWith('## ') ? line : pc.dim(line))

const cut = (line: string): string => (line.length <= LINE_CHARS ? line : `${headOf(line, LINE_CHARS - 2)} …`)

const wrap = (line: string): string[] =>
  line.match(new RegExp(`.{1,${LINE_CHARS}}(?:\\s|$)|.{${LINE_CHARS}}`, 'gu')) ?? ['']

/** Prints the checks; true when all hold. */
export function printChecks(checks: readonly Check[]): boolean {
  console.log(`\n${pc.bold('Checked by the demo itself')}\n`)
  for (const { what, found, holds } of checks)
    console.log(`${holds ? pc.green('✓') : pc.red('✗')} ${what}: ${found}`)
  return checks.every((check) => check.holds)
}
