import type Database from 'libsql'
import { SessionError } from '../shared/errors.ts'
import { CONTROL_REQUESTS, SCHEMA } from './schema.ts'
import { USAGE_SUMS } from './usage-sums.ts'

/** One entry per version of the file, in order; an entry that was released never changes. */
const MIGRATIONS: readonly string[] = [SCHEMA, CONTROL_REQUESTS, USAGE_SUMS]

/**
 * Brings the file to this version, in one transaction.
 *
 * @throws SessionError `StoreUnavailable` for a file of a newer version, or of another program
 */
export function migrate(database: Database.Database, path: string): void {
  if (versionOf(database) === MIGRATIONS.length) return
  database.exec('BEGIN IMMEDIATE')
  try {
    const version = versionOf(database)
    refuseForeign(database, version, path)
    for (const migration of MIGRATIONS.slice(version)) database.exec(migration)
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
    database.exec('COMMIT')
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function refuseForeign(database: Database.Database, version: number, path: string): void {
  if (version > MIGRATIONS.length) {
    throw new SessionError(
      'StoreUnavailable',
      `The session store ${path} has version ${version}, this release reads up to ${MIGRATIONS.length}: update durable-compaction.`,
      { path, version, supported: MIGRATIONS.length },
    )
  }
  if (version > 0) return
  const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_master').get() as {
    tables: number
  }
  if (tables === 0) return
  throw new SessionError(
    'StoreUnavailable',
    `The file ${path} holds another program's database: name a file of its own for the session store.`,
    { path },
  )
}

function versionOf(database: Database.Database): number {
  return (database.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
}
