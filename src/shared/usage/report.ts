import { addTotals, NO_TOTAL, type UsageLedger, type UsagePurpose, type UsageTotal } from './ledger.ts'
import { costUsd, type PriceTable, priceOf } from './prices.ts'

/** Tokens with their price. */
export interface PricedUsage extends UsageTotal {
  /** US dollars of what has a price. */
  readonly usd: number
  /** Requests that are not, or not fully, in `usd`: nobody told their tokens, or the table has no price of their model. 0: `usd` is all. */
  readonly unpricedRequests: number
}

export interface UsageReport {
  readonly total: PricedUsage
  /** One entry for each purpose and model that was paid for. */
  readonly lines: readonly (PricedUsage & {
    readonly purpose: UsagePurpose
    readonly provider: string
    readonly model: string
  })[]
  /** Date of the price table. */
  readonly pricesOf: string
}

const NOTHING: PricedUsage = { ...NO_TOTAL, usd: 0, unpricedRequests: 0 }

/** A ledger in money. */
export function usageReport(ledger: UsageLedger, prices: PriceTable): UsageReport {
  const lines = new Map<string, UsageReport['lines'][number]>()
  let total = NOTHING
  for (const { purpose, provider, model, promptAbove, ...counts } of ledger) {
    const price = priceOf(prices, `${provider}/${model}`)
    const priced: PricedUsage = {
      ...counts,
      usd: price === undefined ? 0 : costUsd(price, counts, promptAbove),
      unpricedRequests: price === undefined ? counts.requests : counts.unknownRequests,
    }
    const name = `${purpose} ${provider}/${model}`
    lines.set(name, { purpose, provider, model, ...add(lines.get(name) ?? NOTHING, priced) })
    total = add(total, priced)
  }
  return { total, lines: [...lines.values()], pricesOf: prices.date }
}

const add = (a: PricedUsage, b: PricedUsage): PricedUsage => ({
  ...addTotals(a, b),
  usd: a.usd + b.usd,
  unpricedRequests: a.unpricedRequests + b.unpricedRequests,
})
