import { CancellationScope } from '@temporalio/workflow'
import type { CompactionOutcome } from '../shared/protocol.ts'
import { type Attempt, type AttemptParent, askedAttempt, attemptOutcome } from './attempt-child.ts'
import { tellReason } from './cancel-reason.ts'
import { failureMessage, failureType } from './failures.ts'
import { showDetails } from './session-display.ts'
import { type SessionEnv, throwIfCancelled } from './session-env.ts'
import type { RunningAttempt } from './session-state.ts'

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
  const { compactionId, cause } = attempt
  const running: RunningAttempt = { compactionId, cause, cancel: () => scope.cancel() }
  session.attempt = running
  const child = new CancellationScope({
    cancellable: true,
    parent: new CancellationScope({ cancellable: false }),
  })
  passCancelOn(env, scope, child, attempt)
  session.history.begin(attempt, Date.now())
  showDetails(session)
  try {
    const reason = () => running.cancelReason
    const outcome = await attemptOutcome(parentOf(env), child, attempt, reason)
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

/**
 * Temporal's cancel carries no words: a reason that a person gave reaches the child as a signal right before it, for its own close to write. The server delivers it,
 * so neither store nor worker can hold the cancel back.
 */
function passCancelOn(
  { session }: SessionEnv,
  asked: CancellationScope,
  child: CancellationScope,
  { compactionId }: Attempt,
): void {
  const { attempt } = session
  asked.cancelRequested.catch(async () => {
    const reason = attempt?.cancelReason
    if (reason !== undefined) await tellReason(session.sessionId, compactionId, reason)
    child.cancel()
  })
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
