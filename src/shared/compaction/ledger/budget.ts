import type { LedgerBudget } from './types.ts'

/** Parts of the prose in a checkpoint without a model. */
const PROSE = { plan: 0.16, errors: 0.16, assistant: 0.68 }
/** Parts of the whole when a model's summary of earlier messages is kept: the room that it had beside 300 and 2,000 of 5,000. */
const WITH_SUMMARY = { plan: 0.03, errors: 0.03, assistant: 0.54 }
const USER_START_SHARE = 0.25
const LONG_SPAN_TOKENS = 150_000

export interface BudgetInput {
  /** Everything but the user's words. */
  readonly checkpointTokens: number
  /** The user's words, beside `checkpointTokens`. */
  readonly userTextTokens: number
  readonly spanTokens: number
  /** Whether an earlier checkpoint carries a model's summary, which then stays. */
  readonly earlierSummary?: boolean
}

/** Limits of a checkpoint that no model takes part in: plan, errors and the assistant's texts share what the lists do not get. */
export function budgetWithoutSummary(input: BudgetInput): LedgerBudget {
  const { checkpointTokens, userTextTokens, spanTokens, earlierSummary = false } = input
  const listTokens = earlierSummary
    ? Math.floor(checkpointTokens * 0.4)
    : listShare(checkpointTokens, spanTokens)
  const shares = earlierSummary ? WITH_SUMMARY : PROSE
  const shared = earlierSummary ? checkpointTokens : checkpointTokens - listTokens
  return {
    listTokens,
    userTokens: userTextTokens,
    userStartTokens: Math.floor(userTextTokens * USER_START_SHARE),
    planTokens: Math.floor(shared * shares.plan),
    errorTokens: Math.floor(shared * shares.errors),
    assistantTokens: Math.floor(shared * shares.assistant),
    userSharesTotal: false,
  }
}

/** What the lists get of a total: half, more of a small one and of a very long span. */
export function listShare(totalTokens: number, spanTokens: number): number {
  const share = spanTokens > LONG_SPAN_TOKENS ? 0.6 : 0.5
  return Math.floor(Math.max(totalTokens * share, Math.min(totalTokens * 0.75, 1500)))
}
