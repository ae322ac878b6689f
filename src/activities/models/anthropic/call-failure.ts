import { SessionError } from '../../../shared/errors.ts'
import { overflowOf } from '../../../shared/refusals/refusal-of.ts'
import { CallTimeout } from './call-clock.ts'

const PASSING = new Set(['api_error', 'overloaded_error', 'rate_limit_error', 'timeout_error'])
const PASSING_STATUS = new Set([408, 409, 429])
const MAX_DELAY_S = 300

interface ApiFailure {
  readonly status?: unknown
  readonly type?: unknown
  readonly headers?: unknown
}

/** Temporal alone retries: what may pass says so, and how long to wait. The provider's id of the request stands in the message. */
export function callFailure(error: unknown, model: string, answered?: Headers): Error {
  const { status, type, headers } = (error ?? {}) as ApiFailure
  const told = headers instanceof Headers ? headers : answered
  const id = told?.get('request-id')
  const message = `${model}: ${error instanceof Error ? error.message : String(error)}${id ? ` (request ${id})` : ''}`
  const overflow = overflowOf(error)
  if (overflow !== null) return overflow
  const seconds = Number(told?.get('retry-after') ?? Number.NaN)
  return new SessionError('ModelFailed', message, {
    retryable: isRetryable(error, status, type),
    ...(seconds > 0 ? { retryAfterMs: Math.min(seconds, MAX_DELAY_S) * 1_000 } : {}),
    ...(id ? { requestId: id } : {}),
  })
}

function isRetryable(error: unknown, status: unknown, type: unknown): boolean {
  if (error instanceof CallTimeout) return !error.isFinal
  if (typeof status === 'number') return status >= 500 || PASSING_STATUS.has(status)
  // An error event names its type alone; what has neither is the connection, or a stream that was cut.
  return typeof type !== 'string' || PASSING.has(type)
}
