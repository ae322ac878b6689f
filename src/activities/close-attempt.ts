import type { z } from 'zod'
import { NOTHING_PAID } from '../shared/compaction/plan-attempt.ts'
import type { CompactionOutcome, closeAttemptInputSchema } from '../shared/protocol.ts'
import type { AttemptError } from '../shared/session/events.ts'
import type { ActivityDeps } from './deps.ts'
import { currentReading } from './session-view.ts'

export type CloseAttemptInput = z.infer<typeof closeAttemptInputSchema>

/** Closes an attempt that did not commit. Any closer may call it: the first end wins, and the recorded outcome comes back. */
export async function closeAttempt(deps: ActivityDeps, input: CloseAttemptInput): Promise<CompactionOutcome> {
  const outcome = await closeWithError(deps, input, input.error)
  return outcome
}

export async function closeWithError(
  deps: ActivityDeps,
  { sessionId, compactionId }: { readonly sessionId: string; readonly compactionId: string },
  error: AttemptError,
): Promise<CompactionOutcome> {
  const row = await deps.store.closeAttempt({ sessionId, compactionId, error })
  const reading = await currentReading(deps, sessionId)
  if (row.outcome !== null) return { ...row.outcome, reading }
  return {
    v: 1,
    compactionId,
    outcome: 'failed',
    reading,
    tokensBefore: reading.tokens,
    tokensAfter: reading.tokens,
    paid: NOTHING_PAID,
    error,
  }
}
