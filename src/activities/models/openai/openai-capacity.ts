import type { OpenAI } from 'openai'
import type { ModelCapacity } from '../../../shared/ports/model.ts'
import { failureOf } from '../../../shared/refusals/refusal-of.ts'

/** Where servers say it, none of which is OpenAI's own: vLLM, LM Studio, OpenRouter, llama.cpp, Together. */
const WINDOWS = [
  'max_model_len',
  'loaded_context_length',
  'max_context_length',
  'context_length',
  'context_window',
  'n_ctx',
]
const REPLIES = ['max_completion_tokens', 'max_output_tokens']

/** What `/v1/models` says of a model; null where it says nothing. A server without such a list is asked for nothing. */
export async function listedCapacity(
  api: OpenAI,
  model: string,
): Promise<Pick<ModelCapacity, 'contextWindow' | 'maxOutputTokens'>> {
  const listed = await listedModel(api, model)
  // llama.cpp and OpenRouter put some of it one level deeper; `n_ctx_train` is what the model could, not what the server holds.
  const places = [listed, listed['meta'], listed['top_provider']].filter(
    (place): place is Record<string, unknown> => typeof place === 'object' && place !== null,
  )
  const find = (names: readonly string[]) =>
    names
      .flatMap((name) => places.map((place) => place[name]))
      .find((value): value is number => typeof value === 'number' && Number.isInteger(value) && value > 0) ??
    null
  return { contextWindow: find(WINDOWS), maxOutputTokens: find(REPLIES) }
}

async function listedModel(api: OpenAI, model: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const { data } = await api.models.list({ timeout: 10_000 })
    return { ...(data ?? []).find(({ id }) => id === model) }
  } catch (error) {
    const { kind } = failureOf(error, Date.now())
    if (kind === 'model-gone' || kind === 'invalid-request' || kind === 'broken-reply') return {}
    throw error
  }
}
