import { setTimeout as sleep } from 'node:timers/promises'

/** A crowded machine is ten times slower than a calm one; only a test that fails waits this long. */
const PATIENCE_MS = 60_000

/** Asks until the answer is true; fails with what it last saw. For states that change outside of the test. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  isRight: (value: T) => boolean,
  withinMs = PATIENCE_MS,
): Promise<T> {
  const until = performance.now() + withinMs
  for (;;) {
    const value = await ask()
    if (isRight(value)) return value
    if (performance.now() > until)
      throw new Error(`not within ${withinMs} ms; last seen: ${JSON.stringify(value)}`)
    await sleep(50)
  }
}
