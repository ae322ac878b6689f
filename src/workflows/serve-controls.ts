import { CancellationScope } from '@temporalio/workflow'
import type { SessionEnv } from './session-env.ts'

/**
 * Serves the control requests that wait, where nothing is open but a turn between two steps. Not cancellable: what was accepted must not be lost. Returns how often a
 * step may compact from now on, null when nothing waited.
 */
export async function serveControls({ session, activities }: SessionEnv): Promise<{
  readonly compactionRetries: number
  readonly maxOverflowRetries: number
} | null> {
  if (!session.controls.isDue) return null
  const { sessionId } = session
  const requests = session.controls.take()
  const served = await CancellationScope.nonCancellable(() =>
    activities.control({ v: 1, sessionId, requests }),
  )
  session.observe(served.reading)
  session.idleTimeoutMs = served.idleTimeoutMs
  session.refused += served.refused
  return served
}
