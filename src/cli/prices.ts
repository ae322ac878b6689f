import type { UsageLedger } from '../shared/usage/ledger.ts'
import { PRICES, type PriceTable, priceTableSchema } from '../shared/usage/prices.ts'
import { type PricedUsage, usageReport } from '../shared/usage/report.ts'
import { UsageError } from './exit-codes.ts'
import { readJsonFile } from './json-file.ts'
import { formatCount } from './table.ts'

/** The price table of a file, or ours. @throws UsageError */
export function pricesFrom(path: string | undefined): PriceTable {
  if (path === undefined) return PRICES
  const parsed = priceTableSchema.safeParse(readJsonFile(path))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where =
    issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.map(String).join(' › ')}`
  throw new UsageError(
    `${path} is no price table${where}: ${issue?.message ?? 'not of the expected shape'}. ` +
      'It must be {"date": …, "models": {"provider/model": {"input", "output", "cacheRead", "cacheWrite"}}}, US dollars per million tokens.',
  )
}

export const formatUsd = (usd: number): string => `$${usd.toFixed(usd < 10 ? 4 : 2)}`

/** What is known of a cost, and what is not. */
export function costText({ requests, unpricedRequests, usd }: PricedUsage): string {
  if (unpricedRequests === 0) return formatUsd(usd)
  if (unpricedRequests === requests) return 'price not known'
  return `at least ${formatUsd(usd)} (${formatCount(unpricedRequests)} of ${formatCount(requests)} requests have no price)`
}

/** A ledger in one line, by our prices. */
export function usageText(ledger: UsageLedger): string {
  const { total } = usageReport(ledger, PRICES)
  const { requests, inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = total
  if (requests === 0) return 'nothing'
  const input = formatCount(inputTokens + cacheReadTokens + cacheWriteTokens)
  const asked = `${formatCount(requests)} ${requests === 1 ? 'request' : 'requests'}`
  return `${asked}, ${input} tokens in, ${formatCount(outputTokens)} out; ${costText(total)}`
}
