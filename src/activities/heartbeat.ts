import { Context } from '@temporalio/activity'
import { beat, currentAttempt, tallyAfter } from './attempt-tally.ts'

/** Twice a second: a cancel reaches the activity with the answer to a beat. */
const BEAT_MS = 500

/** Beats while `work` runs, so that a dead worker is noticed within the heartbeat time-out and a cancel arrives within a second. */
export async function whileBeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current()
  const attempt = currentAttempt()
  beat(context, attempt.before)
  const timer = setInterval(() => beat(context, attempt.before), BEAT_MS)
  try {
    return await work()
  } catch (error) {
    beat(context, tallyAfter(attempt))
    // An aborted call throws its own error; the caller must see Temporal's cancel.
    if (context.cancellationSignal.aborted) throw await cancelReason(context)
    throw error
  } finally {
    clearInterval(timer)
  }
}

async function cancelReason(context: Context): Promise<unknown> {
  return context.cancelled.catch((reason: unknown) => reason)
}
