import type { UsageLedger } from '../../shared/usage/ledger.ts'
import { type PricedUsage, type UsageReport, usageReport } from '../../shared/usage/report.ts'
import type { Run } from '../action.ts'
import { printable } from '../draw-event.ts'
import { costText, formatUsd, pricesFrom } from '../prices.ts'
import { formatCount, formatTable } from '../table.ts'

export const usage: Run<{ readonly prices?: string }> = async (setting, [id = ''], { prices }) => {
  const table = pricesFrom(prices)
  const { row } = await setting.stored(id)
  const report = usageReport(row.usage, table)
  setting.output.result({ sessionId: id, ...report }, describe(id, row.usage, report))
}

const COLUMNS = ['purpose', 'model', 'requests', 'input', 'cache read', 'cache write', 'output', 'cost']

function describe(id: string, ledger: UsageLedger, { lines, total, pricesOf }: UsageReport): string {
  if (ledger.length === 0) return `Session ${id} has paid for nothing.`
  const rows = lines.map((line) => [line.purpose, printable(modelOf(line)), ...cells(line)])
  const notes = [
    `${costText(total)}, prices of ${pricesOf}.`,
    ...(total.unknownRequests === 0
      ? []
      : [`Of ${formatCount(total.unknownRequests)} requests nobody told the tokens.`]),
    ...unpriced(lines),
  ]
  return [formatTable(COLUMNS, [...rows, ['total', '', ...cells(total)]]), '', ...notes].join('\n')
}

const cells = (priced: PricedUsage): (string | number)[] => [
  formatCount(priced.requests),
  ...[priced.inputTokens, priced.cacheReadTokens, priced.cacheWriteTokens, priced.outputTokens].map(
    formatCount,
  ),
  priced.unpricedRequests === priced.requests ? '' : formatUsd(priced.usd),
]

function unpriced(lines: UsageReport['lines']): string[] {
  const models = lines
    .filter(({ unpricedRequests, unknownRequests }) => unpricedRequests > unknownRequests)
    .map(modelOf)
  if (models.length === 0) return []
  return [`No price is known of ${printable([...new Set(models)].join(', '))}: give others with --prices.`]
}

/** An own workflow may have told no model. */
const modelOf = ({ provider, model }: { readonly provider: string; readonly model: string }): string =>
  provider === '' && model === '' ? 'not named' : `${provider}/${model}`
