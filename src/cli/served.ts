import type { ControlOptions } from '../client/index.ts'
import { Interrupted } from './exit-codes.ts'
import { untilInterrupted } from './interrupt.ts'
import type { Setting } from './setting.ts'

/** A running step may take minutes. */
const SAY_WAITING_MS = 2_000

/** Waits until a session has served a request. Ctrl-C leaves it waiting there. */
export async function served<T>(
  { output }: Setting,
  sessionId: string,
  requestId: string | undefined,
  ask: (options: ControlOptions) => Promise<T>,
): Promise<T> {
  const signal = untilInterrupted()
  const waiting = setTimeout(
    () => output.progress(`Waiting for the next step of ${sessionId}; Ctrl-C leaves the request there.`),
    SAY_WAITING_MS,
  )
  try {
    return await ask({ signal, ...(requestId === undefined ? {} : { requestId }) })
  } catch (error) {
    if (!signal.aborted) throw error
    throw new Interrupted(`The request waits for the next step of ${sessionId}.`)
  } finally {
    clearTimeout(waiting)
  }
}
