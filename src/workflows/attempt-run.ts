import { CancellationScope, executeChild, ParentClosePolicy, TemporalFailure } from '@temporalio/workflow'
import { type CompactionInput, type CompactionOutcome, WORKFLOWS } from '../shared/protocol.ts'
import type { AttemptError } from '../shared/session/events.ts'
import { compactionIds } from '../shared/session/keys.ts'
import { childError } from './attempt-errors.ts'
import { failureMessage, failureType } from './failures.ts'
import type { sessionCompaction } from './session-compaction.ts'
import { showDetails } from './session-display.ts'
import { type SessionEnv, throwIfCancelled } from './session-env.ts'

// One compaction seen from its parent: the child, and the close for a child that could not close.

type Attempt = Pick<CompactionInput, 'compactionId' | 'cause' | 'turn' | 'focus' | 'span' | 'requestIds'>

/**
 * Runs an attempt in a scope below `parent` until its bracket is closed. Also a cancelled or failed attempt has an outcome.
 *
 * @throws ChildWorkflowFailure of type `InvalidSpan`: nothing was opened.
 */
export async function runAttempt(
  env: SessionEnv,
  parent: CancellationScope,
  attempt: Attempt,
): Promise<CompactionOutcome> {
  const { session } = env
  throwIfCancelled(parent)
  const scope = new CancellationScope({ cancellable: true, parent })
  session.attempt = { compactionId: attempt.compactionId, cause: attempt.cause, cancel: () => scope.cancel() }
  const noted = noteReason(env, scope)
  session.history.begin(attempt, Date.now())
  showDetails(session)
  try {
    const outcome = await childOutcome(env, scope, attempt)
    await noted()
    session.observe(outcome.reading)
    session.history.end(outcome, Date.now())
    return outcome
  } catch (failure) {
    session.history.end({ refused: failureMessage(failure) }, Date.now())
    throw failure
  } finally {
    session.attempt = null
    showDetails(session)
  }
}

async function childOutcome(
  env: SessionEnv,
  scope: CancellationScope,
  attempt: Attempt,
): Promise<CompactionOutcome> {
  try {
    return await scope.run(() => startChild(env, attempt))
  } catch (failure) {
    if (!(failure instanceof TemporalFailure) || failureType(failure) === 'InvalidSpan') throw failure
    // Terminated, timed out, failed, or already started by a run before a reset: the first end wins, and ours does no harm.
    return closeAttempt(env, attempt.compactionId, childError(failure), attempt.requestIds)
  }
}

function startChild({ input, session }: SessionEnv, attempt: Attempt): Promise<CompactionOutcome> {
  const { taskQueues, heartbeatTimeoutMs } = input
  // Keys that are not set are left away: `cancellationType: undefined` would abandon the child.
  return executeChild<typeof sessionCompaction>(WORKFLOWS.compaction, {
    workflowId: `${session.sessionId}/compact/${attempt.compactionId}`,
    args: [{ v: 1, sessionId: session.sessionId, ...attempt, taskQueues, heartbeatTimeoutMs }],
    // A parent that is gone leaves a child that is cancelled and closes its own bracket; the default would kill it.
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    workflowRunTimeout: '30m', // Above the sum of its activities.
  })
}

/** The parent's close, and the recorded end of an attempt that another closed. */
function closeAttempt(
  { activities, session }: SessionEnv,
  compactionId: string,
  error: AttemptError,
  requestIds: readonly string[] | undefined,
): Promise<CompactionOutcome> {
  return CancellationScope.nonCancellable(() =>
    activities.closeAttempt({
      v: 1,
      sessionId: session.sessionId,
      compactionId,
      error,
      ...(requestIds === undefined ? {} : { requestIds: [...requestIds] }),
    }),
  )
}

/** Temporal's cancel carries no reason: one that a person gave is written by the parent's own close, before the child can write its own. */
function noteReason(env: SessionEnv, scope: CancellationScope): () => Promise<void> {
  const { attempt } = env.session
  let note: Promise<unknown> = Promise.resolve()
  scope.cancelRequested.catch(() => {
    if (attempt?.cancelReason === undefined) return
    const error: AttemptError = { code: 'cancelled', stage: 'session', message: attempt.cancelReason }
    note = closeAttempt(env, attempt.compactionId, error, undefined).catch(() => undefined) // The child closes, too.
  })
  return async () => void (await note)
}

/** Requests that are named to the child; more than these are settled after it. */
const MAX_NAMED_REQUESTS = 100

/** Serves the oldest request of a person, in the open turn or between turns. Its attempt outlives a cancelled turn. */
export async function serveAskedCompaction(env: SessionEnv, turn: number | null): Promise<void> {
  const { session } = env
  const asked = session.compactions.take()
  if (asked === undefined) return
  const requestIds = [...asked.requestIds].slice(0, MAX_NAMED_REQUESTS)
  const [first = ''] = requestIds
  const { focus, span } = asked
  session.compactions.running = asked
  try {
    const compactionId = span === undefined ? compactionIds.manual(first) : compactionIds.region(first)
    await runAttempt(env, env.root, {
      compactionId,
      cause: span === undefined ? 'manual' : 'region',
      turn,
      focus,
      span,
      requestIds,
    })
    for (const requestId of asked.requestIds) {
      if (!requestIds.includes(requestId))
        session.settlements.push({ requestId, state: 'done', compactionId })
    }
  } catch (failure) {
    // Nothing was opened: the region cannot be compacted, or the session ends.
    const isInvalid = failureType(failure) === 'InvalidSpan'
    const error = isInvalid ? `InvalidSpan: ${failureMessage(failure)}` : 'Cancelled'
    for (const requestId of asked.requestIds) session.settlements.push({ requestId, state: 'refused', error })
    if (!isInvalid) throw failure
  } finally {
    session.compactions.running = null
    env.hasWorked = true
  }
}
