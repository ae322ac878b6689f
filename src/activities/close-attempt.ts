import type { z } from 'zod'
import type { closeAttemptInputSchema } from '../shared/activity-protocol.ts'
import { meterAfterPass } from '../shared/compaction/after-pass.ts'
import type { MeterState } from '../shared/compaction/meter.ts'
import type { CompactionOutcome } from '../shared/protocol.ts'
import type { AttemptError } from '../shared/session/events.ts'
import type { ActivityDeps } from './deps.ts'
import { countReplies, currentReading, loadMeter, loadSession } from './session-view.ts'

export type CloseAttemptInput = z.infer<typeof closeAttemptInputSchema>

/** Closes an attempt that did not commit. Any closer may call it: the first end wins, and the recorded outcome comes back. */
export async function closeAttempt(deps: ActivityDeps, input: CloseAttemptInput): Promise<CompactionOutcome> {
  return closeWithError(deps, input, input.error)
}

type Closing = Pick<CloseAttemptInput, 'sessionId' | 'compactionId' | 'requestIds'>

export async function closeWithError(
  deps: ActivityDeps,
  { sessionId, compactionId, requestIds }: Closing,
  error: AttemptError,
): Promise<CompactionOutcome> {
  const meter = await meterAfterFailure(deps, sessionId, compactionId)
  const row = await deps.store.closeAttempt({
    sessionId,
    compactionId,
    error,
    ...(requestIds === undefined ? {} : { requestIds }),
    ...(meter === undefined ? {} : { meter }),
  })
  if (row.outcome === null) throw new Error(`Attempt ${compactionId} was closed and has no outcome.`)
  return { ...row.outcome, reading: await currentReading(deps, sessionId) }
}

/** A failed automatic attempt counts for the breaker; nothing to learn where no attempt is open. */
async function meterAfterFailure(
  deps: ActivityDeps,
  sessionId: string,
  compactionId: string,
): Promise<MeterState | undefined> {
  const row = await deps.store.attempt(sessionId, compactionId)
  if (row?.state !== 'open') return undefined
  const session = await loadSession(deps, sessionId)
  const { header } = session
  const [meter, surface, replies] = await Promise.all([
    loadMeter(deps, session),
    deps.store.measure(sessionId),
    countReplies(deps, sessionId),
  ])
  const tokens = row.plan?.tokensBefore ?? 0
  return meterAfterPass(meter, {
    cause: row.cause,
    header,
    outcome: { outcome: 'failed', tokensBefore: tokens, tokensAfter: tokens },
    replies,
    surfaceTokens: surface.nodes.reduce((sum, node) => sum + node.tokens, 0),
    nowMs: deps.clock(),
  })
}
