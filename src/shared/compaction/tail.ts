import type { SurfaceNode } from '../session/events.ts'
import { unitsOf } from '../session/tool-pairing.ts'
import { isCheckpointNode } from './checkpoint-node.ts'

/**
 * Index of the first node that the model has not seen: after the newest reply, and after the imported history and the checkpoint that may
 * follow it. A reply that the provider paused is still open. The number of nodes when everything was seen.
 *
 * @param openTurn what turns before this one left unanswered counts as seen: they have ended, and nobody will answer it any more
 */
export function firstUnseen(nodes: readonly SurfaceNode[], openTurn = 0): number {
  const reply = nodes.findLastIndex((node) => node.type === 'assistant/message')
  if (reply >= 0 && reply === nodes.length - 1 && isPaused(nodes[reply])) return reply
  let index = reply + 1
  while (isHistory(nodes[index]) || wasLeft(nodes[index], openTurn)) index++
  return index
}

const isPaused = (node: SurfaceNode | undefined): boolean =>
  node?.type === 'assistant/message' && node.data.stopReason === 'pause_turn'

const wasLeft = (node: SurfaceNode | undefined, openTurn: number): boolean =>
  node !== undefined && node.turn !== null && node.turn < openTurn

const isHistory = (node: SurfaceNode | undefined): boolean =>
  node?.type === 'user/message' && (node.data.source === 'import' || isCheckpointNode(node))

/**
 * Index where the tail begins: the newest whole units of at most `tokens` together, by our counter. What the model has not seen belongs to it
 * whatever its size; a unit that does not fit ends the tail, so that one large unit does not draw in others.
 */
export function tailStart(nodes: readonly SurfaceNode[], tokens: number, openTurn?: number): number {
  const units = unitsOf(nodes)
  const unseen = firstUnseen(nodes, openTurn)
  let start = nodes.length
  let kept = 0
  for (const unit of units.toReversed()) {
    kept += unit.tokens
    if (unit.to < unseen && kept > tokens) break
    start = unit.from
  }
  return start
}

/** Index where what every compaction keeps begins: the newest unit, and whatever the model has not seen. With `openTurn` as {@link firstUnseen}. */
export function newestStart(nodes: readonly SurfaceNode[], openTurn?: number): number {
  return Math.min(unitsOf(nodes).at(-1)?.from ?? 0, tailStart(nodes, 0, openTurn))
}
