import type { Command } from 'commander'
import pc from 'picocolors'
import type { AttemptRow } from '../../shared/ports/store.ts'
import type { SessionEvent } from '../../shared/session/events.ts'
import { drawEvent } from '../draw-event.ts'
import { readLog } from '../read-log.ts'
import { action, type Setting } from '../setting.ts'
import { formatCount, formatMs, formatTable } from '../table.ts'

/** Commands that read the store, and need no worker; `state` asks the workflow for what only it knows. */
export function addReadCommands(program: Command): void {
  program.command('state <session>').description('what the session does now').action(action(showState))
  program
    .command('history <session>')
    .description('all compactions, newest first')
    .option('--limit <n>', 'how many', '20')
    .action(action(showHistory))
  program
    .command('transcript <session>')
    .description('the whole conversation, as it was')
    .action(action(showTranscript))
  program
    .command('watch <session>')
    .description('follow a session until Ctrl-C')
    .option('--after <seq>', 'from behind this event; default: from now on')
    .action(action(watch))
  program
    .command('export <session>')
    .description('the log as JSON lines; with --surface the messages that the model sees')
    .option('--surface', 'messages instead of events')
    .action(action(exportLog))
}

async function showState(setting: Setting, [id = '']: readonly string[]): Promise<void> {
  const row = await setting.stored(id)
  const live = await (await setting.sessions())
    .get(id)
    .state()
    .catch(() => null)
  const waiting = await setting.store.inbox(id, { state: 'waiting' })
  const stored = {
    life: row.life,
    closed: row.closed,
    events: row.head,
    generation: row.generation,
    turns: row.lastTurn,
    openTurn: row.openTurn,
    openCompaction: row.openCompactionId,
    waiting: waiting.length,
    model: row.header.model === null ? null : `${row.header.provider}/${row.header.model}`,
  }
  const reading = live?.reading
  const context =
    reading == null
      ? ''
      : `\ncontext    ${formatCount(reading.tokens)} tokens, limit ${reading.limit === null ? 'off' : formatCount(reading.limit)}, pressure ${reading.pressure}`
  const status = live?.status ?? (row.closed ? 'closed' : 'no worker answers, or the session sleeps')
  const human = `session    ${id} (life ${row.life})\nstatus     ${status}\nmodel      ${stored.model ?? 'none'}\nlog        ${row.head} events, ${row.lastTurn} turns, generation ${row.generation}, ${waiting.length} waiting${context}`
  setting.output.result({ sessionId: id, live, stored }, human)
}

async function showHistory(
  setting: Setting,
  [id = '']: readonly string[],
  options: { limit?: string },
): Promise<void> {
  await setting.stored(id)
  const rows = await setting.store.attempts({ sessionId: id, limit: Number(options.limit ?? '20') })
  const human = rows.length === 0 ? `Session ${id} has not compacted.` : historyTable(rows)
  setting.output.result(
    rows.map(({ plan: _plan, summary: _summary, ...row }) => row),
    human,
  )
}

function historyTable(rows: readonly AttemptRow[]): string {
  return formatTable(
    ['when', 'cause', 'outcome', 'before', 'after', 'calls', 'time', 'start', 'end', 'id'],
    rows.map(({ startedAt, endedAt, cause, state, outcome, startSeq, compactionId }) => [
      new Date(startedAt).toISOString().slice(0, 19).replace('T', ' '),
      cause,
      outcome === null
        ? state
        : outcome.error === undefined
          ? `${outcome.outcome}${outcome.reason === undefined ? '' : ` (${outcome.reason})`}`
          : `failed: ${outcome.error.code}`,
      outcome === null ? '' : formatCount(outcome.tokensBefore),
      outcome === null ? '' : formatCount(outcome.tokensAfter),
      outcome === null ? '' : outcome.paid.calls + outcome.paid.reused,
      endedAt === null ? '' : formatMs(endedAt - startedAt),
      startSeq ?? '',
      outcome?.endSeq ?? '',
      compactionId,
    ]),
  )
}

async function showTranscript(setting: Setting, [id = '']: readonly string[]): Promise<void> {
  await setting.stored(id)
  const events = (await readLog(setting.store, id)).filter(
    (event) => event.surfaceOp !== undefined && typeof event.surfaceOp !== 'object',
  )
  setting.output.result(events, events.map(drawEvent).join('\n'))
}

async function watch(
  setting: Setting,
  [id = '']: readonly string[],
  options: { after?: string },
): Promise<void> {
  const row = await setting.stored(id)
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  const after = options.after === undefined ? row.head - 1 : Number(options.after)
  const session = (await setting.sessions()).get(id)
  for await (const seen of session.watch({ after, signal: stop.signal })) {
    if (setting.output.json) console.log(JSON.stringify(seen))
    else if (seen.kind === 'delta') process.stdout.write(pc.dim(seen.text))
    else console.log(drawEvent(seen.event))
  }
}

async function exportLog(
  setting: Setting,
  [id = '']: readonly string[],
  options: { surface?: boolean },
): Promise<void> {
  await setting.stored(id)
  const lines: readonly SessionEvent[] = options.surface
    ? (await setting.store.surface(id)).nodes
    : await readLog(setting.store, id)
  for (const line of lines) console.log(JSON.stringify(line))
}
