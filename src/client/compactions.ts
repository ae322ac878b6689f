import { recordOfAttempt } from '../shared/compaction-record.ts'
import type { AttemptRow, SessionStore } from '../shared/ports/store.ts'
import type { CompactionRecord } from '../shared/protocol.ts'
import { keys } from '../shared/session/keys.ts'
import { totalOf, type UsageTotal } from '../shared/usage/ledger.ts'

/** A compaction of a session. Times are the store's. */
export interface SessionCompaction extends CompactionRecord {
  /** Seq of the event that put back what it replaced; absent while its checkpoint is in force or in a later one. */
  readonly undoneAt?: number
}

/** Records of attempts, in their order. */
export async function compactionRecords(
  store: SessionStore,
  sessionId: string,
  rows: readonly AttemptRow[],
): Promise<readonly (SessionCompaction & { readonly usage: UsageTotal })[]> {
  const undone = await undoneAt(
    store,
    sessionId,
    rows.map(({ compactionId }) => compactionId),
  )
  return rows.map((row) => ({
    ...recordOfAttempt(row),
    ...undone(row.compactionId),
    usage: totalOf(row.usage),
  }))
}

/** The workflow's records, with what the store knows better: an end that the workflow has yet to hear of, times, and undos. */
export async function recordsByStore(
  store: SessionStore,
  sessionId: string,
  records: readonly CompactionRecord[],
): Promise<readonly SessionCompaction[]> {
  const undone = await undoneAt(
    store,
    sessionId,
    records.map(({ compactionId }) => compactionId),
  )
  return Promise.all(
    records.map(async (record) => {
      const row = await store.attempt(sessionId, record.compactionId)
      if (row === null) return record
      const { startedAt } = row
      const stored = row.outcome === null ? { startedAt } : recordOfAttempt(row)
      return { ...record, ...stored, ...undone(record.compactionId) }
    }),
  )
}

async function undoneAt(
  store: SessionStore,
  sessionId: string,
  compactionIds: readonly string[],
): Promise<(compactionId: string) => Pick<SessionCompaction, 'undoneAt'>> {
  const events = await store.eventsByKeys(sessionId, compactionIds.map(keys.compactRestore))
  const seqs = new Map(events.map(({ key, seq }) => [key, seq]))
  return (compactionId) => {
    const seq = seqs.get(keys.compactRestore(compactionId))
    return seq === undefined ? {} : { undoneAt: seq }
  }
}
