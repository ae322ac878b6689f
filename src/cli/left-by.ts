import { isSurfaceType, type SessionEvent } from '../shared/session/events.ts'

/** For each message that no longer stands on the surface, the event that took its place. Of a whole log; pure. */
export function leftBy(events: readonly SessionEvent[]): Map<number, number> {
  const left = new Map<number, number>()
  for (const { seq, surfaceOp, sourceEventSeqs = [] } of events) {
    if (typeof surfaceOp !== 'object') continue
    if (surfaceOp.op === 'replace') {
      for (const cited of sourceEventSeqs) if (isMessage(events[cited])) left.set(cited, seq)
      continue
    }
    for (const [node, by] of left) if (by === surfaceOp.node) left.delete(node)
    left.set(surfaceOp.node, seq)
  }
  return left
}

const isMessage = (event: SessionEvent | undefined): boolean =>
  event !== undefined && isSurfaceType(event.type)
