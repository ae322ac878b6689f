import { cancellationSignal } from '@temporalio/activity'
import { LIMITS } from '../../shared/limits.ts'
import { untilAborted } from '../until-aborted.ts'

const MESSAGE_CHARS = 500

/**
 * Calls a hook and reads its answer within its time. What it threw, or that it ran out of time, comes back as a sentence.
 *
 * @throws Temporal's cancel
 */
export async function callHook<T>(
  name: string,
  timeoutMs: number = LIMITS.hookMs,
  call: (signal: AbortSignal) => Promise<T>,
  cancelled: AbortSignal = cancellationSignal(),
): Promise<{ readonly value: T } | { readonly error: string }> {
  const limit = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([cancelled, limit])
  try {
    // A hook that throws before its first await throws here, too.
    return { value: await untilAborted((async () => call(signal))(), signal) }
  } catch (error) {
    if (cancelled.aborted) throw error
    if (limit.aborted) return { error: `${name} took longer than ${timeoutMs} ms.` }
    return { error: `${name} failed: ${wordsOf(error).slice(0, MESSAGE_CHARS)}` }
  }
}

/** Anything can be thrown, also what has no words. */
function wordsOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown)
  } catch {
    return 'it threw what cannot be written'
  }
}
