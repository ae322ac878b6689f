import type { SessionStore } from '../ports/store.ts'
import type { SurfaceNode } from './events.ts'
import { applyEvent, emptyLog } from './log.ts'

const PAGE = 1000

/** The surface as it was before the event `seq`, in surface order. Cost: the log up to there. */
export async function surfaceAt(
  store: Pick<SessionStore, 'events'>,
  sessionId: string,
  seq: number,
): Promise<readonly SurfaceNode[]> {
  let state = emptyLog()
  while (state.nextSeq < seq) {
    const limit = Math.min(PAGE, seq - state.nextSeq)
    const page = await store.events(sessionId, { after: state.nextSeq - 1, limit })
    if (page.length === 0) throw new RangeError(`The log ends at ${state.nextSeq}, before event ${seq}.`)
    for (const event of page) state = applyEvent(state, event)
  }
  return state.surface
}
