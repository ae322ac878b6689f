import { LIMITS } from '../shared/limits.ts'
import type { BodyCodec } from '../shared/ports/body-codec.ts'
import type { Clock } from '../shared/ports/clock.ts'
import type { SessionStore } from '../shared/ports/store.ts'
import { append } from './append.ts'
import { attempt, attempts, attemptUsage } from './attempt-rows.ts'
import { closeAttempt, commitAttempt, openAttempt, recordSummary } from './attempts.ts'
import { Connection } from './connection.ts'
import { inbox, putInbox, settleInbox } from './inbox.ts'
import { deltas, putDelta } from './live-text.ts'
import { meter, putMeter } from './meter.ts'
import { closeSession, createSession, takeOver } from './owners.ts'
import { recordCall } from './paid-calls.ts'
import {
  countEvents,
  eventByKey,
  events,
  eventsByKeys,
  measure,
  session,
  sessions,
  surface,
} from './reads.ts'
import { search } from './search.ts'
import type { StoreContext } from './store-context.ts'
import { endTurn, startTurn, turnByRequest } from './turns.ts'

export interface SqliteStoreOptions {
  /** The file; its folder must exist. Shared by all processes of one host, never over a network file system. */
  readonly path: string
  /** Default: the system's clock. */
  readonly now?: Clock
  /** Default: bodies are stored as they are. */
  readonly codec?: BodyCodec
  readonly limits?: {
    /** Prompts, and compaction requests, that may wait in one session. Default 100. */
    readonly waitingPrompts?: number
    /** Largest size of the file; a write beyond it is `StoreUnavailable` and leaves nothing. Default: what the disk holds. */
    readonly fileBytes?: number
  }
}

/**
 * The embedded session store: one SQLite file in WAL mode, `synchronous=FULL`. Opens the file with the first call, creates and
 * migrates it; every failure to do so is a `StoreUnavailable` of that call, and the next call tries again.
 */
export function sqliteStore({ path, now = Date.now, codec, limits }: SqliteStoreOptions): SessionStore {
  const connection = new Connection(
    path,
    limits?.fileBytes === undefined ? {} : { fileBytes: limits.fileBytes },
  )
  const context: StoreContext = {
    connection,
    codec: codec ?? null,
    clock: now,
    waitingPrompts: limits?.waitingPrompts ?? LIMITS.waitingPrompts,
  }
  return {
    createSession: (input) => createSession(context, input),
    session: (sessionId) => session(context, sessionId),
    sessions: (options) => sessions(context, options),
    takeOver: (input) => takeOver(context, input),
    closeSession: (input) => closeSession(context, input),
    append: (input) => append(context, input),
    events: (sessionId, query) => events(context, sessionId, query),
    eventByKey: (sessionId, key) => eventByKey(context, sessionId, key),
    eventsByKeys: (sessionId, keys) => eventsByKeys(context, sessionId, keys),
    countEvents: (sessionId, type) => countEvents(context, sessionId, type),
    surface: (sessionId) => surface(context, sessionId),
    measure: (sessionId) => measure(context, sessionId),
    search: (sessionId, text, options) => search(context, sessionId, text, options),
    startTurn: (input) => startTurn(context, input),
    turnByRequest: (sessionId, requestId) => turnByRequest(context, sessionId, requestId),
    endTurn: (input) => endTurn(context, input),
    openAttempt: (input) => openAttempt(context, input),
    attempt: (sessionId, compactionId) => attempt(context, sessionId, compactionId),
    attempts: (query) => attempts(context, query),
    attemptUsage: (sessionId) => attemptUsage(context, sessionId),
    recordCall: (input) => recordCall(context, input),
    recordSummary: (input) => recordSummary(context, input),
    commitAttempt: (input) => commitAttempt(context, input),
    closeAttempt: (input) => closeAttempt(context, input),
    putInbox: (input) => putInbox(context, input),
    inbox: (sessionId, query) => inbox(context, sessionId, query),
    settleInbox: (input) => settleInbox(context, input),
    meter: (sessionId) => meter(context, sessionId),
    putMeter: (input) => putMeter(context, input),
    putDelta: (input) => putDelta(context, input),
    deltas: (sessionId, key) => deltas(context, sessionId, key),
    close: async () => connection.close(),
  }
}
