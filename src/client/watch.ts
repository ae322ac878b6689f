import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionStore } from '../shared/ports/store.ts'
import { isText } from '../shared/session/content.ts'
import type { SessionEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'

export interface WatchOptions {
  /** Events with a greater seq; default: from the beginning. */
  readonly after?: number
  /** Ends the iteration quietly. */
  readonly signal?: AbortSignal
}

/**
 * An event of the log, in order and complete, each once; or text of a reply, which is not durable. The deltas of a key, joined, are the text of the message with that key once that message
 * comes: the last of them comes right before it, and is the only one of a reply that was quick, or had landed before the watcher came. `anew`: forget what was shown of this key, since
 * another attempt took its place; the text begins again with this one. A reply that never lands ends with its step or turn.
 */
export type Watched =
  | { readonly kind: 'event'; readonly event: SessionEvent }
  | { readonly kind: 'delta'; readonly key: string; readonly text: string; readonly anew?: true }

const POLL_MS = 100
const PAGE = 500

/**
 * Follows a session by polling its store ten times a second: from any process, with no worker. Deltas alone are all that was said, events alone are the whole log: an application shows
 * texts by one of them. A watcher that comes back with the seq of its last event misses none and sees none twice; of a message behind it, also one that is being written, it gets the
 * text from the beginning.
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
      if (event.type === 'assistant/message') {
        const shown = event.key === live?.key ? live.shown : ''
        yield* rest(event.key, shown, textIn(event))
      }
      if (event.type === 'turn/end' || event.key === live?.key) live = undefined
      yield { kind: 'event', event }
    }
    if (page.length === PAGE) continue
    if (live !== undefined) {
      const text = (await store.deltas(sessionId, live.key)).map((delta) => delta.text).join('')
      // An empty one: the message has landed, or another attempt has not said anything yet.
      if (text !== '') {
        yield* rest(live.key, live.shown, text)
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

/** What leads from the text that was shown to this one. */
function* rest(key: string, shown: string, text: string): Generator<Watched> {
  if (!text.startsWith(shown)) yield { kind: 'delta', key, text, anew: true }
  else if (text !== shown) yield { kind: 'delta', key, text: text.slice(shown.length) }
}

const textIn = ({ data }: SessionEvent & { readonly type: 'assistant/message' }): string =>
  data.content
    .filter(isText)
    .map(({ text }) => text)
    .join('')
