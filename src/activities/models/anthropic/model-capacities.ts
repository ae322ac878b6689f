import type { Anthropic } from '@anthropic-ai/sdk'
import { SessionError } from '../../../shared/errors.ts'
import type { ModelCapacity } from '../../../shared/ports/model.ts'
import { modelErrorOf } from '../../../shared/refusals/refusal-of.ts'
import { guardedTransport } from './guarded-transport.ts'
import { tabledCapacity } from './model-table.ts'

export type KnownCapacity = ModelCapacity

/** Limits of a model change rarely, and a policy can set others at any time. */
const KEPT_MS = 60 * 60_000
/** A server that did not answer is not waited for again by every call. */
const KEPT_FROM_TABLE_MS = 60_000
const ASK_MS = 10_000

interface Answer {
  readonly capacity: ModelCapacity
  readonly keptMs: number
}

/**
 * What each model takes: what was given, else what the API's list of models says, asked once an hour, else the table. A provider without such a list, or one that
 * is away, hinders no model that is in the table.
 *
 * The function throws SessionError `UnknownModel` when the API does not have the model, and the call's failure for a model that nobody knows anything of.
 */
export function modelCapacities(
  api: Anthropic,
  given: Readonly<Record<string, Partial<KnownCapacity>>>,
): (model: string) => Promise<ModelCapacity> {
  const kept = new Map<string, { readonly until: number; readonly capacity: ModelCapacity }>()
  return async (model) => {
    const { contextWindow, maxOutputTokens, ...rest } = given[model] ?? {}
    if (contextWindow !== undefined && maxOutputTokens !== undefined)
      return { contextWindow, maxOutputTokens, ...rest }
    const known = kept.get(model)
    if (known !== undefined && Date.now() < known.until) return known.capacity
    const answer = await asked(api, model)
    const capacity = { ...answer.capacity, ...given[model] }
    kept.set(model, { until: Date.now() + answer.keptMs, capacity })
    return capacity
  }
}

async function asked(api: Anthropic, model: string): Promise<Answer> {
  const tabled = tabledCapacity(model)
  try {
    const info = await api.models.retrieve(model, undefined, {
      maxRetries: 0,
      timeout: ASK_MS,
      ...guardedTransport(),
    })
    const capacity = {
      contextWindow: info.max_input_tokens ?? tabled?.contextWindow ?? null,
      maxOutputTokens: info.max_tokens ?? tabled?.maxOutputTokens ?? null,
      ...(info.capabilities?.image_input?.supported === false ? { acceptsMedia: false } : {}),
    }
    return { capacity, keptMs: KEPT_MS }
  } catch (error) {
    if (isMissing(error, model))
      throw new SessionError(
        'UnknownModel',
        `The API has no model ${JSON.stringify(model)}: ${error.message}`,
      )
    if (tabled === undefined || isUnauthorized(error)) throw modelErrorOf(error, Date.now())
    return { capacity: tabled, keptMs: KEPT_FROM_TABLE_MS }
  }
}

const statusOf = (error: unknown): unknown => (error as { status?: unknown } | null)?.status

/** A server that has no list of models answers 404 too, but does not name the model. */
const isMissing = (error: unknown, model: string): error is Error =>
  error instanceof Error && statusOf(error) === 404 && error.message.includes(model)

const isUnauthorized = (error: unknown): boolean => statusOf(error) === 401
