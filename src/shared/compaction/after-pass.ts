import type { CompactionOutcome } from '../protocol.ts'
import type { CompactionCause, Header } from '../session/events.ts'
import { isEffective, recordPass, resetBreaker } from './breaker.ts'
import type { MeterState } from './meter.ts'

interface Pass {
  readonly cause: CompactionCause
  readonly header: Header
  readonly outcome: Pick<CompactionOutcome, 'outcome' | 'tokensBefore' | 'tokensAfter'>
  /** Replies of the session so far. */
  readonly replies: number
  /** Of the surface after the pass, by our counter. */
  readonly surfaceTokens: number
  readonly nowMs: number
}

/** The meter with what the breaker learns of a pass. A person's request resets it; the model's own says nothing of automatic passes. */
export function meterAfterPass(meter: MeterState, pass: Pass): MeterState {
  const breaker = breakerAfter(meter, pass)
  return breaker === meter.breaker ? meter : { ...meter, breaker }
}

function breakerAfter(
  { breaker }: MeterState,
  { cause, header, outcome, replies, surfaceTokens, nowMs }: Pass,
): MeterState['breaker'] {
  const { tokensBefore, tokensAfter } = outcome
  const { minGainRatio, pressureTokens } = header.policy
  if (cause === 'manual' || cause === 'region') return resetBreaker()
  if (cause === 'tool') return breaker
  const changed = outcome.outcome === 'compacted' || outcome.outcome === 'pruned'
  const onlyPruned = outcome.outcome === 'pruned'
  const effective =
    changed &&
    isEffective({ tokensBefore, tokensAfter, limitTokens: pressureTokens, minGainRatio, onlyPruned })
  // The breaker holds pressure only: a failed recovery from an overflow ends its turn by itself.
  if (cause === 'context-overflow' && !effective) return breaker
  return recordPass(breaker, { effective, nowMs, stepIndex: replies, surfaceTokens })
}
