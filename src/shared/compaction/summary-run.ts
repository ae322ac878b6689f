import { LIMITS } from '../limits.ts'
import type { ModelClient, ModelRequest } from '../ports/model.ts'
import type { PaidCalls, SummarizeInput } from '../ports/summarizer.ts'
import { isToolUse, type Message } from '../session/content.ts'
import { labelMedia } from './message-parts.ts'
import { headTokens } from './message-size.ts'
import { replyRoom } from './summary-request.ts'

/** One attempt to get a summary out of one model. */
export interface SummaryRun {
  readonly input: SummarizeInput
  readonly paid: PaidCalls
  readonly signal: AbortSignal
  /** Of the summarizer's model, in the provider's tokens; null when nobody knows it. */
  readonly contextWindow: number | null
  /** Provider's tokens per token of our counter. */
  readonly usageRatio: number
  readonly maxTokens: number
  /**
   * What this attempt has learned. `tokens`: the smallest request that the provider refused as too long; nothing about as large is sent again. `media`: whether a
   * request had too many bytes or an image that the provider refuses; labels stand in the place of all media from then on.
   */
  readonly refused: { tokens: number; media: boolean }
  /** UTF-8 bytes that a request may have. */
  readonly maxRequestBytes: number
}

/** Of providers whose ratio nobody knows. */
const DEFAULT_USAGE_RATIO = 1.2

export async function startRun(
  client: ModelClient,
  given: SummarizeInput,
  { signal, paid }: { readonly signal: AbortSignal; readonly paid: PaidCalls },
): Promise<SummaryRun> {
  const { model, sampling } = given.request
  const said = await client.capacity(model)
  const capacity = { ...said, contextWindow: given.contextWindow ?? said.contextWindow }
  const usageRatio = given.usageRatio ?? client.firstUsageRatio?.(model) ?? DEFAULT_USAGE_RATIO
  const maxTokens = replyRoom(given.maxTokens, sampling, capacity)
  const { refusedTokens = Number.POSITIVE_INFINITY } = given
  return {
    input: capacity.acceptsMedia === false ? withoutMedia(given) : given,
    paid,
    signal,
    contextWindow: capacity.contextWindow,
    usageRatio,
    maxTokens,
    refused: { tokens: (refusedTokens - maxTokens) / usageRatio, media: false },
    maxRequestBytes: client.maxRequestBytes ?? LIMITS.requestBytes,
  }
}

function withoutMedia(input: SummarizeInput): SummarizeInput {
  return {
    ...input,
    span: labelMedia(input.span),
    chunks: input.chunks.map(labelMedia),
    request: { ...input.request, messages: labelMedia(input.request.messages) },
  }
}

/**
 * Index of a call, by what the call is about: a refused request leaves no record, so a counter would give its index to
 * another request after a crash. The corrective retry of a call has the next index.
 */
export const CALL_INDEX = {
  whole: 0,
  span: 10,
  merge: (ordinal: number) => 100 + 2 * ordinal,
  /** `node` is a place in the chunk's tree of halves: 1 is the chunk itself, 2n and 2n + 1 the halves of n. */
  part: (chunk: number, node: number) => 1000 * (chunk + 1) + 2 * node,
} as const

/** More calls than a model can need for one span. */
const CALLS_OF_MODEL = 1_000_000_000

/** Calls of the model at this place of the policy's list, 0 first: each model has a range of indexes of its own, so that none gets an answer of another. */
export function callsOfModel(paid: PaidCalls, place: number): PaidCalls {
  const first = place * CALLS_OF_MODEL
  return {
    call: (index, { request, ...call }) =>
      paid.call(first + index, { ...call, request: { ...request, index: first + index } }),
  }
}

/** A request that is smaller than a refused one by less than this would be refused, too. */
const SMALLER_SHARE = 0.95

/** Whether a request of so many tokens of our counter is worth sending. */
export function fits({ contextWindow, usageRatio, maxTokens, refused }: SummaryRun, tokens: number): boolean {
  if (tokens >= SMALLER_SHARE * refused.tokens) return false
  return contextWindow === null || Math.ceil(tokens * usageRatio) + maxTokens <= contextWindow
}

/** Room for the instruction and for what the estimate misses. */
const REQUEST_MARGIN_TOKENS = 1_000

/** Tokens of our counter that the messages of one request may have. */
export const usableTokens = ({ contextWindow, maxTokens, usageRatio }: SummaryRun): number =>
  contextWindow === null
    ? Number.POSITIVE_INFINITY
    : (contextWindow - maxTokens) / usageRatio - REQUEST_MARGIN_TOKENS

export type RequestHead = Pick<ModelRequest, 'system' | 'tools'>

export const OWN_SYSTEM = 'You write summaries of the work of an agent.'

/**
 * System and tools for a request that is not the session's own: the same, unless they would fill more than a quarter of the
 * window; then only the names of the tools that the messages use, because a call of an undeclared tool is refused.
 */
export function headFor(run: SummaryRun, messages: readonly Message[]): RequestHead {
  const { request } = run.input
  const { system, tools } = request
  if (run.contextWindow === null || headTokens(request, run.input) * run.usageRatio <= run.contextWindow / 4)
    return { system, tools }
  const used = new Set(messages.flatMap(({ content }) => content.filter(isToolUse).map(({ name }) => name)))
  return {
    system: OWN_SYSTEM,
    tools: [...used].map((name) => ({ name, description: '', inputSchema: { type: 'object' } })),
  }
}
