import type { NewEvent, SessionEvent, SurfaceNode } from './events.ts'
import { EMPTY_CONTROL, type LogControl, type LogLookup, type SurfaceChange } from './log-control.ts'
import { checkBatchEnd, checkBatchTurn, judge } from './log-rules.ts'
import { appendNode, emptySurface, replaceNodes, type Surface, spanFacts, surfaceNodes } from './surface.ts'

/** A log, folded: what its events add up to. Immutable. */
export interface LogState extends LogControl {
  /** What the model sees, in order. A copy, made when first read: O(nodes). */
  readonly surface: readonly SurfaceNode[]
  /** What the next event is judged by. */
  readonly fold: Fold
}

/** The inside of a state. Maps are shared by the versions of one log; `control.nextSeq` says how much of them a version sees. */
interface Fold {
  readonly control: LogControl
  readonly surface: Surface
  readonly seqs: Map<string, number>
  readonly shadowed: Map<number, readonly SurfaceNode[]>
}

export const emptyLog = (): LogState =>
  stateOf({ control: EMPTY_CONTROL, surface: emptySurface(), seqs: new Map(), shadowed: new Map() })

/**
 * The state after one more event. The given state stays what it was. Cost: O(1) amortised on the newest state, O(nodes) for a
 * replacement; O(events) once when an older state is continued.
 *
 * @throws SessionError `LogRejected`
 */
export function applyEvent({ fold }: LogState, event: SessionEvent): LogState {
  const { control, change } = judge(fold.control, lookupOf(fold), event)
  const { seqs, shadowed } = fold.seqs.size === fold.control.nextSeq ? fold : forked(fold)
  if (change.op === 'replace') shadowed.set(event.seq, shadowedNodes(fold, change.shadowed))
  seqs.set(event.key, event.seq)
  return stateOf({ control, surface: changedSurface(fold, event, change), seqs, shadowed })
}

/** The state of a whole log. @throws SessionError `LogRejected` at the first event that breaks a rule */
export function foldLog(events: Iterable<SessionEvent>): LogState {
  let state = emptyLog()
  for (const event of events) state = applyEvent(state, event)
  return state
}

/** Events of one turn, or of none, that are written together. */
export interface Batch {
  readonly turn: number | null
  readonly events: readonly NewEvent[]
}

/**
 * The state after a whole batch, as `SessionStore.append` writes it.
 *
 * @throws SessionError `TurnClosed`, `LogRejected`
 */
export function applyBatch(state: LogState, { turn, events }: Batch, time: number): LogState {
  checkBatchTurn(state, turn, events)
  let next = state
  for (const event of events) next = applyEvent(next, { ...event, seq: next.nextSeq, time })
  checkBatchEnd(next)
  return next
}

function stateOf(fold: Fold): LogState {
  let surface: readonly SurfaceNode[] | undefined
  return {
    ...fold.control,
    fold,
    get surface() {
      surface ??= surfaceNodes(fold.surface)
      return surface
    },
  }
}

/** A version's own copy of the shared maps: an older state was continued, and a newer one uses them. */
function forked({ control, seqs, shadowed }: Fold): Pick<Fold, 'seqs' | 'shadowed'> {
  return {
    seqs: new Map([...seqs].filter(([, seq]) => seq < control.nextSeq)),
    shadowed: new Map([...shadowed].filter(([seq]) => seq < control.nextSeq)),
  }
}

const lookupOf = (fold: Fold): LogLookup => ({
  seqOfKey: (key) => {
    const seq = fold.seqs.get(key)
    return seq !== undefined && seq < fold.control.nextSeq ? seq : undefined
  },
  span: (start, end) => spanFacts(fold.surface, start, end),
  shadowedBy: (seq) => (fold.shadowed.get(seq) ?? []).map((node) => node.seq),
})

function shadowedNodes({ surface }: Fold, seqs: readonly number[]): readonly SurfaceNode[] {
  const wanted = new Set(seqs)
  return surfaceNodes(surface).filter((node) => wanted.has(node.seq))
}

function changedSurface({ surface, shadowed }: Fold, event: SessionEvent, change: SurfaceChange): Surface {
  const node = event as SurfaceNode
  switch (change.op) {
    case 'none':
      return surface
    case 'append':
      return appendNode(surface, node)
    case 'replace':
      return replaceNodes(surface, change.shadowed[0] ?? event.seq, change.shadowed.length, [node])
    case 'restore':
      return replaceNodes(surface, change.node, 1, shadowed.get(change.node) ?? [])
  }
}
