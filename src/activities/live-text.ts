import type { ModelDelta } from '../shared/ports/model.ts'
import { headOf } from '../shared/session/well-formed.ts'
import type { ActivityDeps } from './deps.ts'

/** Watchers see text at most this much later; the store sees at most ten writes a second. */
const BATCH_MS = 100

export interface LiveText {
  readonly add: (delta: ModelDelta) => void
  /** Nothing is added any more. `keep`: no message will land, and what is not written yet is; else it is dropped. */
  end(what: { readonly keep: boolean }): Promise<void>
}

/** Writes the text of a message that is being generated in batches. It is not durable: a failed write is dropped. */
export function liveText(deps: ActivityDeps, sessionId: string, key: string): LiveText {
  let pending = ''
  let index = 0
  let hasEnded = false
  let writing: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    timer = undefined
    const text = headOf(pending, pending.length) // A store has no halves of a character.
    pending = pending.slice(text.length)
    if (text === '') return
    const at = index++
    writing = writing
      .then(() => deps.store.putDelta({ sessionId, key, index: at, text }))
      .catch(() => undefined)
  }
  return {
    add: ({ text }) => {
      if (hasEnded) return // A client that ignores its abort.
      pending += text
      timer ??= setTimeout(flush, BATCH_MS)
    },
    end: async ({ keep }) => {
      hasEnded = true
      clearTimeout(timer)
      if (keep) flush()
      await writing
    },
  }
}
