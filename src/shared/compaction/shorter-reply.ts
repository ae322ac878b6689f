import type { Reading } from '../protocol.ts'
import type { Header } from '../session/events.ts'
import { WINDOW_RESERVE_TOKENS } from './policy-sizes.ts'
import { thinkingBudget } from './summary-request.ts'

/** Tokens beside the reasoning below which a reply is not worth its request: it would be cut off at once. */
const LEAST_REPLY_TOKENS = 1_024
/** Share of the policy's reply that a shorter one must still have. */
const LEAST_SHARE = 0.25
/** Error of the input's estimate that the request must survive. Of a large input a part of it is in the estimate already. */
const ESTIMATE_ERROR = 0.1

/** A compaction for this request is known not to help. One that the budget does not pay for is written by code, where the policy allows it. */
export function isCompactionVain({ pressure, off }: Reading, { policy }: Header): boolean {
  const isFree =
    off === 'budget-spent' && (policy.summarizer === 'deterministic' || policy.summaryFallback !== 'never')
  return pressure === 'overhead' || (pressure === 'held' && !isFree)
}

/**
 * `max_tokens` for a request whose input leaves no room for the policy's reply: what is left of the window behind the estimate and its error. Null when that is
 * less than a reply needs: the thinking budget, and 1,024 tokens or a quarter of the rest of `replyMaxTokens` where that is more.
 */
export function shorterReply({ policy, sampling }: Header, inputTokens: number): number | null {
  const { contextWindow, replyMaxTokens } = policy
  if (contextWindow === null) return null
  const reserve = Math.min(WINDOW_RESERVE_TOKENS, Math.ceil(ESTIMATE_ERROR * inputTokens))
  const room = Math.min(replyMaxTokens, contextWindow - inputTokens - reserve)
  // A budget above the reply is one of the whole turn.
  const budget = thinkingBudget(sampling)
  const reasoning = budget < replyMaxTokens ? budget : 0
  const least = Math.max(LEAST_REPLY_TOKENS, Math.ceil(LEAST_SHARE * (replyMaxTokens - reasoning)))
  return room >= reasoning + least ? room : null
}
