import { totalOf, type UsageLedger } from '../usage/ledger.ts'
import type { ResolvedPolicy } from './policy-schema.ts'

/** What a session's compactions have cost so far, whoever asked for them. */
export interface Spending {
  /** Those that paid for a call. One that code wrote alone is free. */
  readonly count: number
  /** Input, cache reads, cache writes and output of their calls, also of refused and failed ones. What nobody told counts nothing. */
  readonly tokens: number
}

export const NOTHING_SPENT: Spending = { count: 0, tokens: 0 }

/** @param paid the ledger of each attempt that paid */
export function spendingOf(paid: readonly UsageLedger[]): Spending {
  return paid.map(totalOf).reduce<Spending>(
    ({ count, tokens }, total) => ({
      count: count + (total.requests > 0 ? 1 : 0),
      tokens:
        tokens + total.inputTokens + total.cacheReadTokens + total.cacheWriteTokens + total.outputTokens,
    }),
    NOTHING_SPENT,
  )
}

/** True when nobody but a person may pay for a further compaction. An attempt that has begun is finished: the last one may go beyond. */
export function isSpent(
  { auto, compactionBudget }: Pick<ResolvedPolicy, 'auto' | 'compactionBudget'>,
  { count, tokens }: Spending,
): boolean {
  if (!auto || compactionBudget === undefined) return false
  const { count: mostCount = Infinity, tokens: mostTokens = Infinity } = compactionBudget
  return count >= mostCount || tokens >= mostTokens
}

/** `3 of 3 compactions, 61200 of 500000 tokens` */
export function spendingText(
  budget: NonNullable<ResolvedPolicy['compactionBudget']>,
  { count, tokens }: Spending,
): string {
  const of = (most: number | undefined) => (most === undefined ? '' : ` of ${most}`)
  return `${count}${of(budget.count)} compactions, ${tokens}${of(budget.tokens)} tokens`
}
