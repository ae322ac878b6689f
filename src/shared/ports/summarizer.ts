import type { ContentBlock, Message } from '../session/content.ts'
import type { RefusalReason, Usage } from '../session/events.ts'
import type { ModelReply, ModelRequest } from './model.ts'

/** Calls of one attempt that were paid and stored: looked up before paying, stored right after. A crash resumes after the last one. */
export interface PaidCalls {
  /**
   * Returns the stored complete response of call `index`, or makes the call, stores the response (complete or not) and returns it.
   * An error after tokens were used is stored as lost and thrown on.
   */
  call(
    index: number,
    call: {
      readonly purpose: 'chunk' | 'merge' | 'summary' | 'retry'
      readonly request: ModelRequest
      /** The gate: why the response is not accepted, or null. It decides what is written beside the call. */
      readonly judge: (reply: ModelReply) => RefusalReason | null
    },
  ): Promise<{
    readonly reply: ModelReply
    readonly accepted: boolean
    readonly refusedBecause?: RefusalReason
    readonly fromStore: boolean
  }>
}

export interface SummarizeInput {
  /** The messages of the span, valid by themselves. */
  readonly span: readonly Message[]
  /** The spans of the chunks when it does not fit in one call; one entry otherwise. */
  readonly chunks: readonly (readonly Message[])[]
  /**
   * The last model request of the session: same system, tools and messages, so that the provider's cache hits. Its `provider` and
   * `model` name the summarizer; for one that is not the session's own, `sampling` holds nothing of the session's.
   */
  readonly request: ModelRequest
  /** Seq of the last event to cover, for the instruction. */
  readonly lastSeq: number
  readonly focus?: string
  /** `summaryMaxTokens` of the policy; the thinking budget of `request.sampling` comes on top of it. */
  readonly maxTokens: number
  /** Tokens the summary may have: asked for, and refused above. */
  readonly askTokens: number
  readonly limitTokens: number
  /** Tokens of the span: the summary must be smaller. */
  readonly spanTokens: number
  readonly countTokens: (text: string) => number
  /** Price of one message, by our counter: text, calls, images and documents. */
  readonly priceContent: (content: readonly ContentBlock[]) => number
  /** The summarizer's window as the policy says it, in its own tokens; default: what its client says. */
  readonly contextWindow?: number
  /** The summarizer's tokens per token of our counter, as learned from its usage; default: what its client says of itself. */
  readonly usageRatio?: number
  /** Tokens, of the provider and with the reply's, of a request to the same model that it has just refused as too long. */
  readonly refusedTokens?: number
}

export interface Summary {
  readonly summary: readonly ContentBlock[]
  readonly rawOutput?: readonly ContentBlock[]
  readonly llmStreamCall?: true
  readonly provider: string
  readonly model: string
  readonly maxTokens?: number
  readonly usage?: Usage
}

/**
 * Makes the model's part of a checkpoint. One that a worker is given stands for every model that a policy names: `summarizerFallbacks` are not asked when it
 * fails. @throws SummaryFailed when nothing acceptable came.
 */
export interface Summarizer {
  summarize(
    input: SummarizeInput,
    context: { readonly signal: AbortSignal; readonly paid: PaidCalls },
  ): Promise<Summary | null>
}

/** The gate accepted no summary. `overflow`: the summary's own request does not fit. */
export class SummaryFailed extends Error {
  override readonly name = 'SummaryFailed'
  readonly reason: RefusalReason | 'overflow' | 'failed'

  constructor(reason: RefusalReason | 'overflow' | 'failed', message: string) {
    super(message)
    this.reason = reason
  }
}
