import type { Lost, SurfaceNode } from '../session/events.ts'
import type { Ledger } from './ledger/build-ledger.ts'
import { lostIdentifiers } from './ledger/checkpoint-body.ts'

export interface LostInput {
  readonly nodes: readonly SurfaceNode[]
  readonly ledger: Ledger
  /** Text of the checkpoint. */
  readonly page: string
  readonly pinsLeft: number
  readonly workingDirectory?: string | undefined
}

/**
 * What a checkpoint dropped. Counts: nodes by event type and content blocks by type that left the surface, identifiers by kind
 * that stand neither in the checkpoint nor in the tail, `userText` messages and `pin` texts that are not shown.
 */
export function lostBy({ nodes, ledger, page, pinsLeft, workingDirectory }: LostInput): Lost {
  const counts = new Map<string, number>()
  const add = (kind: string, count: number) => count > 0 && counts.set(kind, (counts.get(kind) ?? 0) + count)
  for (const node of nodes) {
    add(node.type, 1)
    for (const block of node.data.content) if (block.type !== 'text') add(block.type, 1)
  }
  const identifiers = lostIdentifiers(ledger, page, workingDirectory)
  for (const [kind, count] of Object.entries(identifiers.counts)) add(kind, count)
  add('userText', ledger.state.said.leftOut)
  add('pin', pinsLeft)
  return { counts: Object.fromEntries(counts), identifiers: [...identifiers.identifiers] }
}
