import type { OpenAI } from 'openai'
import {
  type ModelCallContext,
  ModelCallError,
  type ModelCapacity,
  type ModelClient,
  type ModelReply,
  type ModelRequest,
} from '../../../shared/ports/model.ts'
import { failureOf, modelErrorOf } from '../../../shared/refusals/refusal-of.ts'
import { boundedBody } from '../bounded-body.ts'
import { type CallPhase, type CallTimes, callClock, callTimes } from '../call-clock.ts'
import { requireEvents } from '../require-events.ts'
import { listedCapacity } from './openai-capacity.ts'
import { ReplyBuilder } from './openai-reply.ts'
import { chatRequest } from './openai-request.ts'

/** What is used of `OpenAI`, the client class of the package `openai`, which is not among this package's dependencies: pass an instance of version 6. */
export interface OpenAIClient {
  readonly baseURL: string
  readonly chat: { readonly completions: object }
  readonly models: object
}

export interface OpenAIModelsOptions extends Partial<CallTimes> {
  /** By model: what stands here is not asked of the server. Whether images go along is said here alone; default false, images become labels. */
  readonly capacities?: Readonly<Record<string, Partial<ModelCapacity>>>
  /** Default: `max_completion_tokens` for api.openai.com, `max_tokens` for every other server. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
}

/**
 * Models behind an API of chat completions, such as OpenAI's, Ollama's, llama.cpp's, vLLM's or LM Studio's:
 * `models: { local: openaiModels(new OpenAI({ baseURL: 'http://127.0.0.1:11434/v1', apiKey: 'none' })) }`. Key, base URL, headers and `fetch` are
 * those of the given client; its own retries are off here, because Temporal retries. Every reply is streamed.
 *
 * A window that neither `capacities` nor the server's list of models tells is unknown: pressure is off then unless the policy has `thresholdTokens`.
 */
export function openaiModels(client: OpenAIClient, options: OpenAIModelsOptions = {}): ModelClient {
  const api = guarded(client as OpenAI)
  const capacities = options.capacities ?? {}
  const acceptsMedia = (model: string) => capacities[model]?.acceptsMedia ?? false
  return {
    capacity: async (model) => ({
      ...(await capacityOf(api, model, capacities[model])),
      acceptsMedia: acceptsMedia(model),
    }),
    generate: (request, context) => generate(api, request, context, options, acceptsMedia(request.model)),
  }
}

/** Reasoning comes without text, and may be slow. Some servers name an end and count with each piece, so one that brings words or calls is not the last. */
function phaseAfter({ choices }: OpenAI.ChatCompletionChunk, reply: ReplyBuilder): CallPhase {
  const { content, tool_calls: calls } = choices?.[0]?.delta ?? {}
  if (content) return 'writing'
  return reply.isComplete && reply.usage !== null && !calls?.length ? 'done' : 'waiting'
}

/** The same client without retries, redirects (key and prompt would go to another host) and endless bodies, and without its log, which would repeat what a server said. */
function guarded(client: OpenAI): OpenAI {
  const { fetch = globalThis.fetch } = client as unknown as { readonly fetch?: typeof globalThis.fetch }
  return client.withOptions({
    maxRetries: 0,
    logLevel: 'off',
    fetch: async (input, init) => boundedBody(await fetch(input, { ...init, redirect: 'manual' })),
  })
}

async function capacityOf(
  api: OpenAI,
  model: string,
  known: Partial<ModelCapacity> = {},
): Promise<Pick<ModelCapacity, 'contextWindow' | 'maxOutputTokens'>> {
  const { contextWindow, maxOutputTokens } = known
  if (contextWindow !== undefined) return { contextWindow, maxOutputTokens: maxOutputTokens ?? null }
  try {
    const listed = await listedCapacity(api, model)
    return { ...listed, ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }) }
  } catch (error) {
    throw new ModelCallError(failureOf(error, Date.now()), error)
  }
}

async function generate(
  api: OpenAI,
  request: ModelRequest,
  { signal, onDelta, onUsage }: ModelCallContext,
  options: OpenAIModelsOptions,
  acceptsMedia: boolean,
): Promise<ModelReply> {
  const times = callTimes(options, request.purpose)
  const clock = callClock(signal, times)
  const isHosted = new URL(api.baseURL).hostname === 'api.openai.com'
  const body = chatRequest(request, {
    maxTokensField: options.maxTokensField ?? (isHosted ? 'max_completion_tokens' : 'max_tokens'),
    acceptsMedia,
  })
  let headers: Headers | undefined
  try {
    const reply = new ReplyBuilder()
    const answer = await api.chat.completions
      .create(body, { signal: clock.signal, timeout: times.totalTimeoutMs })
      .withResponse()
    headers = answer.response.headers
    requireEvents(answer.response)
    let phase: CallPhase = 'waiting'
    for await (const chunk of answer.data) {
      const said = reply.add(chunk)
      if (said !== '') onDelta?.({ text: said })
      if (reply.usage !== null) onUsage?.(reply.usage)
      phase = phaseAfter(chunk, reply)
      clock.tick(phase)
    }
    // The SDK ends an aborted stream as if it were whole. It is, when nothing but the connection's end was missing.
    if (phase !== 'done') clock.signal.throwIfAborted()
    return reply.reply()
  } catch (error) {
    signal.throwIfAborted()
    throw modelErrorOf(clock.timeout() ?? error, Date.now(), headers)
  } finally {
    clock.stop()
  }
}
