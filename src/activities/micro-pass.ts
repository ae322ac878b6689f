import { planMicro } from '../shared/compaction/micro.ts'
import { cheaperCopies, shadowEvents } from '../shared/compaction/prune.ts'
import type { Actor, SurfaceSnapshot } from '../shared/ports/store.ts'
import { offersHistory } from '../shared/recall/history-tool.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner } from './owner.ts'
import { replanned } from './replanned.ts'
import { loadSession } from './session-view.ts'

export interface MicroPlace {
  readonly sessionId: string
  readonly turn: number | null
  readonly step: number | null
}

/** The silent level: old results become a placeholder when that frees enough. Returns the surface that the request is made of. */
export async function microPass(
  deps: ActivityDeps,
  { sessionId, turn, step }: MicroPlace,
  actor: Actor,
): Promise<SurfaceSnapshot> {
  const { header } = await loadSession(deps, sessionId)
  return replanned(async () => {
    const surface = await deps.store.surface(sessionId)
    const planned = planMicro(surface.nodes, header.policy, offersHistory(header))
    const copies = cheaperCopies(planned, priceContent)
    if (copies.length === 0) return surface
    const events = copies.flatMap(({ copy, tokens }) => shadowEvents(copy, tokens, { turn, step }))
    await asOwner(deps, sessionId, actor, (owner) =>
      deps.store.append({ sessionId, actor: owner, turn, events, expectedHead: surface.head }),
    )
    return deps.store.surface(sessionId)
  })
}
