import type { ProviderFailure } from '../refusals/provider-failure.ts'
import type { ContentBlock, Message } from '../session/content.ts'
import type { ToolDefinition, Usage } from '../session/events.ts'

/** One request to a model. `messages` begin and end with `user` and satisfy the Anthropic API's rules. */
export interface ModelRequest {
  readonly provider: string
  readonly model: string
  readonly system: string
  readonly tools: readonly ToolDefinition[]
  readonly messages: readonly Message[]
  readonly maxTokens: number
  readonly sampling: Readonly<Record<string, unknown>>
  /** What the reply is for; a client may use it for logs and cache marks, a scripted one to choose its answer. */
  readonly purpose: 'turn' | 'summary'
  /** Index of the reply in the session (number of `assistant/message` events in the log); for `summary` the index of the call in its attempt. */
  readonly index: number
  readonly sessionId: string
}

export interface ModelReply {
  readonly content: readonly ContentBlock[]
  /**
   * The Anthropic vocabulary: `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn`, `refusal`, `model_context_window_exceeded`. Calls run
   * after the first two and `stop_sequence` and `pause_turn` only; after any other they may be half written.
   */
  readonly stopReason: string
  /** Null when the provider reported none. */
  readonly usage: Usage | null
  readonly model?: string
}

export interface ModelDelta {
  readonly text: string
}

export interface ModelCallContext {
  /** Aborts when the activity is cancelled; the call must end within a second. */
  readonly signal: AbortSignal
  onDelta?(delta: ModelDelta): void
  /**
   * Tokens that this call has used so far, in all: called as soon as the provider tells them, and again when they grow. It is what is counted of a call
   * that fails or is cancelled on its way.
   */
  onUsage?(usage: Usage): void
}

export interface ModelCapacity {
  /** Null where the provider does not say. */
  readonly contextWindow: number | null
  readonly maxOutputTokens: number | null
  /** False: images and documents become labels, in a summary's request and by our clients in a turn's. Default true. */
  readonly acceptsMedia?: boolean
}

/** A provider. Must not retry by itself: Temporal is the only layer that retries. */
export interface ModelClient {
  /** @throws SessionError `UnknownModel` */
  capacity(model: string): Promise<ModelCapacity>
  /**
   * @throws ContextOverflowError when the provider says that the request is too long; ModelCallError for every other failure. `modelErrorOf` makes both
   * of what the official SDKs throw; a client that lets an SDK's error through gets the same.
   */
  generate(request: ModelRequest, context: ModelCallContext): Promise<ModelReply>
  /** True tokens per token of our counter before anything was learned; default 1.2. */
  readonly firstUsageRatio?: (model: string) => number
  /** UTF-8 bytes that the body of a request may have; default 32,000,000, the limit of the Anthropic API. */
  readonly maxRequestBytes?: number
}

/** The provider refused the request because it does not fit the window, or has too many bytes. */
export class ContextOverflowError extends Error {
  override readonly name = 'ContextOverflowError'
  /** Tokens that the provider named, as far as it did; `tooManyBytes`: its bytes are what is too large. */
  readonly named: {
    readonly windowTokens?: number
    readonly requestTokens?: number
    readonly tooManyBytes?: true
  }

  /** @param message in the provider's own words: it is what the turn ends with when no compaction helps */
  constructor(message: string, named: ContextOverflowError['named'] = {}) {
    super(message)
    this.named = named
  }
}

/**
 * A call of a model failed. `failure` says what kind of failure it is, whether Temporal tries again, after what time, and the sentence that people
 * read; nothing else of the call's error reaches history, log or store.
 */
export class ModelCallError extends Error {
  override readonly name = 'ModelCallError'
  readonly failure: ProviderFailure

  constructor(failure: ProviderFailure, cause?: unknown) {
    super(failure.message, cause === undefined ? undefined : { cause })
    this.failure = failure
  }
}

/** The provider refused an image or a document of the request, which any request with it would repeat. */
export class RefusedMediaError extends Error {
  override readonly name = 'RefusedMediaError'
  readonly place: MediaPlace | null
  readonly tooWide: TooWide | null

  /**
   * @param message in the provider's own words
   * @param place where it stands in `messages`; null when the provider did not say
   * @param tooWide the limit that its sides exceed; null when it was refused for something else
   */
  constructor(message: string, place: MediaPlace | null, tooWide: TooWide | null = null) {
    super(message)
    this.place = place
    this.tooWide = tooWide
  }
}

/** Pixels that a side of an image may have; `many`: only because the request has many images. */
export interface TooWide {
  readonly pixels: number
  readonly many: boolean
}

/** Indexes into `messages`, its `content`, and the content of a tool result there. */
export interface MediaPlace {
  readonly message: number
  readonly block: number
  readonly inner?: number
}
