import type { SessionRow, SessionStore } from '../ports/store.ts'
import { offersHistory } from '../recall/history-tool.ts'
import type { SessionEvent, SurfaceNode } from '../session/events.ts'
import type { CheckpointSource } from './checkpoint.ts'
import { isCheckpointNode } from './checkpoint-node.ts'

const MAX_PIN_EVENTS = 10_000

type Reads = Pick<SessionStore, 'events' | 'eventsByKeys'>

/** What people pinned and took back, in order. */
export const readPinEvents = (
  store: Pick<SessionStore, 'events'>,
  sessionId: string,
): Promise<readonly SessionEvent[]> =>
  store.events(sessionId, { types: ['session/pin', 'session/unpin'], limit: MAX_PIN_EVENTS })

/** What a checkpoint of these nodes is made from, beside them: the summaries behind earlier checkpoints among them, and the pins. */
export async function readCheckpointSource(
  store: Reads,
  { sessionId, header }: Pick<SessionRow, 'sessionId' | 'header'>,
  nodes: readonly SurfaceNode[],
  countTokens: (text: string) => number,
): Promise<CheckpointSource> {
  const [previous, pinEvents] = await Promise.all([
    previousSummaries(store, sessionId, nodes),
    readPinEvents(store, sessionId),
  ])
  return {
    nodes,
    previous,
    pinEvents,
    policy: header.policy,
    countTokens,
    historyTool: offersHistory(header),
  }
}

async function previousSummaries(
  store: Reads,
  sessionId: string,
  nodes: readonly SurfaceNode[],
): Promise<SessionEvent<'compact/summary'>[]> {
  const keys = nodes.flatMap((node) =>
    isCheckpointNode(node) ? [node.key.replace(/\.checkpoint$/, '.summary')] : [],
  )
  if (keys.length === 0) return []
  const events = await store.eventsByKeys(sessionId, keys)
  return events.filter((event): event is SessionEvent<'compact/summary'> => event.type === 'compact/summary')
}
