/** A record that hangs on another one. Records come in the order of the file. */
export interface TreeNode {
  readonly line: number
  readonly id: string | undefined
  readonly parentId: string | undefined
}

/**
 * The lines on the path from the last node back to the first. A parent that no earlier record has (cut off by a broken
 * line, or none at all) is taken to be the record before it, so that a severed chain is mended and never loops.
 */
export function livePath(nodes: readonly TreeNode[]): ReadonlySet<number> {
  const positionOfId = new Map<string, number>()
  const parents = nodes.map(({ id, parentId }, position) => {
    const parent = (parentId === undefined ? undefined : positionOfId.get(parentId)) ?? position - 1
    if (id !== undefined) positionOfId.set(id, position)
    return parent
  })
  const live = new Set<number>()
  for (let position = nodes.length - 1; position >= 0; position = parents[position] ?? -1)
    live.add(nodes[position]?.line ?? 0)
  return live
}
