import { WorkflowNotFoundError } from '@temporalio/client'
import { SessionError } from '../shared/errors.ts'
import type { SessionOptions } from './session.ts'

/** What a passed deadline looks like: `DEADLINE_EXCEEDED` of our own clock, or `CANCELLED` when the server was first to end the call. */
const PASSED_DEADLINE: ReadonlySet<unknown> = new Set([4, 1])

/**
 * Asks the session's workflow for what only a worker can answer.
 *
 * @param ask is given what ends with the time or the signal: the reason is what this throws then
 * @throws SessionError `WorkerUnavailable`; the signal's own reason; else what `ask` throws
 */
export async function askWorker<T>(
  options: SessionOptions,
  ask: (until: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted()
  const { client, workerTimeoutMs } = options
  const waiting = new AbortController()
  const timer = setTimeout(() => waiting.abort(unavailable(options)), workerTimeoutMs)
  const abort = () => waiting.abort(signal?.reason)
  signal?.addEventListener('abort', abort)
  const timely = () => ask(waiting.signal)
  const asked = signal === undefined ? timely : () => client.withAbortSignal(signal, timely)
  try {
    return await client.withDeadline(Date.now() + workerTimeoutMs, asked)
  } catch (error) {
    signal?.throwIfAborted()
    throw PASSED_DEADLINE.has(grpcCode(error)) ? unavailable(options) : error
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

const unavailable = ({ sessionId, workerTimeoutMs }: SessionOptions): SessionError =>
  new SessionError(
    'WorkerUnavailable',
    `No worker answered for session ${sessionId} within ${workerTimeoutMs / 1000} s: start one on its task queue. What was asked for may still be done when one comes.`,
  )

/** A query of the session. @throws SessionError `SessionNotFound`, `WorkerUnavailable` */
export async function querySession<T>(options: SessionOptions, query: () => Promise<T>): Promise<T> {
  try {
    return await askWorker(options, query)
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
    throw new SessionError(
      'SessionNotFound',
      `Temporal does not know session ${options.sessionId}: start it first. What is left of it can be read from the store.`,
    )
  }
}

function grpcCode(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && typeof cause.code === 'number') return cause.code
  return undefined
}
