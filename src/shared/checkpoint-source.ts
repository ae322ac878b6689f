/** Marks the `user/message` that took the place of a compacted span. Stable: it is written into every log. */
export const COMPACT_CHECKPOINT_SOURCE = 'durable-compaction/checkpoint'

/** True for the source of a checkpoint message, and for nothing else. */
export function isCompactCheckpointSource(source: unknown): source is typeof COMPACT_CHECKPOINT_SOURCE {
  return source === COMPACT_CHECKPOINT_SOURCE
}
