import Anthropic from '@anthropic-ai/sdk'
import { SessionError } from 'durable-compaction'
import { type ModelClient, type ModelReply, type ModelRequest, overflowOf } from 'durable-compaction/core'

/** Claude models for sessions, over the Messages API. `models: { anthropic: anthropicModel(new Anthropic({ maxRetries: 0 })) }` */
export function anthropicModel(api: Anthropic): ModelClient {
  return {
    async capacity(model) {
      try {
        const { max_input_tokens, max_tokens } = await api.models.retrieve(model)
        return { contextWindow: max_input_tokens, maxOutputTokens: max_tokens }
      } catch (error) {
        if (error instanceof Anthropic.NotFoundError) throw new SessionError('UnknownModel', error.message)
        throw failureOf(error, `anthropic/${model}`)
      }
    },
    async generate(request, { signal, onDelta }) {
      try {
        const stream = api.messages.stream(paramsOf(request), { signal })
        stream.on('text', (text) => onDelta?.({ text }))
        return replyOf(await stream.finalMessage())
      } catch (error) {
        signal.throwIfAborted()
        throw failureOf(error, `${request.provider}/${request.model}`)
      }
    },
  }
}

function paramsOf(request: ModelRequest): Anthropic.MessageCreateParams {
  const { model, system, tools, messages, maxTokens, sampling } = request
  const params = {
    ...sampling,
    model,
    max_tokens: maxTokens,
    messages,
    cache_control: { type: 'ephemeral' }, // The request of a summary repeats the last one: its prefix is read from the cache.
    ...(system === '' ? {} : { system }),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema }) => ({
            name,
            description,
            input_schema: inputSchema,
          })),
        }),
  }
  // The session's blocks are the API's own, also of types that this SDK does not know yet.
  return params as unknown as Anthropic.MessageCreateParams
}

function replyOf({ content, stop_reason, usage, model }: Anthropic.Message): ModelReply {
  return {
    content: content.map((block) => ({ ...block })),
    stopReason: stop_reason ?? 'end_turn',
    usage: {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cacheReadTokens: usage.cache_read_input_tokens ?? 0,
      cacheWriteTokens: usage.cache_creation_input_tokens ?? 0,
    },
    model,
  }
}

const PASSING = new Set(['api_error', 'overloaded_error', 'rate_limit_error', 'timeout_error'])
const PASSING_STATUS = new Set([408, 409, 429])

/** Temporal alone retries: what may pass says so, and how long to wait. Everything else is final. */
function failureOf(error: unknown, model: string): unknown {
  if (!(error instanceof Anthropic.APIError)) return error
  const overflow = overflowOf(error)
  if (overflow !== null) return overflow
  // Behind a reply that began well, an error event names its type alone: it has no status.
  const { status, message, type } = error
  const retryable =
    status === undefined ? type === null || PASSING.has(type) : status >= 500 || PASSING_STATUS.has(status)
  const seconds = Number(error.headers?.get('retry-after') ?? Number.NaN)
  return new SessionError('ModelFailed', `${model}: ${message}`, {
    retryable,
    ...(seconds > 0 ? { retryAfterMs: Math.min(seconds, 300) * 1_000 } : {}),
  })
}
