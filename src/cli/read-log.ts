import type { SessionStore } from '../shared/ports/store.ts'
import type { SessionEvent } from '../shared/session/events.ts'

const PAGE = 1000

/** The whole log of a session, in pages. */
export async function* logPages(
  store: Pick<SessionStore, 'events'>,
  sessionId: string,
): AsyncGenerator<readonly SessionEvent[]> {
  for (let after = -1; ; ) {
    const page = await store.events(sessionId, { after, limit: PAGE })
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = last.seq
  }
}

export async function readLog(
  store: Pick<SessionStore, 'events'>,
  sessionId: string,
): Promise<SessionEvent[]> {
  const all: SessionEvent[] = []
  for await (const page of logPages(store, sessionId)) all.push(...page)
  return all
}
