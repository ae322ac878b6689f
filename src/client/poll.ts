import { setTimeout as sleep } from 'node:timers/promises'

const FIRST_MS = 25
const LONGEST_MS = 250

/** Asks until something other than undefined comes, less and less often; undefined when the time is over. @throws the signal's reason */
export async function poll<T>(
  limitMs: number,
  ask: () => Promise<T | undefined>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const end = Date.now() + limitMs
  for (let wait = FIRST_MS; ; wait = Math.min(wait * 1.5, LONGEST_MS)) {
    signal?.throwIfAborted()
    const answer = await ask()
    if (answer !== undefined) return answer
    if (Date.now() + wait > end) return undefined
    await sleep(wait, undefined, signal === undefined ? {} : { signal }).catch(() => signal?.throwIfAborted())
  }
}
