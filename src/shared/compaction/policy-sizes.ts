import type { ModelOverride, PolicySettings } from './policy-input.ts'
import { type PolicyProblem, policyProblem } from './policy-problems.ts'
import type { ModelRef } from './policy-schema.ts'

/** The session's model, as its client describes it. */
export interface ModelFacts extends ModelRef {
  /** Tokens; null when the provider does not say. */
  readonly contextWindow: number | null
  readonly maxOutputTokens: number | null
}

/** Kept free between a request with its reply and the window, for what the meter cannot see. */
export const WINDOW_RESERVE_TOKENS = 2_048

const DEFAULT_THRESHOLD_RATIO = 0.8
const DEFAULT_RETAIN_RATIO = 0.16
const DEFAULT_RETAIN_LIMIT = 40_000
const DEFAULT_REPLY_LIMIT = 16_384
const DEFAULT_RESULT_LIMIT = 25_000
const DEFAULT_RESULT_RATIO = 0.15

/** The numbers of a policy that depend on the window. */
export interface PolicySizes {
  readonly contextWindow: number | null
  readonly maxOutputTokens: number | null
  readonly replyMaxTokens: number
  /** Pressure limit, also when `auto` is off; null when nothing says where it is. */
  readonly limitTokens: number | null
  readonly retainTokens: number
  readonly toolResultMaxTokens: number
}

/** Applies the formulas of the settings table. Contradictions are found by `sizeProblems`. */
export function resolveSizes(
  settings: PolicySettings,
  model: ModelFacts | null,
  override?: ModelOverride,
): PolicySizes {
  const contextWindow = override?.contextWindow ?? model?.contextWindow ?? null
  const maxOutputTokens = override?.maxOutputTokens ?? model?.maxOutputTokens ?? null
  const { replyMaxTokens = defaultReply(contextWindow, maxOutputTokens) } = settings
  const limitTokens = limitOf(settings, contextWindow, replyMaxTokens)
  const {
    toolResultMaxTokens = Math.min(
      DEFAULT_RESULT_LIMIT,
      shareOf(contextWindow, DEFAULT_RESULT_RATIO) ?? DEFAULT_RESULT_LIMIT,
    ),
  } = settings
  return {
    contextWindow,
    maxOutputTokens,
    replyMaxTokens,
    limitTokens,
    retainTokens: retainOf(settings, contextWindow, limitTokens),
    toolResultMaxTokens: Math.max(1, toolResultMaxTokens),
  }
}

function defaultReply(contextWindow: number | null, maxOutputTokens: number | null): number {
  const quarter = shareOf(contextWindow, 0.25) ?? DEFAULT_REPLY_LIMIT
  return Math.max(1, Math.min(DEFAULT_REPLY_LIMIT, quarter, maxOutputTokens ?? DEFAULT_REPLY_LIMIT))
}

function limitOf(
  settings: PolicySettings,
  contextWindow: number | null,
  replyMaxTokens: number,
): number | null {
  const { thresholdRatio = DEFAULT_THRESHOLD_RATIO, thresholdTokens } = settings
  if (contextWindow === null) return thresholdTokens ?? null
  const threshold = thresholdTokens ?? Math.floor(contextWindow * thresholdRatio)
  return Math.min(threshold, contextWindow - replyMaxTokens - WINDOW_RESERVE_TOKENS)
}

/** A default never contradicts: with a low threshold it is at most half of it. */
function retainOf(
  settings: PolicySettings,
  contextWindow: number | null,
  limitTokens: number | null,
): number {
  const { retainRatio, retainTokens } = settings
  const base = contextWindow ?? limitTokens
  if (retainTokens !== undefined) return retainTokens
  if (retainRatio !== undefined && base !== null) return Math.floor(base * retainRatio)
  const byWindow = shareOf(contextWindow, DEFAULT_RETAIN_RATIO) ?? DEFAULT_RETAIN_LIMIT
  const byLimit = limitTokens === null ? DEFAULT_RETAIN_LIMIT : Math.floor(limitTokens / 2)
  return Math.max(0, Math.min(DEFAULT_RETAIN_LIMIT, byWindow, byLimit))
}

const shareOf = (contextWindow: number | null, share: number): number | null =>
  contextWindow === null ? null : Math.floor(contextWindow * share)

/** Contradictions between settings, or between a setting and the model; both numbers are in each sentence. */
export function sizeProblems(settings: PolicySettings, sizes: PolicySizes): PolicyProblem[] {
  return [
    ...replyProblems(settings, sizes),
    ...limitProblems(settings, sizes),
    ...(sizes.contextWindow !== null && sizes.toolResultMaxTokens >= sizes.contextWindow
      ? [
          policyProblem(
            'policy.toolResultMaxTokens',
            `must be below the window of ${sizes.contextWindow} tokens`,
            sizes.toolResultMaxTokens,
          ),
        ]
      : []),
  ]
}

function replyProblems(settings: PolicySettings, sizes: PolicySizes): PolicyProblem[] {
  const { contextWindow, maxOutputTokens, replyMaxTokens } = sizes
  if (maxOutputTokens !== null && replyMaxTokens > maxOutputTokens) {
    return [
      policyProblem(
        'policy.replyMaxTokens',
        `must be at most the model's limit of ${maxOutputTokens} tokens`,
        replyMaxTokens,
      ),
    ]
  }
  if (contextWindow === null || replyMaxTokens + WINDOW_RESERVE_TOKENS < contextWindow) return []
  if (settings.replyMaxTokens === undefined) {
    const least = Math.floor((WINDOW_RESERVE_TOKENS * 4) / 3) + 2
    return [policyProblem('policy', `needs a model with a window of at least ${least} tokens`, contextWindow)]
  }
  const most = Math.max(0, contextWindow - WINDOW_RESERVE_TOKENS - 1)
  return [
    policyProblem(
      'policy.replyMaxTokens',
      `must leave ${WINDOW_RESERVE_TOKENS} tokens of the window of ${contextWindow} free, so be at most ${most}`,
      replyMaxTokens,
    ),
  ]
}

function limitProblems(settings: PolicySettings, sizes: PolicySizes): PolicyProblem[] {
  const { limitTokens, retainTokens } = sizes
  if (limitTokens === null) return []
  if (limitTokens < 1) {
    if (settings.thresholdRatio === undefined) return []
    return [
      policyProblem(
        'policy.thresholdRatio',
        `must give at least 1 token of the window of ${sizes.contextWindow}`,
        settings.thresholdRatio,
      ),
    ]
  }
  if (retainTokens >= limitTokens && retainTokens > 0) {
    const field = settings.retainRatio === undefined ? 'policy.retainTokens' : 'policy.retainRatio'
    const limit =
      settings.retainRatio === undefined
        ? `must be below the pressure limit of ${limitTokens} tokens`
        : `must keep less than the pressure limit of ${limitTokens} tokens (it keeps ${retainTokens})`
    return [policyProblem(field, limit, settings.retainRatio ?? retainTokens)]
  }
  if (settings.checkpointTokens !== undefined && settings.checkpointTokens >= limitTokens) {
    return [
      policyProblem(
        'policy.checkpointTokens',
        `must be below the pressure limit of ${limitTokens} tokens`,
        settings.checkpointTokens,
      ),
    ]
  }
  return []
}
