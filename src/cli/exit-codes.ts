import pc from 'picocolors'
import { isSessionError, ManualCompactionError } from '../shared/errors.ts'

/** 0 done, 1 failed, 2 bad usage, 3 not found, 4 cannot reach Temporal or the store; 130 as shells have it for Ctrl-C. */
export const EXIT = {
  done: 0,
  failed: 1,
  badUsage: 2,
  notFound: 3,
  unreachable: 4,
  interrupted: 130,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Wrong words on the command line, or a file that cannot be used. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Something of a session that is known, which it does not have. */
export class NotFound extends Error {
  override readonly name = 'NotFound'
}

/** No Temporal server answers. */
export class TemporalUnreachable extends Error {
  override readonly name = 'TemporalUnreachable'
}

/** The person ended the command. The message says what goes on without it. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

const BY_NAME: Readonly<Record<string, ExitCode>> = {
  UsageError: EXIT.badUsage,
  TranscriptError: EXIT.badUsage,
  InvalidInput: EXIT.badUsage,
  InvalidPolicy: EXIT.badUsage,
  InvalidSpan: EXIT.badUsage,
  UnknownModel: EXIT.badUsage,
  UnknownTool: EXIT.badUsage,
  SessionNotFound: EXIT.notFound,
  NotFound: EXIT.notFound,
  NamespaceNotFound: EXIT.notFound,
  StoreUnavailable: EXIT.unreachable,
  WorkerUnavailable: EXIT.unreachable,
  TemporalUnreachable: EXIT.unreachable,
  TemporalServerUnavailable: EXIT.unreachable,
  Interrupted: EXIT.interrupted,
}

export interface Failure {
  readonly name: string
  readonly message: string
}

/** One name and one sentence for an error. Errors of Temporal's client are known by their names, so that this loads no client. */
export function failureOf(error: unknown): Failure {
  if (error instanceof ManualCompactionError) return { name: error.code, message: error.message }
  if (isSessionError(error)) return { name: error.name, message: error.message }
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  return temporalFailure(error) ?? { name: error.name, message: error.message }
}

/** What is printed of an error. */
export function failureText(error: unknown, { json }: { readonly json: boolean }): string {
  const failure = failureOf(error)
  if (json) return JSON.stringify({ error: failure })
  return error instanceof Interrupted ? failure.message : pc.red(`${failure.name}: ${failure.message}`)
}

/** The exit code of a failed command. */
export const exitCodeOf = (error: unknown): ExitCode => BY_NAME[failureOf(error).name] ?? EXIT.failed

const GRPC = { notFound: 5, unavailable: 14, deadlineExceeded: 4 }

function temporalFailure(error: Error): Failure | undefined {
  if (error.name === 'NamespaceNotFoundError')
    return {
      name: 'NamespaceNotFound',
      message: `${error.message}: name one that this server has with --namespace.`,
    }
  if (error.name !== 'ServiceError') return undefined
  const { cause } = error
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  const message = `Temporal does not answer: ${error.message}. Is its server up? It is named by --address, TEMPORAL_ADDRESS or a running dev.`
  return code === GRPC.unavailable || code === GRPC.deadlineExceeded
    ? { name: 'TemporalUnreachable', message }
    : { name: error.name, message: error.message }
}
