import { CancellationScope, CancelledFailure, workflowInfo } from '@temporalio/workflow'
import { LIMITS } from '../shared/limits.ts'
import type { SessionWorkflowInput } from '../shared/protocol.ts'
import { sessionActivities } from './session-activities.ts'
import type { SessionState } from './session-state.ts'

/** What the parts of a running session share. */
export interface SessionEnv {
  readonly input: SessionWorkflowInput
  readonly session: SessionState
  readonly activities: ReturnType<typeof sessionActivities>
  /** The workflow's own scope: cancelled when the workflow is. */
  readonly root: CancellationScope
  /** This run has done something: one that rolls over at once would make no progress. */
  hasWorked: boolean
}

export function sessionEnv(input: SessionWorkflowInput, session: SessionState): SessionEnv {
  return {
    input,
    session,
    activities: sessionActivities(input),
    root: CancellationScope.current(),
    hasWorked: false,
  }
}

/** True when this run should continue as new. Looked at only where nothing is open. */
export function isRollOverDue({ input, session, hasWorked }: SessionEnv): boolean {
  const { events = LIMITS.eventsPerRun, messages = LIMITS.messagesPerRun } = input.rollOver ?? {}
  const { continueAsNewSuggested, historyLength } = workflowInfo()
  return hasWorked && (session.messages >= messages || continueAsNewSuggested || historyLength >= events)
}

/** A scope that was cancelled stops the code between its waits, too. */
export function throwIfCancelled(scope: CancellationScope): void {
  if (scope.consideredCancelled) throw new CancelledFailure('cancelled')
}
