import type { SessionStore } from '../shared/ports/store.ts'
import type { SessionEvent } from '../shared/session/events.ts'

const PAGE = 1000

/** The whole log of a session, read in pages. */
export async function readLog(store: SessionStore, sessionId: string): Promise<SessionEvent[]> {
  const all: SessionEvent[] = []
  for (let after = -1; ; ) {
    const page = await store.events(sessionId, { after, limit: PAGE })
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return all
    after = last.seq
  }
}
