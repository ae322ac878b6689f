import { setTimeout as delay } from 'node:timers/promises'
import { SessionError } from '../../shared/errors.ts'
import {
  ContextOverflowError,
  type ModelCallContext,
  type ModelCapacity,
  type ModelClient,
  type ModelReply,
  type ModelRequest,
} from '../../shared/ports/model.ts'
import { type ContentBlock, isText, isToolUse, text } from '../../shared/session/content.ts'
import type { Usage } from '../../shared/session/events.ts'
import { countedUsage, inputTokens, OUR_PRICING, type Pricing } from './counted-usage.ts'

export interface ScriptedMessage {
  readonly content: readonly ContentBlock[]
  /** Default: `tool_use` for an answer with calls, else `end_turn`. */
  readonly stopReason?: string
  /** Default: our count of the actual request and answer. */
  readonly usage?: Usage | null
  readonly model?: string
}

/** A text, or a whole answer. */
export type ScriptedReply = string | ScriptedMessage

export type ScriptedAnswer = (
  request: ModelRequest,
  context: ModelCallContext,
) => ScriptedReply | Promise<ScriptedReply>

export interface ScriptedModelOptions {
  /** Default: unknown. With a window, a request that does not fit is refused as a provider refuses it. */
  readonly capacity?: Partial<ModelCapacity>
  /** Wait before an answer. A function can hold back the first summary only, for example. Ends at once when the call is aborted. */
  readonly delayMs?: number | ((request: ModelRequest) => number)
  /** Answers requests for a summary. Without it they go to the script, when that is a function, else they fail. */
  readonly summaries?: ScriptedReply | ScriptedAnswer
  readonly pricing?: Pricing
}

/**
 * A model that says what it was told to say: the reply of a list at the request's index (the number of replies in the log, so that
 * a repeated request gets the same reply), or what a function of the request returns. Usage is our count of what was really sent.
 *
 * `generate` throws `SessionError` `ModelFailed`, not retryable, when the list has no such reply, and `ContextOverflowError`.
 */
export function scriptedModel(
  script: readonly ScriptedReply[] | ScriptedAnswer,
  options: ScriptedModelOptions = {},
): ModelClient {
  const { capacity, delayMs = 0, summaries, pricing = OUR_PRICING } = options
  const known = { contextWindow: null, maxOutputTokens: null, ...capacity }
  return {
    capacity: async () => known,
    firstUsageRatio: () => 1,
    async generate(request, context) {
      context.signal.throwIfAborted()
      const input = inputTokens(request, pricing)
      refuseOverflow(input, request, known.contextWindow)
      await pause(typeof delayMs === 'number' ? delayMs : delayMs(request), context.signal)
      const answer = await answerTo(request, context, script, summaries)
      context.signal.throwIfAborted()
      const reply = replyOf(answer, input, pricing)
      for (const block of reply.content) if (isText(block)) context.onDelta?.({ text: block.text })
      return reply
    },
  }
}

function refuseOverflow(
  input: number,
  { maxTokens, provider, model }: ModelRequest,
  contextWindow: number | null,
): void {
  if (contextWindow === null || input + maxTokens <= contextWindow) return
  throw new ContextOverflowError(
    `prompt is too long: ${input} tokens and max_tokens ${maxTokens} exceed the window of ${contextWindow} of ${provider}/${model}`,
  )
}

/** Rejects with the signal's own reason. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return
  await delay(ms, undefined, { signal }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error
  })
}

async function answerTo(
  request: ModelRequest,
  context: ModelCallContext,
  script: readonly ScriptedReply[] | ScriptedAnswer,
  summaries: ScriptedModelOptions['summaries'],
): Promise<ScriptedReply> {
  if (request.purpose === 'summary' && summaries !== undefined) {
    return typeof summaries === 'function' ? summaries(request, context) : summaries
  }
  if (typeof script === 'function') return script(request, context)
  if (request.purpose === 'summary') {
    throw scriptFailure(
      `no summary for call ${request.index}: give it \`summaries\`, or the policy \`summarizer: 'deterministic'\``,
      request,
      script.length,
    )
  }
  const reply = script[request.index]
  if (reply === undefined)
    throw scriptFailure(
      `no reply ${request.index}: it has ${script.length}, counted from 0`,
      request,
      script.length,
    )
  return reply
}

function scriptFailure(
  what: string,
  { provider, model, sessionId, index }: ModelRequest,
  length: number,
): SessionError {
  return new SessionError(
    'ModelFailed',
    `The script of ${provider}/${model} in session ${sessionId} has ${what}.`,
    { retryable: false, index, length },
  )
}

function replyOf(answer: ScriptedReply, input: number, pricing: Pricing): ModelReply {
  const { content, stopReason, usage, model }: ScriptedMessage =
    typeof answer === 'string' ? { content: [text(answer)] } : answer
  return {
    content,
    stopReason: stopReason ?? (content.some(isToolUse) ? 'tool_use' : 'end_turn'),
    usage: usage === undefined ? countedUsage(input, content, pricing) : usage,
    ...(model === undefined ? {} : { model }),
  }
}
