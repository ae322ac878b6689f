import { watchSession } from '../../client/watch.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import type { Show } from './show.ts'

/** Shows everything that happens in a session, whoever asked for it, and knows how far it is. */
export class Follower {
  /** The turn that runs, as far as it was shown. */
  openTurn: number | null = null
  readonly #store: SessionStore
  readonly #sessionId: string
  readonly #leave: AbortSignal
  #last = -1
  #waiting: { readonly seq: number; readonly resolve: () => void }[] = []

  constructor(store: SessionStore, sessionId: string, leave: AbortSignal) {
    this.#store = store
    this.#sessionId = sessionId
    this.#leave = leave
  }

  /** Until the chat is left. */
  async run(show: Show, after: number): Promise<void> {
    this.#last = after
    for await (const seen of watchSession(this.#store, this.#sessionId, { after, signal: this.#leave })) {
      show.add(seen)
      if (seen.kind === 'delta') continue
      const { event } = seen
      if (event.type === 'turn/start') this.openTurn = event.data.turn
      if (event.type === 'turn/end') this.openTurn = null
      this.#last = event.seq
      const isReached = ({ seq }: { readonly seq: number }) => seq <= this.#last
      for (const { resolve } of this.#waiting.filter(isReached)) resolve()
      this.#waiting = this.#waiting.filter((waiting) => !isReached(waiting))
    }
  }

  /** Resolves when everything that the store holds now has been shown. */
  async caughtUp(): Promise<void> {
    const row = await this.#store.session(this.#sessionId)
    const seq = (row?.head ?? 0) - 1
    if (seq > this.#last) await new Promise<void>((resolve) => this.#waiting.push({ seq, resolve }))
  }
}
