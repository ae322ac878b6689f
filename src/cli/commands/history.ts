import { reasonText } from '../../shared/compaction/reason-text.ts'
import type { AttemptRow } from '../../shared/ports/store.ts'
import type { Run } from '../action.ts'
import { formatCount, formatMs, formatTable } from '../table.ts'

export const history: Run<{ readonly limit: number }> = async (setting, [id = ''], { limit }) => {
  const { store } = await setting.stored(id)
  const rows = await store.attempts({ sessionId: id, limit })
  setting.output.result(
    rows.map(({ plan: _plan, summary: _summary, ...row }) => row),
    rows.length === 0 ? `Session ${id} has not compacted.` : historyTable(rows),
  )
}

function historyTable(rows: readonly AttemptRow[]): string {
  const header = ['when (UTC)', 'cause', 'before', 'after', 'calls', 'time', 'start', 'end', 'id', 'outcome']
  return formatTable(
    header,
    rows.map(({ startedAt, endedAt, cause, outcome, startSeq, compactionId, ...row }) => [
      new Date(startedAt).toISOString().slice(0, 19).replace('T', ' '),
      cause,
      outcome === null ? '' : formatCount(outcome.tokensBefore),
      outcome === null ? '' : formatCount(outcome.tokensAfter),
      outcome === null ? '' : outcome.paid.calls + outcome.paid.reused,
      endedAt === null ? '' : formatMs(endedAt - startedAt),
      startSeq ?? '',
      outcome?.endSeq ?? '',
      compactionId,
      outcomeText({ ...row, outcome }),
    ]),
  )
}

function outcomeText({ state, outcome }: Pick<AttemptRow, 'state' | 'outcome'>): string {
  if (outcome === null) return state
  if (outcome.error !== undefined) return `failed (${outcome.error.code}): ${outcome.error.message}`
  if (outcome.outcome === 'nothing' && outcome.reason !== undefined)
    return `nothing: ${reasonText(outcome.reason)}${outcome.message === undefined ? '' : ` (${outcome.message})`}`
  return outcome.outcome
}
