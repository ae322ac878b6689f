import { isCompactCheckpointSource } from '../shared/checkpoint-source.ts'
import type { CheckpointSource } from '../shared/compaction/checkpoint.ts'
import type { SessionRow } from '../shared/ports/store.ts'
import { offersHistory } from '../shared/recall/history-tool.ts'
import type { SessionEvent, SurfaceNode } from '../shared/session/events.ts'
import { countTokens } from '../shared/tokens/counter.ts'
import type { ActivityDeps } from './deps.ts'

/** What a checkpoint of these nodes is made from, beside them: the summaries behind earlier checkpoints among them, and the pins. */
export async function checkpointSource(
  deps: ActivityDeps,
  session: SessionRow,
  nodes: readonly SurfaceNode[],
  archivePath?: string,
): Promise<CheckpointSource> {
  const { sessionId } = session
  const [previous, pinEvents] = await Promise.all([
    previousSummaries(deps, sessionId, nodes),
    deps.store.events(sessionId, { types: ['session/pin', 'session/unpin'], limit: MAX_PIN_EVENTS }),
  ])
  return {
    nodes,
    previous,
    pinEvents,
    policy: session.header.policy,
    countTokens,
    ...(archivePath === undefined ? {} : { archivePath }),
    historyTool: offersHistory(session.header),
    ...(deps.workingDirectory === undefined ? {} : { workingDirectory: deps.workingDirectory }),
  }
}

const MAX_PIN_EVENTS = 10_000

async function previousSummaries(
  deps: ActivityDeps,
  sessionId: string,
  nodes: readonly SurfaceNode[],
): Promise<SessionEvent<'compact/summary'>[]> {
  const keys = nodes.flatMap((node) =>
    node.type === 'user/message' && isCompactCheckpointSource(node.data.source)
      ? [node.key.replace(/\.checkpoint$/, '.summary')]
      : [],
  )
  if (keys.length === 0) return []
  const events = await deps.store.eventsByKeys(sessionId, keys)
  return events.filter((event): event is SessionEvent<'compact/summary'> => event.type === 'compact/summary')
}
