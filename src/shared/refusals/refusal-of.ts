import { ContextOverflowError, ModelCallError, RefusedMediaError } from '../ports/model.ts'
import { classifyRefusal, type Refusal } from './classify.ts'
import { errorFields } from './error-fields.ts'
import { FAILURE_KINDS, type ProviderFailure, providerFailure } from './provider-failure.ts'
import { redact } from './redact.ts'
import { refusedMediaOf } from './refused-media.ts'
import type { HeaderReader } from './retry-delay.ts'

/**
 * Why a provider refused, read from whatever its client threw: an `Error` with the words in its message, the errors of the Anthropic,
 * OpenAI, Google, AWS and Vercel SDKs with status and body in fields of theirs, a parsed body, or a text.
 */
export function refusalOf(error: unknown): Refusal | null {
  return classifyRefusal(errorFields(error))
}

/**
 * The error for a model client to throw when a compaction may help: the window is too small, or the request has too many bytes, which
 * are mostly images that a compaction turns into labels. Null for every other error.
 */
export function overflowOf(error: unknown): ContextOverflowError | null {
  const refusal = refusalOf(error)
  if (refusal?.kind !== 'context-overflow' && refusal?.kind !== 'request-bytes') return null
  return overflowError(error, refusal)
}

/** Headers of a response. */
type Answered = { get(name: string): string | null }

/**
 * What any error of any client means, by its fields alone, so that the official SDKs' errors need no import: status, type, codes, words, headers
 * and causes, through one table.
 *
 * @param now milliseconds since 1970
 * @param answered headers of the response that had begun, when the error has none
 */
export function failureOf(error: unknown, now: number, answered?: Answered): ProviderFailure {
  if (isCallError(error)) return error.failure
  const fields = errorFields(error)
  const headers: HeaderReader = (name) => fields.headers(name) ?? answered?.get(name) ?? undefined
  const failure = providerFailure({ ...fields, headers, now })
  return isFinal(error) ? { ...failure, retryable: false } : failure
}

/**
 * What a model client throws for an error of its SDK or of its own: {@link ContextOverflowError} where a compaction may help,
 * {@link RefusedMediaError} where the request may be sent without an image, else {@link ModelCallError}. Sessions do the same with what a client lets through.
 */
export function modelErrorOf(
  error: unknown,
  now: number,
  answered?: Answered,
): ContextOverflowError | RefusedMediaError | ModelCallError {
  if (error instanceof ContextOverflowError || error instanceof RefusedMediaError) return error
  if (error instanceof ModelCallError) return error
  const refusedMedia = refusedMediaOf(error) // First: `image exceeds 5 MB` is about one image, not about the request.
  if (refusedMedia !== null) return refusedMedia
  const failure = failureOf(error, now, answered)
  return failure.kind === 'context-overflow' || failure.kind === 'request-bytes'
    ? overflowError(error, failure)
    : new ModelCallError(failure, error)
}

function overflowError(
  error: unknown,
  { kind, windowTokens, requestTokens }: Pick<ProviderFailure, 'kind' | 'windowTokens' | 'requestTokens'>,
): ContextOverflowError {
  return new ContextOverflowError(redact(error instanceof Error ? error.message : String(error)), {
    ...(windowTokens === undefined ? {} : { windowTokens }),
    ...(requestTokens === undefined ? {} : { requestTokens }),
    ...(kind === 'request-bytes' ? { tooManyBytes: true as const } : {}),
  })
}

/** A client may know that another attempt would end as this one did: a call that took its whole time, for example. */
const isFinal = (error: unknown): boolean =>
  error instanceof Error && 'isFinal' in error && error.isFinal === true

/** By its fields: it may come from another copy of the package. */
const isCallError = (error: unknown): error is ModelCallError =>
  error instanceof Error &&
  error.name === 'ModelCallError' &&
  Object.hasOwn(FAILURE_KINDS, (error as ModelCallError).failure?.kind)
