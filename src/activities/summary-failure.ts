import { Context } from '@temporalio/activity'
import { TemporalFailure } from '@temporalio/common'
import { isSessionError } from '../shared/errors.ts'
import { ModelCallError } from '../shared/ports/model.ts'
import { SummaryFailed } from '../shared/ports/summarizer.ts'
import { currentAttempt } from './attempt-tally.ts'
import { longestWaitMs } from './failures.ts'
import { ATTEMPTS_OF_UNKNOWN, modelFailed } from './model-failed.ts'

/** Why a model wrote no summary. */
export interface SummaryFailure {
  /** In a word: the kind of a failed call, or why the answer was refused. */
  readonly reason: string
  /** For people. */
  readonly message: string
  /** Whether another attempt of the activity may get one. */
  readonly mayRecover: boolean
  /** What the provider asks to wait, as far as it does. */
  readonly retryAfterMs?: number
}

/**
 * After so many attempts of the activity a provider that is still away counts as failed, so that the policy's fallback is reached. Those that the circuit held back
 * do not count, as long as Temporal has another one left (src/workflows/session-activities.ts).
 */
const MOST_SENT = 8
const LAST_ATTEMPT = 10

/** Null when it is no model that failed: the store, the fence, a cancel, or what nothing is known of and a few more attempts may tell. */
export function summaryFailure(error: unknown): SummaryFailure | null {
  if (error instanceof ModelCallError) return summaryFailure(modelFailed(error.failure))
  if (error instanceof SummaryFailed)
    return { reason: error.reason, message: error.message, mayRecover: false }
  if (isSessionError(error, 'UnknownModel'))
    return { reason: 'unknown-model', message: error.message, mayRecover: false }
  // Labels were tried, where they help: the same request would be refused again. By name: the error may come from another copy of the module.
  if (error instanceof Error && error.name === 'RefusedMediaError')
    return { reason: 'refused-media', message: error.message, mayRecover: false }
  const { attempt } = Context.current().info
  if (isSessionError(error, 'ModelFailed')) {
    const { kind, retryable, retryAfterMs: delayMs } = error.details
    const isLast = attempt >= LAST_ATTEMPT || attempt - currentAttempt().before.unsent >= MOST_SENT
    const mayRecover = retryable === true && !isLast && !waitsTooLong(delayMs)
    return {
      reason: typeof kind === 'string' ? kind : 'failed',
      message: error.message,
      mayRecover,
      ...(typeof delayMs === 'number' ? { retryAfterMs: delayMs } : {}),
    }
  }
  if (isSessionError(error) || error instanceof TemporalFailure || attempt < ATTEMPTS_OF_UNKNOWN) return null
  return {
    reason: 'failed',
    message: error instanceof Error ? error.message : String(error),
    mayRecover: false,
  }
}

/** Whether Temporal would end the activity instead of waiting for another attempt. */
function waitsTooLong(delayMs: unknown): boolean {
  const { scheduledTimestampMs, scheduleToCloseTimeoutMs } = Context.current().info
  const endMs = scheduledTimestampMs + scheduleToCloseTimeoutMs
  return typeof delayMs === 'number' && Date.now() + longestWaitMs(delayMs) > endMs
}
