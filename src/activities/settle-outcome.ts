import type { CompactionActivityInput, CompactionOutcome } from '../shared/protocol.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner } from './owner.ts'

type Settled = Pick<CompactionActivityInput, 'sessionId' | 'requestIds' | 'parent'>

/** Writes an attempt's outcome into the inbox rows of those who asked, so that they read it without Temporal. Settled rows stay as they are. */
export async function settleOutcome(
  deps: ActivityDeps,
  { sessionId, requestIds, parent }: Settled,
  outcome: CompactionOutcome,
): Promise<CompactionOutcome> {
  if (requestIds === undefined || requestIds.length === 0) return outcome
  const rows = requestIds.map((requestId) => ({
    requestId,
    state: 'done' as const,
    outcome: { compactionId: outcome.compactionId, outcome },
  }))
  await asOwner(deps, sessionId, parent, (actor) => deps.store.settleInbox({ sessionId, actor, rows }))
  return outcome
}
