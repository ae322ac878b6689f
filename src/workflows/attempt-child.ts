import {
  CancellationScope,
  executeChild,
  ParentClosePolicy,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow'
import type { CompactionActivityInput, SessionActivities } from '../shared/activity-protocol.ts'
import { type CompactionInput, type CompactionOutcome, WORKFLOWS } from '../shared/protocol.ts'
import type { AttemptError } from '../shared/session/events.ts'
import { compactionIds } from '../shared/session/keys.ts'
import { childError } from './attempt-errors.ts'
import { failureType } from './failures.ts'
import type { sessionCompaction } from './session-compaction.ts'

// The child of one attempt, and the close for a child that could not close: the same for a session's workflow and for a workflow of a user.

export type Attempt = Pick<
  CompactionInput,
  'compactionId' | 'cause' | 'turn' | 'focus' | 'span' | 'requestIds'
>

/** The workflow that owns the session. */
export interface AttemptParent extends Pick<CompactionInput, 'taskQueues' | 'heartbeatTimeoutMs'> {
  readonly sessionId: string
  /** Where the child runs; left out: where the parent runs. */
  readonly taskQueue?: string | undefined
  readonly closeAttempt: SessionActivities['sessionCloseAttempt']
}

/**
 * Runs an attempt in `scope` until its bracket is closed. Also a cancelled or failed attempt has an outcome.
 *
 * @param reason why it was cancelled, as a person said
 * @throws ChildWorkflowFailure of type `InvalidSpan`: nothing was opened.
 */
export async function attemptOutcome(
  parent: AttemptParent,
  scope: CancellationScope,
  attempt: Attempt,
  reason: () => string | undefined = () => undefined,
): Promise<CompactionOutcome> {
  try {
    return await scope.run(() => startChild(parent, attempt))
  } catch (failure) {
    if (!(failure instanceof TemporalFailure) || failureType(failure) === 'InvalidSpan') throw failure
    // Terminated, timed out, failed, or already started by a run before a reset: the first end wins, and ours does no harm.
    const { workflowId, runId } = workflowInfo()
    return closeAttempt(parent, attempt, childError(failure, reason()), { workflowId, runId })
  }
}

/** What a person asked for, under the first request's id. */
export const askedAttempt = (
  requestId: string,
  { focus, span }: Pick<Attempt, 'focus' | 'span'>,
  turn: number | null,
): Attempt =>
  span === undefined
    ? { compactionId: compactionIds.manual(requestId), cause: 'manual', turn, focus, span }
    : { compactionId: compactionIds.region(requestId), cause: 'region', turn, focus, span }

export const attemptWorkflowId = (sessionId: string, compactionId: string): string =>
  `${sessionId}/compact/${compactionId}`

function startChild(parent: AttemptParent, attempt: Attempt): Promise<CompactionOutcome> {
  const { sessionId, taskQueue, taskQueues, heartbeatTimeoutMs } = parent
  // Keys that are not set are left away: `cancellationType: undefined` would abandon the child.
  return executeChild<typeof sessionCompaction>(WORKFLOWS.compaction, {
    workflowId: attemptWorkflowId(sessionId, attempt.compactionId),
    args: [{ v: 1, sessionId, ...attempt, taskQueues, heartbeatTimeoutMs }],
    ...(taskQueue === undefined ? {} : { taskQueue }),
    // A parent that is gone leaves a child that is cancelled and closes its own bracket; the default would kill it.
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    workflowRunTimeout: '30m', // Above the sum of its activities.
  })
}

type Closing = Pick<Attempt, 'compactionId' | 'cause' | 'turn' | 'focus' | 'requestIds'>

/**
 * Closes an attempt, also in a cancelled scope; the recorded end of one that another closed.
 *
 * @param tellFor the parent's run, where nobody else tells the hooks
 */
export function closeAttempt(
  parent: Pick<AttemptParent, 'sessionId' | 'closeAttempt'>,
  { compactionId, cause, turn, focus, requestIds }: Closing,
  error: AttemptError,
  tellFor?: CompactionActivityInput['parent'],
): Promise<CompactionOutcome> {
  const asked = { cause, turn, ...(focus === undefined ? {} : { focus }) }
  return CancellationScope.nonCancellable(() =>
    parent.closeAttempt({
      v: 1,
      sessionId: parent.sessionId,
      compactionId,
      error,
      ...(requestIds === undefined ? {} : { requestIds: [...requestIds] }),
      ...(tellFor === undefined ? {} : { tell: { ...asked, parent: tellFor } }),
    }),
  )
}
