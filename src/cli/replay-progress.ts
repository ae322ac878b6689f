import type { SessionStore } from '../shared/ports/store.ts'

export interface ReplayProgress {
  readonly store: SessionStore
  readonly sessionId: string
  /** Number of recorded replies. */
  readonly replies: number
  readonly say: (line: string) => void
}

const EVERY_MS = 5_000

/** Says every few seconds how far a replay is, if it is further. */
export function showReplayProgress({ store, sessionId, replies, say }: ReplayProgress) {
  let turns = ''
  let said = ''
  const look = async () => {
    const [done, compactions] = await Promise.all([
      store.countEvents(sessionId, 'assistant/message'),
      store.countEvents(sessionId, 'compact/summary'),
    ])
    const line = `${turns}reply ${done} of ${replies}, compactions: ${compactions}`
    if (line !== said) say(line)
    said = line
  }
  // Before the session is there, and when the store is just closed, there is nothing to say.
  const timer = setInterval(() => void look().catch(() => undefined), EVERY_MS)
  return {
    onTurn(done: number, all: number): void {
      turns = `turn ${done} of ${all}, `
    },
    stop(): void {
      clearInterval(timer)
    },
  }
}
