import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import { type ErrorName, isSessionError } from '../shared/errors.ts'

/** Failures that another attempt can heal; every other expected failure is final. */
const RETRYABLE: ReadonlySet<ErrorName> = new Set(['StoreUnavailable', 'HeadMoved', 'NotOwner'])

/** Bytes of a message that stay useful in history; the server cuts a failure at 4 KiB. */
const MESSAGE_CHARS = 1500

/**
 * The failure that Temporal records: `type` is the error's name. A cancel passes through. What is no expected failure stays retryable,
 * bounded by the activity's attempts.
 */
export function toFailure(error: unknown): Error {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error
  if (isSessionError(error)) {
    const delay = error.details['retryAfterMs']
    return ApplicationFailure.create({
      type: error.name,
      message: error.message.slice(0, MESSAGE_CHARS),
      nonRetryable: !(RETRYABLE.has(error.name) || error.details['retryable'] === true),
      details: [error.details],
      ...(typeof delay === 'number' ? { nextRetryDelay: delay } : {}),
    })
  }
  if (error instanceof Error)
    return ApplicationFailure.create({
      type: error.name,
      message: error.message.slice(0, MESSAGE_CHARS),
      cause: error,
    })
  return ApplicationFailure.create({ type: 'Error', message: String(error).slice(0, MESSAGE_CHARS) })
}
