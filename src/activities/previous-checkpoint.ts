import { isCompactCheckpointSource } from '../shared/checkpoint-source.ts'
import type { SessionEvent, SurfaceNode } from '../shared/session/events.ts'
import type { ActivityDeps } from './deps.ts'

/** The summaries behind the checkpoints inside a span, in surface order: what their pins, user words and ledger are carried from. */
export async function previousCheckpoint(
  deps: ActivityDeps,
  sessionId: string,
  span: readonly SurfaceNode[],
): Promise<readonly SessionEvent<'compact/summary'>[]> {
  const keys = span.flatMap((node) =>
    node.type === 'user/message' && isCompactCheckpointSource(node.data.source) ? [node.key.replace(/\.checkpoint$/, '.summary')] : [],
  )
  if (keys.length === 0) return []
  const events = await deps.store.eventsByKeys(sessionId, keys)
  return events.filter((event): event is SessionEvent<'compact/summary'> => event.type === 'compact/summary')
}
