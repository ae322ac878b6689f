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

/** An event of the log, in order and complete; or a piece of text of the message that is being written, which may be lost or repeated. */
export type Watched =
  | { readonly kind: 'event'; readonly event: SessionEvent }
  | { readonly kind: 'delta'; readonly key: string; readonly text: string }

const POLL_MS = 100
const PAGE = 500

/** Follows a session by polling its store: from any process, with no worker. */
export async function* watchSession(
  store: SessionStore,
  sessionId: string,
  options: WatchOptions,
): AsyncGenerator<Watched> {
  let after = options.after ?? -1
  let liveKey: string | undefined
  let liveIndex = -1
  while (!options.signal?.aborted) {
    const page = await store.events(sessionId, { after, limit: PAGE })
    for (const event of page) {
      after = event.seq
      if (event.type === 'step/start') {
        liveKey = keys.assistant(event.data.turn, event.data.step)
        liveIndex = -1
      } else if (event.key === liveKey) liveKey = undefined
      yield { kind: 'event', event }
    }
    if (page.length === PAGE) continue
    if (liveKey !== undefined) {
      for (const { index, text } of await store.deltas(sessionId, liveKey)) {
        if (index <= liveIndex) continue
        liveIndex = index
        yield { kind: 'delta', key: liveKey, text }
      }
    }
    await sleep(POLL_MS, undefined, options.signal === undefined ? {} : { signal: options.signal }).catch(
      () => undefined,
    )
  }
}
