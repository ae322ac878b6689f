import { compactionRecords } from '../../client/compactions.ts'
import { isSpent, spendingOf, spendingText } from '../../shared/compaction/compaction-budget.ts'
import type { ResolvedPolicy } from '../../shared/compaction/policy-schema.ts'
import { reasonText } from '../../shared/compaction/reason-text.ts'
import type { AttemptRow } from '../../shared/ports/store.ts'
import type { PriceTable } from '../../shared/usage/prices.ts'
import { type PricedUsage, usageReport } from '../../shared/usage/report.ts'
import type { Run } from '../action.ts'
import { printable } from '../draw-event.ts'
import { formatUsd, pricesFrom } from '../prices.ts'
import { formatCount, formatMs, formatTable } from '../table.ts'

export interface HistoryOptions {
  readonly limit: number
  readonly prices?: string
}

export const history: Run<HistoryOptions> = async (setting, [id = ''], { limit, prices }) => {
  const table = pricesFrom(prices)
  const { store, row: session } = await setting.stored(id)
  const rows = await store.attempts({ sessionId: id, limit })
  const budget = budgetText(session.header.policy, await store.attemptUsage(id))
  const records = await compactionRecords(store, id, rows)
  const undone = new Map(records.map(({ compactionId, undoneAt }) => [compactionId, undoneAt]))
  setting.output.results(
    records.map((record, at) => {
      const { usd, unpricedRequests } = usageReport(rows[at]?.usage ?? [], table).total
      return { ...record, usd, unpricedRequests, pricesOf: table.date }
    }),
    rows.length === 0
      ? `Session ${id} has not compacted.`
      : [historyTable(rows, undone, table), ...budget].join('\n\n'),
  )
}

/** One line where the policy has a budget. */
function budgetText(policy: ResolvedPolicy, paid: readonly Pick<AttemptRow, 'usage'>[]): string[] {
  const { compactionBudget } = policy
  if (compactionBudget === undefined) return []
  const spending = spendingOf(paid.map(({ usage }) => usage))
  const end = isSpent(policy, spending) ? ', used up: none is paid for by itself' : ''
  return [`compactionBudget: ${spendingText(compactionBudget, spending)}${end}`]
}

function historyTable(
  rows: readonly AttemptRow[],
  undone: ReadonlyMap<string, number | undefined>,
  prices: PriceTable,
): string {
  const header = [
    ...['when (UTC)', 'cause', 'before', 'after', 'calls', 'cost', 'time'],
    ...['start', 'end', 'id', 'outcome'],
  ]
  return formatTable(
    header,
    rows.map(({ startedAt, endedAt, cause, outcome, startSeq, compactionId, usage, ...row }) => [
      new Date(startedAt).toISOString().slice(0, 19).replace('T', ' '),
      cause,
      outcome === null ? '' : formatCount(outcome.tokensBefore),
      outcome === null ? '' : formatCount(outcome.tokensAfter),
      ...paidCells(usageReport(usage, prices).total),
      endedAt === null ? '' : formatMs(endedAt - startedAt),
      startSeq ?? '',
      outcome?.endSeq ?? '',
      compactionId,
      `${outcomeText({ ...row, outcome })}${undoneText(undone.get(compactionId))}`,
    ]),
  )
}

/** Calls and cost; a cost that is not all of it has a plus. */
function paidCells({ requests, unpricedRequests, usd }: PricedUsage): (string | number)[] {
  if (unpricedRequests === requests) return [requests, '']
  return [requests, `${formatUsd(usd)}${unpricedRequests === 0 ? '' : '+'}`]
}

/** Of a compaction whose messages are back. */
export const undoneText = (seq: number | undefined): string => (seq === undefined ? '' : `, undone (#${seq})`)

function outcomeText({ state, outcome }: Pick<AttemptRow, 'state' | 'outcome'>): string {
  if (outcome === null) return state
  if (outcome.error !== undefined) return `failed (${outcome.error.code}): ${outcome.error.message}`
  if (outcome.outcome === 'nothing' && outcome.reason !== undefined)
    return `nothing: ${reasonText(outcome.reason)}${outcome.message === undefined ? '' : ` (${outcome.message})`}`
  return outcome.failedModels === undefined
    ? outcome.outcome
    : `${outcome.outcome} by ${printable(outcome.model ?? 'code')}, after ${printable(outcome.failedModels)}`
}
