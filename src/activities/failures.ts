import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import { type ErrorName, isSessionError } from '../shared/errors.ts'
import { ModelCallError } from '../shared/ports/model.ts'
import type { FailureKind } from '../shared/refusals/provider-failure.ts'
import { redact } from '../shared/refusals/redact.ts'
import { modelFailed } from './model-failed.ts'

/** Failures that another attempt can heal; every other expected failure is final. */
const RETRYABLE: ReadonlySet<ErrorName> = new Set(['StoreUnavailable', 'HeadMoved', 'NotOwner'])

/** Bytes of a message that stay useful in history; the server cuts a failure at 4 KiB. */
const MESSAGE_CHARS = 1500

/** Many sessions are told the same time to wait; so much more, at most, keeps them from coming back together. */
const JITTER = 0.1
/** Those whom the circuit held back come when the provider serves again, and there may be hundreds. */
const JITTER_OF_HELD = 0.5

/** What Temporal may be told to wait, at most, for a failure that asks for so much. */
export const longestWaitMs = (delayMs: number): number => Math.ceil(delayMs * (1 + JITTER_OF_HELD))

/**
 * The failure that Temporal records: `type` is the error's name. A cancel passes through. What is no expected failure stays retryable,
 * bounded by the activity's attempts. No secret gets into history.
 */
export function toFailure(error: unknown): Error {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error
  // What the client says of a model when a session starts, or of a summarizer's window.
  if (error instanceof ModelCallError) return toFailure(modelFailed(error.failure))
  if (isSessionError(error)) {
    const { retryAfterMs: delay, kind } = error.details
    const jitter = kind === ('circuit-open' satisfies FailureKind) ? JITTER_OF_HELD : JITTER
    return ApplicationFailure.create({
      type: error.name,
      message: kept(error.message),
      nonRetryable: !(RETRYABLE.has(error.name) || error.details['retryable'] === true),
      details: [error.details],
      // A delay of 0 ends the activity on the server: then the policy's own wait is the right one.
      ...(typeof delay === 'number' && delay > 0
        ? { nextRetryDelay: Math.ceil(delay * (1 + Math.random() * jitter)) }
        : {}),
    })
  }
  if (error instanceof Error)
    return ApplicationFailure.create({
      type: error.name,
      message: kept(error.message),
      cause: withoutSecrets(error),
    })
  return ApplicationFailure.create({ type: 'Error', message: kept(String(error)) })
}

const kept = (message: string): string => redact(message).slice(0, MESSAGE_CHARS)

/** Where it was thrown, for the developer; its own causes and fields stay here. */
function withoutSecrets({ message, stack }: Error): Error {
  return Object.assign(new Error(kept(message)), { stack: stack === undefined ? undefined : redact(stack) })
}
