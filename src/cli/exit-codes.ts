import { ServiceError } from '@temporalio/client'
import { TranscriptError } from '../formats/errors.ts'
import { isSessionError, ManualCompactionError } from '../shared/errors.ts'
import { TemporalServerUnavailable } from '../worker/dev-server/start-dev-server.ts'

export const EXIT = { done: 0, failed: 1, badUsage: 2, notFound: 3, unreachable: 4 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Wrong words on the command line, or a file that cannot be used. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The exit code of a failed command. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError || error instanceof TranscriptError) return EXIT.badUsage
  if (isSessionError(error)) {
    if (error.name === 'SessionNotFound') return EXIT.notFound
    if (error.name === 'StoreUnavailable' || error.name === 'WorkerUnavailable') return EXIT.unreachable
    if (error.name === 'InvalidInput' || error.name === 'InvalidPolicy' || error.name === 'InvalidSpan')
      return EXIT.badUsage
    return EXIT.failed
  }
  if (error instanceof ManualCompactionError) return EXIT.failed
  if (error instanceof TemporalServerUnavailable || error instanceof ServiceError || isConnectError(error))
    return EXIT.unreachable
  return EXIT.failed
}

/** One text per error: its name where it has one of ours, and its sentence. */
export function errorText(error: unknown): string {
  if (error instanceof ManualCompactionError) return `${error.code}: ${error.message}`
  if (isSessionError(error)) return `${error.name}: ${error.message}`
  if (isConnectError(error)) return `Cannot reach Temporal: ${error.message}.`
  return error instanceof Error ? error.message : String(error)
}

/** A connection that could not be made. */
export function serverUnavailable(address: string, error: unknown): TemporalServerUnavailable {
  const problem = error instanceof Error ? error.message : String(error)
  return new TemporalServerUnavailable(
    `Cannot reach Temporal at ${address} (${problem}). Start a server, for example with "durable-compaction dev", or name another with --address.`,
  )
}

const isConnectError = (error: unknown): error is Error =>
  error instanceof Error &&
  (error.name === 'TransportError' || /Failed to connect|UNAVAILABLE|ECONNREFUSED/.test(error.message))
