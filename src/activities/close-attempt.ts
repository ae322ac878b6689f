import type { z } from 'zod'
import type { closeAttemptInputSchema } from '../shared/activity-protocol.ts'
import { meterAfterPass } from '../shared/compaction/after-pass.ts'
import type { MeterState } from '../shared/compaction/meter.ts'
import { paidFor } from '../shared/compaction-record.ts'
import type { AttemptRow } from '../shared/ports/store.ts'
import type { CompactionOutcome } from '../shared/protocol.ts'
import type { AttemptError } from '../shared/session/events.ts'
import type { ActivityDeps } from './deps.ts'
import { tellFailed } from './hooks/tell-failed.ts'
import {
  countReplies,
  currentReading,
  isBudgetSpent,
  loadMeter,
  loadSession,
  readingOf,
} from './session-view.ts'
import { writeNotice } from './write-notice.ts'

export type CloseAttemptInput = z.infer<typeof closeAttemptInputSchema>

/**
 * Closes an attempt that did not commit. Any closer may call it: the first end wins, and the recorded outcome comes back. With `tell` also the hooks hear of one that
 * failed, again when the activity runs again.
 */
export async function closeAttempt(deps: ActivityDeps, input: CloseAttemptInput): Promise<CompactionOutcome> {
  const { sessionId, compactionId, tell } = input
  const outcome = await closeWithError(deps, input, input.error)
  const { error, tokensBefore, paid } = outcome
  if (tell === undefined || error === undefined) return outcome
  const { parent, cause, turn, focus } = tell
  const asked = { cause, turn, ...(focus === undefined ? {} : { focus }) }
  const told = { sessionId, compactionId, ...asked, tokensBefore, error, paid }
  const hookError = await tellFailed(deps.hooks, told)
  if (hookError === undefined) return outcome
  // The end stands, and the outcome says it too.
  await writeNotice(deps, {
    sessionId,
    actor: parent,
    turn,
    id: `after.${compactionId}`,
    code: 'hook-failed',
    message: hookError,
    compactionId,
  }).catch(() => undefined)
  return { ...outcome, hookError }
}

type Closing = Pick<CloseAttemptInput, 'sessionId' | 'compactionId' | 'requestIds'>

export async function closeWithError(
  deps: ActivityDeps,
  { sessionId, compactionId, requestIds }: Closing,
  error: AttemptError,
): Promise<CompactionOutcome> {
  const attempt = await deps.store.attempt(sessionId, compactionId)
  const row = await deps.store.closeAttempt({
    sessionId,
    compactionId,
    error,
    ...(requestIds === undefined ? {} : { requestIds }),
    ...(attempt?.state === 'open' ? await measureFailure(deps, attempt, error) : {}),
  })
  if (row.outcome === null) throw new Error(`Attempt ${compactionId} was closed and has no outcome.`)
  return { ...row.outcome, reading: await currentReading(deps, sessionId) }
}

/** What a failed attempt cost, and what the breaker learns of it: nothing of one that somebody cancelled. */
async function measureFailure(
  deps: ActivityDeps,
  attempt: AttemptRow,
  error: AttemptError,
): Promise<{ outcome: CompactionOutcome; meter: MeterState }> {
  const { sessionId, compactionId, cause, plan } = attempt
  const session = await loadSession(deps, sessionId)
  const { header } = session
  const [meter, budgetSpent, snapshot, replies] = await Promise.all([
    loadMeter(deps, session),
    isBudgetSpent(deps, session),
    deps.store.measure(sessionId),
    countReplies(deps, sessionId),
  ])
  const nowMs = deps.clock()
  const reading = readingOf({ header, snapshot, meter, budgetSpent, replies, nowMs })
  const numbers = { tokensBefore: plan?.tokensBefore ?? reading.tokens, tokensAfter: reading.tokens }
  const outcome = {
    v: 1,
    compactionId,
    outcome: 'failed',
    reading,
    ...numbers,
    paid: paidFor(attempt),
    error,
  } as const
  if (error.code === 'cancelled') return { outcome, meter }
  const surfaceTokens = snapshot.nodes.reduce((sum, node) => sum + node.tokens, 0)
  return { outcome, meter: meterAfterPass(meter, { cause, header, outcome, replies, surfaceTokens, nowMs }) }
}
