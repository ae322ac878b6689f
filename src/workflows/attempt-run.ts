import { CancellationScope } from '@temporalio/workflow'
import type { CompactionOutcome } from '../shared/protocol.ts'
import type { AttemptError } from '../shared/session/events.ts'
import {
  type Attempt,
  type AttemptParent,
  askedAttempt,
  attemptOutcome,
  closeAttempt,
} from './attempt-child.ts'
import { failureMessage, failureType } from './failures.ts'
import { showDetails } from './session-display.ts'
import { type SessionEnv, throwIfCancelled } from './session-env.ts'

// One compaction seen from the session's workflow: what it shows meanwhile, and the requests that people made.

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
    const outcome = await attemptOutcome(parentOf(env), scope, attempt)
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

const parentOf = ({ input, session, activities }: SessionEnv): AttemptParent => ({
  sessionId: session.sessionId,
  taskQueues: input.taskQueues,
  heartbeatTimeoutMs: input.heartbeatTimeoutMs,
  closeAttempt: activities.closeAttempt,
})

/** Temporal's cancel carries no reason: one that a person gave is written by the parent's own close, before the child can write its own. */
function noteReason(env: SessionEnv, scope: CancellationScope): () => Promise<void> {
  const { attempt } = env.session
  let note: Promise<unknown> = Promise.resolve()
  scope.cancelRequested.catch(() => {
    if (attempt?.cancelReason === undefined) return
    const error: AttemptError = { code: 'cancelled', stage: 'session', message: attempt.cancelReason }
    note = closeAttempt(parentOf(env), attempt.compactionId, error, undefined).catch(() => undefined) // The child closes, too.
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
  session.compactions.running = asked
  try {
    const attempt = askedAttempt(first, asked, turn)
    const { compactionId } = attempt
    await runAttempt(env, env.root, { ...attempt, requestIds })
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
