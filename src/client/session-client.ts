import type { Client } from '@temporalio/client'
import { SessionError } from '../shared/errors.ts'
import { SESSION_ID_PATTERN } from '../shared/limits.ts'
import type { SessionRow, SessionStore } from '../shared/ports/store.ts'
import { DEFAULT_TASK_QUEUE } from '../shared/protocol.ts'
import { Session, type SessionOptions } from './session.ts'
import { type StartOptions, startSession } from './start-session.ts'

export interface SessionClientOptions {
  /** Temporal's client. */
  readonly client: Client
  /** The session store. Without it the client can only control: start, prompt inline, ask for compactions, query. */
  readonly store?: SessionStore
  /** Queue of sessions that do not name one. Default `durable-compaction`. */
  readonly taskQueue?: string
  /** How long a worker may take to answer before it counts as not there (`WorkerUnavailable`). Default 10,000; one that is not starved answers within a second. */
  readonly workerTimeoutMs?: number
}

const WORKER_TIMEOUT_MS = 10_000

/** Starts and finds sessions. Holds no state of its own: any process with the same server and store sees the same sessions. */
export class SessionClient {
  readonly #options: Omit<SessionOptions, 'sessionId'>

  constructor(options: SessionClientOptions) {
    this.#options = { taskQueue: DEFAULT_TASK_QUEUE, workerTimeoutMs: WORKER_TIMEOUT_MS, ...options }
  }

  /**
   * Starts a session, or returns the running one when nothing that is given differs from what it has (without a store: when all is as it was started with). One that was closed
   * goes on with its whole log: what is given replaces what it had, what is not given stays. Waits until the first activity has accepted the settings (`wait: false` skips).
   *
   * @throws SessionError `SessionConflict` (it runs, and has something else than what is given), `InvalidInput`, `InvalidPolicy`, `UnknownModel`, `UnknownTool`,
   * `WorkerUnavailable` (no worker answered in time)
   */
  async start(sessionId: string, options: StartOptions): Promise<Session> {
    const session = this.get(sessionId)
    await startSession({ ...this.#options, sessionId, options })
    return session
  }

  /** A handle; asks nobody whether the session exists. @throws SessionError `InvalidInput` for an id that cannot be one. */
  get(sessionId: string): Session {
    if (!SESSION_ID_PATTERN.test(sessionId)) {
      throw new SessionError(
        'InvalidInput',
        `A session id has 1 to 64 characters of A-Z a-z 0-9 . _ -, got ${JSON.stringify(sessionId.slice(0, 80))}.`,
      )
    }
    return new Session({ ...this.#options, sessionId })
  }

  /** Sessions of the store, newest activity first. @throws SessionError `InvalidInput` without a store */
  async list(options: { readonly limit?: number } = {}): Promise<readonly SessionRow[]> {
    if (this.#options.store === undefined)
      throw new SessionError('InvalidInput', 'list needs a store: give one to the SessionClient.')
    return this.#options.store.sessions(options)
  }
}
