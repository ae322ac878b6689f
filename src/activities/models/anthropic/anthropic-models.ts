import type { Anthropic } from '@anthropic-ai/sdk'
import { holdsMedia } from '../../../shared/compaction/media.ts'
import { labelMedia } from '../../../shared/compaction/message-parts.ts'
import type { ModelCallContext, ModelClient, ModelReply, ModelRequest } from '../../../shared/ports/model.ts'
import { modelErrorOf } from '../../../shared/refusals/refusal-of.ts'
import { type CallTimes, callClock, callTimes } from '../call-clock.ts'
import { guardedTransport } from './guarded-transport.ts'
import { type KnownCapacity, modelCapacities } from './model-capacities.ts'
import { firstUsageRatio } from './model-table.ts'
import { readReply } from './read-reply.ts'
import { type CacheSetting, requestBody } from './request-body.ts'

export interface AnthropicModelsOptions extends Partial<CallTimes> {
  /** How long the provider's prompt cache holds what a request wrote; false: requests carry no cache marks. Default `5m`. */
  readonly cache?: CacheSetting
  /** By model: what stands here is not asked of the API. */
  readonly capacities?: Readonly<Record<string, Partial<KnownCapacity>>>
}

/**
 * Claude models over the Messages API: `models: { anthropic: anthropicModels(new Anthropic()) }`. Key, base URL, headers and betas are those of the given client, and
 * go with every request, those of summaries included; its own retries are off here, because Temporal retries. Every reply is streamed.
 *
 * @param api a client of `@anthropic-ai/sdk`; one that reads the key from `ANTHROPIC_API_KEY` by default
 */
export function anthropicModels(api: Anthropic, options: AnthropicModelsOptions = {}): ModelClient {
  const capacity = modelCapacities(api, options.capacities ?? {})
  return {
    capacity,
    firstUsageRatio,
    generate: async (request, context) =>
      generate(api, await withMediaItTakes(request, capacity), context, options),
  }
}

/** Images and documents as labels, for a model that takes none. When nobody can say so, the provider will. */
async function withMediaItTakes(
  request: ModelRequest,
  capacity: ModelClient['capacity'],
): Promise<ModelRequest> {
  if (!holdsMedia(request.messages)) return request
  const known = await capacity(request.model).catch(() => null)
  return known?.acceptsMedia === false ? { ...request, messages: labelMedia(request.messages) } : request
}

async function generate(
  api: Anthropic,
  request: ModelRequest,
  { signal, ...listeners }: ModelCallContext,
  options: AnthropicModelsOptions,
): Promise<ModelReply> {
  const { body, betas } = requestBody(request, options.cache ?? '5m')
  const times = callTimes(options, request.purpose)
  const clock = callClock(signal, times)
  const response: { headers?: Headers } = {}
  try {
    const answer = await api.messages
      .create(body, {
        signal: clock.signal,
        maxRetries: 0,
        timeout: times.totalTimeoutMs,
        ...guardedTransport(betas),
      })
      .asResponse()
    response.headers = answer.headers
    return await readReply(answer, clock, listeners)
  } catch (error) {
    signal.throwIfAborted()
    throw modelErrorOf(clock.timeout() ?? error, Date.now(), response.headers)
  } finally {
    clock.stop()
  }
}
