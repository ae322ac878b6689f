import { isCompactCheckpointSource } from '../checkpoint-source.ts'
import type { SurfaceNode } from '../session/events.ts'
import { type Unit, unitsOf } from '../session/tool-pairing.ts'

/**
 * Index of the first node that the model has not seen: after the newest reply, and after the imported history and the checkpoint that may
 * follow it. A reply that the provider paused is still open. The number of nodes when everything was seen.
 */
export function firstUnseen(nodes: readonly SurfaceNode[]): number {
  const reply = nodes.findLastIndex((node) => node.type === 'assistant/message')
  if (reply >= 0 && reply === nodes.length - 1 && isPaused(nodes[reply])) return reply
  let index = reply + 1
  while (isHistory(nodes[index])) index++
  return index
}

const isPaused = (node: SurfaceNode | undefined): boolean =>
  node?.type === 'assistant/message' && node.data.stopReason === 'pause_turn'

const isHistory = (node: SurfaceNode | undefined): boolean =>
  node?.type === 'user/message' &&
  (node.data.source === 'import' || isCompactCheckpointSource(node.data.source))

/**
 * Index where the tail begins: the newest whole units of at most `tokens` together, by our counter. What the model has not seen belongs to it
 * whatever its size; a unit that does not fit ends the tail, so that one large unit does not draw in others.
 */
export function tailStart(
  nodes: readonly SurfaceNode[],
  tokens: number,
  units: readonly Unit[] = unitsOf(nodes),
): number {
  const unseen = firstUnseen(nodes)
  let start = nodes.length
  let kept = 0
  for (const unit of units.toReversed()) {
    kept += unit.tokens
    if (unit.to < unseen && kept > tokens) break
    start = unit.from
  }
  return start
}

/** Index where what every compaction keeps begins: the newest unit, and whatever the model has not seen. */
export function newestStart(nodes: readonly SurfaceNode[], units: readonly Unit[] = unitsOf(nodes)): number {
  return Math.min(units.at(-1)?.from ?? 0, tailStart(nodes, 0, units))
}
