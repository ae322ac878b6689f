import type { ResolvedPolicy } from './policy-schema.ts'

/** The prompt asks for this many tokens of summary, the gate refuses more than `SUMMARY_LIMIT_TOKENS`. */
const SUMMARY_ASK_TOKENS = 1_800
const SUMMARY_LIMIT_TOKENS = 2_700
/** Plan and open errors of a checkpoint. */
const STATE_TOKENS = 300
/** All pins together, where a checkpoint has room for more. */
export const PIN_LIMIT_TOKENS = 2_000
/** What a pin has beside its text: where it comes from, and its fences. */
const PIN_FRAME_TOKENS = 10
/** Below this a model's text would say nothing, and be refused as too long. */
export const LEAST_SUMMARY_TOKENS = 100

/** What all pins together may have: half of a checkpoint stays to the conversation. */
export const pinLimit = ({ checkpointLimitTokens }: Pick<ResolvedPolicy, 'checkpointLimitTokens'>): number =>
  Math.min(PIN_LIMIT_TOKENS, Math.floor(checkpointLimitTokens / 2))

/** What a text has as a pin. */
export const pinTokens = (text: string, count: (text: string) => number): number =>
  count(text) + PIN_FRAME_TOKENS

/** Tokens of our counter for each part of one checkpoint. */
export interface CheckpointBudget {
  readonly userTextTokens: number
  readonly stateTokens: number
  readonly listTokens: number
  /** Asked for in the prompt. */
  readonly summaryAskTokens: number
  /** The gate refuses more. */
  readonly summaryLimitTokens: number
}

type Budgets = Pick<
  ResolvedPolicy,
  'checkpointTokens' | 'userTextTokens' | 'checkpointLimitTokens' | 'summaryMaxTokens'
>

/**
 * Splits a checkpoint so that it stays within its limit, pins included. The user's words give way first, down to an eighth of what the
 * pins leave, then the lists, down to a quarter, then the summary: on a small window a checkpoint without the task or without names would
 * be worse than a shorter summary.
 */
export function checkpointBudget(policy: Budgets, pinTokens: number): CheckpointBudget {
  const room = Math.max(0, policy.checkpointLimitTokens - pinTokens)
  const wanted = Math.min(policy.checkpointTokens, room)
  const userTextTokens = Math.min(policy.userTextTokens, Math.max(room - wanted, Math.floor(room / 8)))
  const rest = Math.min(wanted, room - userTextTokens)
  const stateTokens = Math.min(STATE_TOKENS, Math.floor(rest / 10))
  const beside = rest - stateTokens
  const listTokens = Math.min(beside, Math.max(beside - SUMMARY_LIMIT_TOKENS, Math.floor(rest / 4)))
  // A summary cut off by its own `max_tokens` is refused, so its limit leaves room for a longer tokenizer than ours.
  const summaryLimitTokens = Math.min(
    SUMMARY_LIMIT_TOKENS,
    beside - listTokens,
    Math.floor(policy.summaryMaxTokens / 1.5),
  )
  const share = SUMMARY_ASK_TOKENS / SUMMARY_LIMIT_TOKENS
  return {
    userTextTokens,
    stateTokens,
    listTokens,
    summaryAskTokens: Math.floor(summaryLimitTokens * share),
    summaryLimitTokens,
  }
}
