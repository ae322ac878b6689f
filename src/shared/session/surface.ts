import { canonicalJson } from './canonical-json.ts'
import { eventFacts } from './event-facts.ts'
import type { SurfaceNode } from './events.ts'
import type { NodeFacts } from './log-control.ts'

/**
 * The nodes of one surface. Versions that grow out of each other share one array: adding to the newest is O(1), to an
 * older one O(nodes), and no version ever changes.
 */
export interface Surface {
  readonly shared: SurfaceNode[]
  readonly length: number
}

export const emptySurface = (): Surface => ({ shared: [], length: 0 })

export const surfaceNodes = ({ shared, length }: Surface): readonly SurfaceNode[] => shared.slice(0, length)

export function appendNode(surface: Surface, node: SurfaceNode): Surface {
  const { length } = surface
  const shared = surface.shared.length === length ? surface.shared : surface.shared.slice(0, length)
  shared.push(node)
  return { shared, length: length + 1 }
}

/** `nodes` takes the place of `count` nodes that begin with node `first`. O(nodes). */
export function replaceNodes(
  surface: Surface,
  first: number,
  count: number,
  nodes: readonly SurfaceNode[],
): Surface {
  const from = positionOf(surface, first)
  const old = surface.shared
  const shared = [...old.slice(0, from), ...nodes, ...old.slice(from + count, surface.length)]
  return { shared, length: shared.length }
}

/** The nodes from `start` to `end`, or null unless both are on the surface in this order. O(nodes). */
export function spanFacts(surface: Surface, start: number, end: number): readonly NodeFacts[] | null {
  const from = positionOf(surface, start)
  const to = start === end ? from : positionOf(surface, end)
  if (from < 0 || to < from) return null
  return surface.shared.slice(from, to + 1).map(nodeFacts)
}

function positionOf({ shared, length }: Surface, seq: number): number {
  for (let position = length - 1; position >= 0; position--)
    if (shared[position]?.seq === seq) return position
  return -1
}

const nodeFacts = (node: SurfaceNode): NodeFacts => ({
  seq: node.seq,
  type: node.type,
  tokens: node.tokens,
  facts: canonicalJson(eventFacts(node)),
})
