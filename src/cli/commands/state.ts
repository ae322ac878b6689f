import { isSessionError, type Session, type SessionState } from '../../client/index.ts'
import type { SessionRow } from '../../shared/ports/store.ts'
import { totalOf } from '../../shared/usage/ledger.ts'
import type { Run } from '../action.ts'
import { COMMAND } from '../command-name.ts'
import { printable } from '../draw-event.ts'
import { usageText } from '../prices.ts'
import { counted, formatCount } from '../table.ts'

/** What only the workflow knows, or why it does not say. */
type Live = { readonly state: SessionState } | { readonly silent: string }

export const state: Run<object> = async (setting, [id = '']) => {
  const { store, row } = await setting.stored(id)
  const [waiting, compactions] = await Promise.all([
    store.inbox(id, { state: 'waiting' }),
    store.countEvents(id, 'compact/summary'),
  ])
  const kept = { waiting: waiting.length, compactions }
  const stored = storedState(row, kept)
  const show = (live: Live) =>
    setting.output.result(
      { sessionId: id, live: 'state' in live ? live.state : null, stored },
      describeState(row, kept, live),
    )
  try {
    show(await liveState((await setting.sessions()).get(id), row.closed))
  } catch (error) {
    show({ silent: isSessionError(error, 'WorkerUnavailable') ? 'no worker answers' : 'not known' })
    throw error
  }
}

async function liveState(session: Session, closed: boolean): Promise<Live> {
  if (closed) return { silent: `closed; ${COMMAND} start … opens it again` }
  try {
    const { status } = await session.workflow.describe()
    if (status.name !== 'RUNNING') return { silent: 'asleep; a prompt wakes it' }
    return { state: await session.state() }
  } catch (error) {
    if (isSessionError(error, 'SessionNotFound') || (error as Error).name === 'WorkflowNotFoundError')
      return { silent: 'asleep, and Temporal has forgotten it; a prompt wakes it' }
    throw error
  }
}

interface Kept {
  readonly waiting: number
  /** Of all lives; the live state counts those of the workflow's life. */
  readonly compactions: number
}

const storedState = (row: SessionRow, { waiting, compactions }: Kept) => ({
  life: row.life,
  closed: row.closed,
  events: row.head,
  generation: row.generation,
  turns: row.lastTurn,
  openTurn: row.openTurn,
  openCompaction: row.openCompactionId,
  waiting,
  compactions,
  usage: totalOf(row.usage),
  model: modelOf(row),
})

const modelOf = ({ header }: SessionRow): string | null =>
  header.model === null ? null : `${header.provider}/${header.model}`

function describeState(row: SessionRow, { waiting, compactions }: Kept, live: Live): string {
  const lines = [
    ['session', `${row.sessionId} (life ${row.life})`],
    ['status', 'state' in live ? statusOf(live.state) : live.silent],
    ['model', modelOf(row) ?? 'none'],
    [
      'log',
      [
        counted(row.head, 'event'),
        counted(row.lastTurn, 'turn'),
        counted(compactions, 'compaction'),
        counted(row.generation, 'replacement'),
      ].join(', '),
    ],
    ['inbox', `${waiting} waiting`],
    ['paid', usageText(row.usage)],
    ...('state' in live ? [...contextLine(live.state), ...troubleLines(live.state)] : []),
  ]
  return lines.map(([name = '', value]) => `${name.padEnd(10)} ${value}`).join('\n')
}

function statusOf({ status, turn, step, compactionId }: SessionState): string {
  const where = turn === null ? '' : ` turn ${turn}${step === null ? '' : `, step ${step}`}`
  return `${status}${where}${compactionId === null ? '' : `, compaction ${compactionId}`}`
}

function contextLine({ reading }: SessionState): string[][] {
  if (reading === null) return []
  const limit = reading.limit === null ? 'compaction off' : `compacts at ${formatCount(reading.limit)}`
  return [['context', `${formatCount(reading.tokens)} tokens, ${limit}, pressure ${reading.pressure}`]]
}

function troubleLines({ blocked, lastFailure }: SessionState): string[][] {
  return [
    ...(blocked === null ? [] : [['blocked', `${blocked.reason}: ${printable(blocked.message)}`]]),
    ...(lastFailure === null
      ? []
      : [
          [
            'failed',
            `${lastFailure.compactionId} (${lastFailure.errorCode ?? 'refused'}): ${printable(lastFailure.errorMessage ?? '')}`,
          ],
        ]),
  ]
}
