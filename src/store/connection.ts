import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'libsql'
import { SessionError } from '../shared/errors.ts'
import { migrate } from './migrations.ts'
import { isBusy, storeError } from './sql-error.ts'

/** What SQLite stores. */
export type SqlValue = string | number | null | Uint8Array

/** Statements of one transaction. */
export interface Sql {
  /** Number of rows that changed. */
  run(statement: string, ...values: SqlValue[]): number
  one<Row>(statement: string, ...values: SqlValue[]): Row | undefined
  all<Row>(statement: string, ...values: SqlValue[]): Row[]
}

/** Longer waits inside SQLite would stop the heartbeats of the activities that share the thread. */
const BUSY_TIMEOUT_MS = 50
/** Waits outside, in which the thread is free. */
const RETRY_MS = { first: 5, most: 100 }

export interface ConnectionOptions {
  /** Largest size of the file. Default: none. */
  readonly fileBytes?: number
  /** After this long a lock is a failure. Default 15,000: the store's activities have 30 s. */
  readonly giveUpMs?: number
}

/**
 * One connection to one file. Transactions are synchronous, so they never interleave within the process; between processes
 * SQLite's lock decides, and who finds it taken tries again later. The file is opened by the first transaction.
 */
export class Connection {
  readonly path: string
  readonly #options: ConnectionOptions
  #database: Database.Database | undefined
  readonly #statements = new Map<string, Database.Statement>()
  #closed = false

  constructor(path: string, options: ConnectionOptions = {}) {
    this.path = path
    this.#options = options
  }

  /** Runs `body` in one immediate transaction: all of it is durable when the promise resolves, or none. `body` may run again. */
  write<T>(body: (sql: Sql) => T): Promise<T> {
    return this.#retried('BEGIN IMMEDIATE', body)
  }

  /** Runs `body` on one consistent snapshot. */
  read<T>(body: (sql: Sql) => T): Promise<T> {
    return this.#retried('BEGIN', body)
  }

  close(): void {
    this.#closed = true
    this.#release()
  }

  async #retried<T>(begin: string, body: (sql: Sql) => T): Promise<T> {
    const deadline = performance.now() + (this.#options.giveUpMs ?? 15_000)
    for (let waitMs = RETRY_MS.first; ; waitMs = Math.min(2 * waitMs, RETRY_MS.most)) {
      try {
        return this.#transaction(begin, body)
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw storeError(error, this.path)
      }
      await sleep(waitMs * (0.5 + Math.random()))
    }
  }

  #transaction<T>(begin: string, body: (sql: Sql) => T): T {
    const database = this.#open()
    this.#prepared(begin).run([])
    try {
      const result = body(this.#sql)
      this.#prepared('COMMIT').run([])
      return result
    } catch (error) {
      // A full disk has rolled back by itself.
      if (database.inTransaction) this.#rollback()
      throw error
    }
  }

  #rollback(): void {
    try {
      this.#prepared('ROLLBACK').run([])
    } catch {
      this.#release()
    }
  }

  #open(): Database.Database {
    if (this.#database !== undefined) return this.#database
    if (this.#closed) throw new Error('The database connection is not open')
    const database = new Database(this.path, { timeout: BUSY_TIMEOUT_MS })
    this.#database = database
    try {
      for (const setting of ['journal_mode = WAL', 'synchronous = FULL']) database.pragma(setting)
      this.#limitSize(database)
      migrate(database, this.path)
    } catch (error) {
      this.#release()
      throw error
    }
    return database
  }

  #limitSize(database: Database.Database): void {
    const { fileBytes } = this.#options
    if (fileBytes === undefined) return
    const { page_size } = database.prepare('PRAGMA page_size').get([]) as { page_size: number }
    database.pragma(`max_page_count = ${Math.max(1, Math.floor(fileBytes / page_size))}`)
  }

  /** Statements keep the file open until they are collected, so the log is emptied into the file here. */
  #release(): void {
    const database = this.#database
    this.#database = undefined
    this.#statements.clear()
    if (database === undefined) return
    try {
      database.pragma('wal_checkpoint(TRUNCATE)')
    } catch {
      // Another process may be reading, or the file is damaged: the log stays beside it and nothing is lost.
    }
    database.close()
  }

  #prepared(statement: string): Database.Statement {
    const known = this.#statements.get(statement)
    if (known !== undefined) return known
    const prepared = this.#open().prepare(statement)
    this.#statements.set(statement, prepared)
    return prepared
  }

  readonly #sql: Sql = {
    run: (statement, ...values) => this.#prepared(statement).run(values.map(checked)).changes,
    one: <Row>(statement: string, ...values: SqlValue[]) =>
      this.#prepared(statement).get(values.map(checked)) as Row | undefined,
    all: <Row>(statement: string, ...values: SqlValue[]) =>
      this.#prepared(statement).all(values.map(checked)) as Row[],
  }
}

/** The driver cuts text at U+0000 without a word, and ends the process on a value that is none of SQLite's. */
function checked(value: unknown): SqlValue {
  if (value === null || value instanceof Uint8Array) return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'string' && !value.includes('\0')) return value
  const got = typeof value === 'string' ? 'text with U+0000' : String(value)
  throw new SessionError(
    'InvalidInput',
    `The store takes text without U+0000, finite numbers and null, got ${got}: correct the id or number that was passed.`,
  )
}
