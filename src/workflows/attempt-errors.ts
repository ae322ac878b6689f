import {
  ActivityFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  TerminatedFailure,
  TimeoutFailure,
} from '@temporalio/common'
import type { AttemptError } from '../shared/session/events.ts'
import { failureMessage, failureType } from './failures.ts'

// What `compact/end` says of an attempt that did not commit. Pure.

const CANCELLED = 'The compaction was cancelled.'

/** The child's own word: where it stood, and what stopped it; `reason`: of a cancel, as a person said it. */
export function stageError(
  stage: 'prepare' | 'summarize' | 'commit',
  failure: unknown,
  reason = CANCELLED,
): AttemptError {
  if (isCancelled(failure)) return { code: 'cancelled', stage, message: reason }
  const message = failureMessage(failure)
  if (failureType(failure) === 'Fenced') return { code: 'interrupted', stage, message }
  if (stage === 'summarize') return { code: 'summary', stage, message }
  // An answer that never came may stand for a write that landed: the store says which, as the first end wins.
  return { code: stage === 'prepare' || isUnanswered(failure) ? 'persistence' : 'commit', stage, message }
}

/** The parent's word, for a child that could not speak for itself. */
export function childError(failure: unknown, reason = CANCELLED): AttemptError {
  const cause = failure instanceof ChildWorkflowFailure ? failure.cause : failure
  const stage = 'session'
  if (isCancelled(failure)) return { code: 'cancelled', stage, message: reason }
  if (cause instanceof TerminatedFailure)
    return { code: 'interrupted', stage, message: 'The compaction workflow was terminated.' }
  if (cause instanceof TimeoutFailure)
    return { code: 'interrupted', stage, message: 'The compaction workflow ran out of time.' }
  return { code: 'interrupted', stage, message: failureMessage(failure) }
}

const isCancelled = (failure: unknown): boolean =>
  failure instanceof CancelledFailure ||
  ((failure instanceof ActivityFailure || failure instanceof ChildWorkflowFailure) &&
    isCancelled(failure.cause))

const isUnanswered = (failure: unknown): boolean =>
  failureType(failure) === 'StoreUnavailable' ||
  (failure instanceof ActivityFailure && failure.cause instanceof TimeoutFailure)
