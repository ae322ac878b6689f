import { SessionError } from '../errors.ts'
import type { SurfaceNode } from './events.ts'
import { isOurs, pairTools, type ToolCall, type ToolPairing } from './tool-pairs.ts'

/** One message, or one assistant message with all results of its calls and whatever stands between: never split. */
export interface Unit {
  /** Indexes in the surface, inclusive. */
  readonly from: number
  readonly to: number
  /** Sum of the prices of its nodes. */
  readonly tokens: number
}

/**
 * True when a cut before this node separates no call from its result. The newest call that has no result yet is open to the end; an
 * older one will get none any more and is closed where the next reply begins.
 *
 * @throws SessionError `InvalidSpan` when the seq is not on the surface; `LogRejected` when a result has no call, or a call id is open twice
 */
export function toolPairingBalancedBefore(nodes: readonly SurfaceNode[], seq: number): boolean {
  return isBalanced(nodes, indexOfSeq(nodes, seq))
}

/** True when a cut after this node separates no call from its result. Otherwise as {@link toolPairingBalancedBefore}. */
export function toolPairingBalancedAfter(nodes: readonly SurfaceNode[], seq: number): boolean {
  return isBalanced(nodes, indexOfSeq(nodes, seq) + 1)
}

function isBalanced(nodes: readonly SurfaceNode[], cut: number): boolean {
  const pairing = pairTools(nodes)
  assertPaired(nodes, pairing)
  return callAcross(nodes, pairing, cut) === undefined
}

/** The id of a call that a cut before this index would separate from its result, or undefined when the cut is balanced. */
export function splitCallAt(nodes: readonly SurfaceNode[], cut: number): string | undefined {
  return callAcross(nodes, pairTools(nodes), cut)?.callId
}

/** Splits the surface into its units, in order. Never throws: a result without its call is a unit of its own. Linear. */
export function unitsOf(nodes: readonly SurfaceNode[]): Unit[] {
  const opened = new Int32Array(nodes.length + 2)
  for (const { from, end } of extents(nodes, pairTools(nodes))) {
    opened[from + 1] = (opened[from + 1] ?? 0) + 1
    opened[end + 1] = (opened[end + 1] ?? 0) - 1
  }
  const units: Unit[] = []
  let from = 0
  let tokens = 0
  let open = 0
  for (const [index, node] of nodes.entries()) {
    tokens += node.tokens
    open += opened[index + 1] ?? 0
    if (open > 0 && index < nodes.length - 1) continue
    units.push({ from, to: index, tokens })
    from = index + 1
    tokens = 0
  }
  return units
}

/** Calls of our tools that have no result, in surface order. */
export function unansweredCalls(nodes: readonly SurfaceNode[]): {
  readonly callId: string
  readonly name: string
  readonly assistantSeq: number
  readonly turn: number | null
  readonly step: number | null
}[] {
  const { calls, answers } = pairTools(nodes)
  return calls.flatMap((call) => {
    const node = nodes[call.at]
    if (answers.has(call) || !isOurs(call) || node === undefined) return []
    return [
      { callId: call.callId, name: call.name, assistantSeq: node.seq, turn: node.turn, step: node.step },
    ]
  })
}

interface Extent {
  readonly call: ToolCall
  /** A cut before any index above `from` and up to `end` splits the pair. */
  readonly from: number
  readonly end: number
}

function extents(nodes: readonly SurfaceNode[], { calls, answers }: ToolPairing): Extent[] {
  const nextReply = new Int32Array(nodes.length + 1).fill(nodes.length + 1)
  for (let index = nodes.length - 1; index >= 0; index--) {
    nextReply[index] = nodes[index]?.type === 'assistant/message' ? index : (nextReply[index + 1] ?? 0)
  }
  return calls.map((call) => ({
    call,
    from: call.at,
    end: answers.get(call)?.at ?? Math.min((nextReply[call.at + 1] ?? 0) - 1, nodes.length),
  }))
}

function callAcross(nodes: readonly SurfaceNode[], pairing: ToolPairing, cut: number): ToolCall | undefined {
  return extents(nodes, pairing).find(({ from, end }) => from < cut && cut <= end)?.call
}

function indexOfSeq(nodes: readonly SurfaceNode[], seq: number): number {
  const index = nodes.findIndex((node) => node.seq === seq)
  if (index === -1) throw new SessionError('InvalidSpan', `No node of the surface has seq ${seq}.`, { seq })
  return index
}

function assertPaired(nodes: readonly SurfaceNode[], pairing: ToolPairing): void {
  const stray = pairing.orphans[0] ?? pairing.repeated[0]
  if (stray !== undefined) {
    const why = pairing.orphans.length > 0 ? 'no call before it has this id' : 'its call has a result already'
    const seq = nodes[stray.at]?.seq
    throw new SessionError(
      'LogRejected',
      `The result of call ${stray.callId} at seq ${seq} stands alone: ${why}.`,
      { seq, callId: stray.callId },
    )
  }
  const openUntil = new Map<string, number>()
  for (const { call, from, end } of extents(nodes, pairing)) {
    const id = `${isOurs(call) ? 'ours' : 'provider'} ${call.callId}`
    if ((openUntil.get(id) ?? -1) >= from) {
      const seq = nodes[from]?.seq
      throw new SessionError(
        'LogRejected',
        `Call id ${call.callId} at seq ${seq} is used again while a call of this id is open.`,
        { seq, callId: call.callId },
      )
    }
    openUntil.set(id, end)
  }
}
