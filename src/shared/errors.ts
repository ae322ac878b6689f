/**
 * Every expected failure of the library, one name each. The same name is the `type` of the Temporal failure
 * that carries it, so that a workflow, a client and the command line tell cases apart by one word.
 */
export const ERROR_NAMES = [
  /** Input that no version of the session could accept: the message names field, value and limit. */
  'InvalidInput',
  /** A policy that contradicts itself or the window; both numbers are in the message. */
  'InvalidPolicy',
  /** A session id that the store does not know. */
  'SessionNotFound',
  /** A prompt or request to a session that was closed. */
  'SessionClosed',
  /** `start` of a running session with settings that differ from what it has. */
  'SessionConflict',
  /** The session belongs to another workflow that is still open. */
  'SessionOwned',
  /** The caller's run does not own the session (internal: the activity asks the server, then takes over or fails). */
  'NotOwner',
  /** The caller's run is not the current one of its workflow: it must end and write nothing. */
  'Fenced',
  /** The same id with other content. */
  'KeyConflict',
  /** An append to a turn that is not open. */
  'TurnClosed',
  /** The log refuses an event: bracket, turn or surface rule. */
  'LogRejected',
  /** The head moved between a plan and its write (internal: plan again). */
  'HeadMoved',
  /** A compaction is open, or the caller refuses to wait. */
  'Busy',
  /** A region that does not name two surface nodes in order, or splits a pair. */
  'InvalidSpan',
  /** Too many waiting prompts. */
  'QueueFull',
  /** A waiting prompt that was taken back. */
  'Cancelled',
  /** The provider says that the request does not fit. Details: `{ generation }`. */
  'ContextOverflow',
  /** Nothing can make the request fit: names system, tools, tail and limit. */
  'ContextTooLarge',
  /** A provider's failure, after the retries. */
  'ModelFailed',
  /** No worker of the task queue answered, or none has this model or tool. */
  'WorkerUnavailable',
  /** A model or tool name that the worker does not have. */
  'UnknownModel',
  'UnknownTool',
  /** The store cannot be reached, is read-only, full or damaged. */
  'StoreUnavailable',
] as const

export type ErrorName = (typeof ERROR_NAMES)[number]

/** Undefined for a name of another release, or of somebody else's error. */
export const errorNameOf = (name: unknown): ErrorName | undefined =>
  ERROR_NAMES.find((known) => known === name)

/** An expected failure. `name` is one of {@link ERROR_NAMES}; `details` is small and serializable. */
export class SessionError extends Error {
  override readonly name: ErrorName
  readonly details: Readonly<Record<string, unknown>>

  constructor(name: ErrorName, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.name = name
    this.details = details
  }
}

/** Works across realms and after serialization, where `instanceof` can lie. */
export function isSessionError(error: unknown, name?: ErrorName): error is SessionError {
  if (typeof error !== 'object' || error === null || !('name' in error)) return false
  const found = (error as { name: unknown }).name
  return name === undefined ? (ERROR_NAMES as readonly unknown[]).includes(found) : found === name
}

/** What a failed compaction says of itself, in `compact/end`, in the outcome and to the caller. */
export const COMPACTION_ERROR_CODES = [
  'busy',
  'cancelled',
  'changed',
  'summary',
  'commit',
  'persistence',
  /** The archive could not be written: nothing was paid. */
  'archive',
  /** `beforeCompaction` failed, so that nobody allowed what a person or the model asked for. */
  'hook',
  'interrupted',
] as const
export type CompactionErrorCode = (typeof COMPACTION_ERROR_CODES)[number]

/** The codes that a person who asked for a compaction can meet; `interrupted` stands in the log only. */
export type ManualCompactionErrorCode = Exclude<CompactionErrorCode, 'interrupted'>

/** An expected failure of a compaction that somebody asked for. */
export class ManualCompactionError extends Error {
  override readonly name = 'ManualCompactionError'
  readonly code: CompactionErrorCode
  readonly compactionId: string | undefined

  constructor(code: CompactionErrorCode, message: string, compactionId?: string) {
    super(message)
    this.code = code
    this.compactionId = compactionId
  }
}
