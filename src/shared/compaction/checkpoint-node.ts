import { isCompactCheckpointSource } from '../checkpoint-source.ts'
import type { NewEvent } from '../session/events.ts'

/** The message that took the place of a span. */
export const isCheckpointNode = (node: NewEvent): boolean =>
  node.type === 'user/message' && isCompactCheckpointSource(node.data.source)
