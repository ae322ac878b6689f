import { sleep } from '@temporalio/activity'
import { isSessionError } from '../shared/errors.ts'

/** With the 15 s that a store waits for a lock, below the 30 s that a tool's activity has beyond the tool's own time. */
const PATIENCE_MS = 10_000
const PAUSE_MS = { first: 100, most: 1_000 }

/**
 * Writes what was paid for, or done, already. While the store is away it waits: the activity's own retry would pay again, or could not know what a tool did.
 *
 * @throws SessionError `StoreUnavailable` when the patience is over; Temporal's cancel
 */
export async function writePaid<T>(write: () => Promise<T>): Promise<T> {
  const end = performance.now() + PATIENCE_MS
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.most)) {
    try {
      return await write()
    } catch (error) {
      if (!isSessionError(error, 'StoreUnavailable') || performance.now() + pauseMs > end) throw error
    }
    await sleep(pauseMs)
  }
}
