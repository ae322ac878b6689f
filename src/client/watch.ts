import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionStore } from '../shared/ports/store.ts'
import type { SessionEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'

export interface WatchOptions {
  /** Events with a greater seq; default: from the beginning. */
  readonly after?: number
  /** Ends the iteration quietly. */
  readonly signal?: AbortSignal
}

/**
 * An event of the log, in order and complete, each once; or text of the message that is being written, which is not durable. `anew`: the text begins again, since another attempt
 * took the place of the one that was shown.
 */
export type Watched =
  | { readonly kind: 'event'; readonly event: SessionEvent }
  | { readonly kind: 'delta'; readonly key: string; readonly text: string; readonly anew?: true }

const POLL_MS = 100
const PAGE = 500

/**
 * Follows a session by polling its store ten times a second: from any process, with no worker. A watcher that comes back with the seq of its last event misses none and sees none
 * twice; of a message that is being written it gets the whole text so far.
 */
export async function* watchSession(
  store: SessionStore,
  sessionId: string,
  options: WatchOptions,
): AsyncGenerator<Watched> {
  const { signal } = options
  let after = options.after ?? -1
  let live = await openMessage(store, sessionId)
  while (!signal?.aborted) {
    const page = await store.events(sessionId, { after, limit: PAGE })
    for (const event of page) {
      if (signal?.aborted) return
      after = event.seq
      if (event.type === 'step/start')
        live = { key: keys.assistant(event.data.turn, event.data.step), shown: '' }
      else if (event.type === 'turn/end' || event.key === live?.key) live = undefined
      yield { kind: 'event', event }
    }
    if (page.length === PAGE) continue
    if (live !== undefined) {
      const text = (await store.deltas(sessionId, live.key)).map((delta) => delta.text).join('')
      // An empty one: the message has landed, or another attempt has not said anything yet.
      if (text !== '' && text !== live.shown) {
        const isMore = text.startsWith(live.shown)
        yield isMore
          ? { kind: 'delta', key: live.key, text: text.slice(live.shown.length) }
          : { kind: 'delta', key: live.key, text, anew: true }
        live.shown = text
      }
    }
    await sleep(POLL_MS, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
  }
}

interface OpenMessage {
  readonly key: string
  shown: string
}

/** Of a step that began before the watcher came. */
async function openMessage(store: SessionStore, sessionId: string): Promise<OpenMessage | undefined> {
  const session = await store.session(sessionId)
  if (session === null || session.openTurn === null || session.openStep === 0) return undefined
  return { key: keys.assistant(session.openTurn, session.openStep), shown: '' }
}
