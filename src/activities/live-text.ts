import type { ModelDelta } from '../shared/ports/model.ts'
import type { ActivityDeps } from './deps.ts'

/** Watchers see text at most this much later; the store sees at most ten writes a second. */
const BATCH_MS = 100

export interface LiveText {
  readonly add: (delta: ModelDelta) => void
  end(): Promise<void>
}

/** Writes the text of a message that is being generated in batches. It is not durable: a failed write is dropped. */
export function liveText(deps: ActivityDeps, sessionId: string, key: string): LiveText {
  let pending = ''
  let index = 0
  let writing: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    timer = undefined
    const text = pending
    pending = ''
    if (text === '') return
    const at = index++
    writing = writing
      .then(() => deps.store.putDelta({ sessionId, key, index: at, text }))
      .catch(() => undefined)
  }
  return {
    add: ({ text }) => {
      pending += text
      timer ??= setTimeout(flush, BATCH_MS)
    },
    end: async () => {
      clearTimeout(timer)
      pending = ''
      await writing
    },
  }
}
