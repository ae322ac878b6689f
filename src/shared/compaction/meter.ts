import { z } from 'zod'
import type { MeasuredNode } from '../ports/store.ts'
import type { Usage } from '../session/events.ts'
import { breakerStateSchema, resetBreaker } from './breaker.ts'
import { WINDOW_RESERVE_TOKENS } from './policy-sizes.ts'

/** What the session has learned of its context's true size. Kept in the store, written with the reply that it was learned from. */
export const meterStateSchema = z.strictObject({
  v: z.literal(1),
  /** The newest usage that a provider reported; null before the first. */
  anchor: z
    .strictObject({
      /** Input, cache reads, cache writes and output: the request with its reply. */
      contextTokens: z.int().nonnegative(),
      /** Head of the log when the request was built: nodes from here on were not in it. */
      headSeq: z.int().nonnegative(),
      /** Price of the reply, which stands beyond `headSeq` but in `contextTokens`. */
      replyTokens: z.int().nonnegative(),
      /** Price of system and tools in that request. */
      overheadTokens: z.int().nonnegative(),
      generation: z.int().nonnegative(),
      modelKey: z.string(),
    })
    .nullable(),
  /** True tokens per token of our counter, by `provider/model`. */
  ratios: z.record(z.string(), z.number().positive()),
  breaker: breakerStateSchema,
})
export type MeterState = z.infer<typeof meterStateSchema>

export const initialMeter = (): MeterState => ({ v: 1, anchor: null, ratios: {}, breaker: resetBreaker() })

/** As the store has it; null before the first usage. */
export const meterFrom = (stored: unknown): MeterState =>
  stored === null ? initialMeter() : meterStateSchema.parse(stored)

/** A ratio outside of this was measured wrongly, or on content that says nothing of the next. */
const RATIO_RANGE = { least: 0.9, most: 2.2 } as const
/** Share of the newest measurement in the average; a request of fewer tokens than `FULL_WEIGHT_TOKENS` counts for less. */
const NEWEST_SHARE = 0.5
const FULL_WEIGHT_TOKENS = 5_000
/** Usage this far from our count, of a request that is not small, is no measure of the context: a sum over several calls, or a part. */
const CREDIBLE_RANGE = { least: 0.3, most: 4 } as const
const SMALL_REQUEST_TOKENS = 2_000
/** Error that an estimate of what was appended since the last usage must survive. */
const ESTIMATE_ERROR = 0.1

/** True tokens per token of our counter before anything was learned: 1.5 for the tokenizer of Opus 4.7, Sonnet 5 and later, else 1.2. */
export function firstRatio(modelKey: string): number {
  const claude = /claude-(?:opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(
    modelKey.toLowerCase(),
  )
  if (claude === null) return 1.2
  const [major, minor] = [Number(claude[1]), Number(claude[2] ?? 0)]
  return major >= 5 || (major === 4 && minor >= 7) ? 1.5 : 1.2
}

/** True tokens per token of our counter for this model, as learned so far. */
export function ratioOf(meter: MeterState, modelKey: string): number {
  return meter.ratios[modelKey] ?? firstRatio(modelKey)
}

/** The meter with a model client's own first ratio, unless something was learned of that model. */
export function withFirstRatio(meter: MeterState, modelKey: string, ratio: number | undefined): MeterState {
  if (ratio === undefined || meter.ratios[modelKey] !== undefined) return meter
  return { ...meter, ratios: { ...meter.ratios, [modelKey]: ratio } }
}

export interface MeasuredCall {
  /** Null, and all zeros, teach nothing. */
  readonly usage: Usage | null
  /** `provider/model` */
  readonly modelKey: string
  /** The surface that the request was built of. */
  readonly nodes: readonly Pick<MeasuredNode, 'tokens'>[]
  readonly overheadTokens: number
  /** Price of the reply by our counter. */
  readonly replyTokens: number
  readonly generation: number
  /** Head of the log when the request was built. */
  readonly headSeq: number
}

/** Takes the usage of a turn's call as the new anchor and corrects the model's ratio by it. Not for the calls of a summary. */
export function learnFromUsage(meter: MeterState, call: MeasuredCall): MeterState {
  const { usage, modelKey, overheadTokens, replyTokens, generation, headSeq } = call
  if (usage === null) return meter
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  const counted = overheadTokens + sum(call.nodes)
  if (!isCredible(input, counted)) return meter
  const anchor = {
    contextTokens: input + usage.outputTokens,
    headSeq,
    replyTokens,
    overheadTokens,
    generation,
    modelKey,
  }
  if (counted === 0) return { ...meter, anchor }
  const measured = Math.min(RATIO_RANGE.most, Math.max(RATIO_RANGE.least, input / counted))
  const weight = NEWEST_SHARE * Math.min(1, counted / FULL_WEIGHT_TOKENS)
  const before = ratioOf(meter, modelKey)
  return { ...meter, anchor, ratios: { ...meter.ratios, [modelKey]: before + weight * (measured - before) } }
}

function isCredible(input: number, counted: number): boolean {
  if (input <= 0) return false
  if (counted < SMALL_REQUEST_TOKENS) return true
  const ratio = input / counted
  return ratio >= CREDIBLE_RANGE.least && ratio <= CREDIBLE_RANGE.most
}

export interface ContextQuestion {
  readonly nodes: readonly Pick<MeasuredNode, 'seq' | 'tokens'>[]
  readonly generation: number
  /** Price of system and tools of the next request. */
  readonly overheadTokens: number
  readonly meter: MeterState
  /** The model of the next request. */
  readonly modelKey: string
  /** Price of what the next request holds beyond the surface. Default 0. */
  readonly pendingTokens?: number
}

/**
 * Tokens that the next request will have, as the provider counts them: the newest usage, and for what was appended since then our price
 * times the ratio. Usage of another generation or of another model is no anchor: everything is then estimated. What an error of 10 % of
 * the estimated part would exceed the reserve of the pressure limit by is added, so that a large result cannot slip past the limit.
 */
export function contextTokens(question: ContextQuestion): number {
  const { nodes, generation, overheadTokens, meter, modelKey, pendingTokens = 0 } = question
  const { anchor } = meter
  const isAnchored = anchor !== null && anchor.generation === generation && anchor.modelKey === modelKey
  const counted = isAnchored
    ? sum(nodes.filter((node) => node.seq >= anchor.headSeq)) -
      anchor.replyTokens +
      overheadTokens -
      anchor.overheadTokens
    : overheadTokens + sum(nodes)
  const estimated = ratioOf(meter, modelKey) * (counted + pendingTokens)
  const margin = Math.max(0, ESTIMATE_ERROR * estimated - WINDOW_RESERVE_TOKENS)
  return Math.max(0, Math.ceil((isAnchored ? anchor.contextTokens : 0) + estimated + margin))
}

const sum = (nodes: readonly { readonly tokens: number }[]): number =>
  nodes.reduce((total, { tokens }) => total + tokens, 0)
