import { z } from 'zod'
import type { ResolvedPolicy } from './policy-schema.ts'

/** Pauses automatic compaction that does not help. Kept with the meter in the store, so that a crash does not forget it. */
export const breakerStateSchema = z.strictObject({
  /** Ineffective passes in a row. */
  ineffective: z.int().nonnegative(),
  /** The newest ineffective pass; null before the first. */
  last: z
    .strictObject({
      atMs: z.number(),
      stepIndex: z.int().nonnegative(),
      /** Tokens of the surface, by our counter, after it. */
      surfaceTokens: z.int().nonnegative(),
    })
    .nullable(),
  /** That it holds was told. */
  announced: z.boolean(),
})
export type BreakerState = z.infer<typeof breakerStateSchema>

/** The state of a session that has not compacted, and after a person asked for a compaction. */
export const resetBreaker = (): BreakerState => ({ ineffective: 0, last: null, announced: false })

export interface Pass {
  readonly effective: boolean
  readonly nowMs: number
  /** Counts the replies of the session, over turns. */
  readonly stepIndex: number
  /** Tokens of the surface, by our counter, after the pass. */
  readonly surfaceTokens: number
}

/** Records an automatic pass. An effective one forgets everything before it; a failed one, and one that found nothing, is ineffective. */
export function recordPass(
  state: BreakerState,
  { effective, nowMs, stepIndex, surfaceTokens }: Pass,
): BreakerState {
  if (effective) return resetBreaker()
  return {
    ineffective: state.ineffective + 1,
    last: { atMs: nowMs, stepIndex, surfaceTokens },
    announced: state.announced,
  }
}

/**
 * True when a pass brought the context below the limit and saved enough to count: otherwise the next step would only repeat it. One that
 * only pruned was free, and is not repeated, so the relief alone counts.
 */
export function isEffective(pass: {
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly limitTokens: number | null
  readonly minGainRatio: number
  readonly onlyPruned: boolean
}): boolean {
  const isRelieved = pass.limitTokens === null || pass.tokensAfter < pass.limitTokens
  return isRelieved && (pass.onlyPruned || savedEnough(pass))
}

/** True when a pass saved at least its share of the tokens before it. Only then may the same step try again. */
export function savedEnough({
  tokensBefore,
  tokensAfter,
  minGainRatio,
}: {
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly minGainRatio: number
}): boolean {
  return tokensAfter < tokensBefore && tokensBefore - tokensAfter >= tokensBefore * minGainRatio
}

export interface BreakerQuestion {
  readonly settings: ResolvedPolicy['breaker']
  readonly nowMs: number
  /** Absent between turns: then no step is skipped, only the hold counts. */
  readonly stepIndex?: number
  readonly surfaceTokens: number
}

/**
 * True while pressure must not start a compaction: for some steps after an ineffective pass, and after too many in a row until the surface
 * has shrunk, an hour has passed, or {@link resetBreaker}. In the step of the pass itself it does not hold: that step's retries are bounded
 * by `compactionRetries`.
 */
export function breakerHolds(state: BreakerState, question: BreakerQuestion): boolean {
  const { settings, nowMs, stepIndex, surfaceTokens } = question
  if (state.last === null) return false
  const hasShrunk = surfaceTokens < state.last.surfaceTokens
  const isOver = nowMs - state.last.atMs >= settings.holdMs
  if (hasShrunk || isOver) return false
  if (isTripped(state, settings)) return true
  if (stepIndex === undefined) return false
  const skip = settings.skipSteps[Math.min(state.ineffective, settings.skipSteps.length) - 1] ?? 0
  // A counter that ran backwards belongs to a reset: the steps since the pass are then not known, and those seen since count.
  const passed = stepIndex >= state.last.stepIndex ? stepIndex - state.last.stepIndex : stepIndex
  return passed > 0 && passed <= skip
}

/** True after the allowed number of ineffective passes in a row. */
const isTripped = (state: BreakerState, settings: ResolvedPolicy['breaker']): boolean =>
  state.ineffective >= settings.maxIneffectivePasses

/** True when people have yet to be told that automatic compaction pauses. */
export const mustAnnounce = (state: BreakerState, settings: ResolvedPolicy['breaker']): boolean =>
  isTripped(state, settings) && !state.announced

/** The state once they have been told. */
export const announced = (state: BreakerState): BreakerState => ({ ...state, announced: true })
