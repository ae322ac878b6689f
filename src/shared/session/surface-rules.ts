import { isCompactCheckpointSource } from '../checkpoint-source.ts'
import { canonicalJson } from './canonical-json.ts'
import { eventFacts } from './event-facts.ts'
import { isSurfaceType, type SessionEvent } from './events.ts'
import { keys } from './keys.ts'
import type { LogControl, LogLookup, NodeFacts, SurfaceChange } from './log-control.ts'
import { refuse } from './log-refusal.ts'

/** The rules of the surface: which event may change it, and how. */
export function judgeSurface(control: LogControl, lookup: LogLookup, event: SessionEvent): SurfaceChange {
  const { pricedNode } = control
  if (pricedNode !== null && !isCopy(event))
    refuse(event, `the copy of node ${pricedNode} must follow its price`)
  if (event.type === 'compact/prune') checkPrice(lookup, event)
  if (event.type === 'compact/restore') return restore(lookup, event)
  const op = event.surfaceOp
  if (!isSurfaceType(event.type))
    return op === undefined ? { op: 'none' } : refuse(event, 'its type does not stand on the surface')
  if (op === undefined) refuse(event, 'a message needs a surface operation')
  checkSource(event)
  if (op === 'append') {
    if (pricedNode !== null) refuse(event, `the copy of node ${pricedNode} must follow its price`)
    return { op: 'append' }
  }
  if (op.op === 'restore') refuse(event, 'only compact/restore restores')
  return replace(lookup, event, op.start, op.end, pricedNode)
}

/** A result that replaces, or a message that does so without being a checkpoint: it stands for one node, with less content. */
const isCopy = (event: SessionEvent): boolean =>
  event.type === 'tool/result' ||
  (event.type === 'user/message' && !isCompactCheckpointSource(event.data.source))

/** Only a checkpoint replaces a span. */
function checkSource(event: SessionEvent): void {
  if (event.type !== 'user/message') return
  if (isCompactCheckpointSource(event.data.source) && event.surfaceOp === 'append')
    refuse(event, 'a checkpoint replaces a span')
}

function replace(
  lookup: LogLookup,
  event: SessionEvent,
  start: number,
  end: number,
  pricedNode: number | null,
): SurfaceChange {
  if (event.type === 'assistant/message') refuse(event, 'an assistant message can only be appended')
  const span = lookup.span(start, end)
  if (span === null) refuse(event, `nodes ${start} and ${end} are not on the surface in this order`)
  if (isCopy(event)) checkCopy(event, span, pricedNode)
  const cited = new Set(event.sourceEventSeqs)
  const uncited = span.find((node) => !cited.has(node.seq))
  if (uncited !== undefined) refuse(event, `it does not cite node ${uncited.seq}, which it shadows`)
  return { op: 'replace', shadowed: span.map((node) => node.seq) }
}

function checkCopy(
  event: SessionEvent,
  [target, ...others]: readonly NodeFacts[],
  pricedNode: number | null,
): void {
  if (target?.type !== event.type || others.length > 0)
    refuse(event, `a copy replaces exactly one ${event.type}`)
  if (pricedNode !== target.seq)
    refuse(event, `its price must stand directly before it, for node ${target.seq}`)
  if (canonicalJson(eventFacts(event)) !== target.facts)
    refuse(event, `only the content may differ from event ${target.seq}`)
}

function checkPrice(lookup: LogLookup, event: SessionEvent<'compact/prune'>): void {
  const { shadowedRange, shadowedSeqs, shadowedTokenCount } = event.data
  const { start, end } = shadowedRange
  if (start !== end || shadowedSeqs.length !== 1 || shadowedSeqs[0] !== start)
    refuse(event, 'it must price exactly one node')
  const node = lookup.span(start, start)?.[0]
  if (node === undefined) refuse(event, `node ${start} is not on the surface`)
  if (node.tokens !== shadowedTokenCount)
    refuse(event, `node ${start} has ${node.tokens} tokens, shadowedTokenCount is ${shadowedTokenCount}`)
}

function restore(lookup: LogLookup, event: SessionEvent<'compact/restore'>): SurfaceChange {
  const { compactionId, checkpoint } = event.data
  const op = event.surfaceOp
  if (typeof op !== 'object' || op.op !== 'restore' || op.node !== checkpoint)
    refuse(event, `its surface operation must restore node ${checkpoint}`)
  if (lookup.seqOfKey(keys.compactCheckpoint(compactionId)) !== checkpoint)
    refuse(event, `event ${checkpoint} is not the checkpoint of compaction ${compactionId}`)
  if (lookup.span(checkpoint, checkpoint) === null)
    refuse(event, `checkpoint ${checkpoint} is not on the surface`)
  return { op: 'restore', node: checkpoint, restored: lookup.shadowedBy(checkpoint) }
}
