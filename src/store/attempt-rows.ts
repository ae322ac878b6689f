import type { AttemptRow, AttemptsQuery, StoredSummary } from '../shared/ports/store.ts'
import type { Sql } from './connection.ts'
import { loadSession } from './session-rows.ts'
import { decoded, type StoreContext, type StoredBody } from './store-context.ts'

/** A row as it is read inside a transaction: its summary is decoded after it. */
export interface StoredAttempt {
  readonly row: AttemptRow
  readonly summary: StoredBody | null
}

interface SqlAttempt {
  readonly session_id: string
  readonly state: AttemptRow['state']
  readonly life: number
  readonly input: string
  readonly plan: string | null
  readonly start_seq: number | null
  readonly summary: StoredBody | null
  readonly outcome: string | null
  readonly usage: string
  readonly started_at: number
  readonly ended_at: number | null
}

const SELECT =
  'SELECT session_id, state, life, input, plan, start_seq, summary, outcome, usage, started_at, ended_at FROM attempt JOIN session ON session.id = attempt.session'

export function findAttempt(sql: Sql, session: number, compactionId: string): StoredAttempt | null {
  const row = sql.one<SqlAttempt>(`${SELECT} WHERE session = ? AND compaction_id = ?`, session, compactionId)
  return row === undefined ? null : fromSql(row)
}

export async function attempt(
  context: StoreContext,
  sessionId: string,
  compactionId: string,
): Promise<AttemptRow | null> {
  const found = await context.connection.read((sql) =>
    findAttempt(sql, loadSession(sql, sessionId).id, compactionId),
  )
  return found === null ? null : toAttemptRow(context, found)
}

export async function attempts(
  context: StoreContext,
  { sessionId, state, limit = 1000 }: AttemptsQuery,
): Promise<AttemptRow[]> {
  const conditions = [
    sessionId === undefined ? [] : ['session = ?1'],
    // Words of the index `attempt_open`, which the reconciler's query needs.
    state === undefined ? [] : [state === 'open' ? "state = 'open'" : 'state = ?2'],
  ].flat()
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const found = await context.connection.read((sql) =>
    sql.all<SqlAttempt>(
      `${SELECT} ${where} ORDER BY attempt.id DESC LIMIT ?3`,
      sessionId === undefined ? null : loadSession(sql, sessionId).id,
      state ?? null,
      limit,
    ),
  )
  return Promise.all(found.map((row) => toAttemptRow(context, fromSql(row))))
}

export async function attemptUsage(
  context: StoreContext,
  sessionId: string,
): Promise<Pick<AttemptRow, 'compactionId' | 'usage'>[]> {
  const found = await context.connection.read((sql) =>
    sql.all<{ readonly compaction_id: string; readonly usage: string }>(
      "SELECT compaction_id, usage FROM attempt WHERE session = ? AND usage <> '[]'",
      loadSession(sql, sessionId).id,
    ),
  )
  return found.map(({ compaction_id, usage }) => ({
    compactionId: compaction_id,
    usage: JSON.parse(usage),
  }))
}

export async function toAttemptRow(
  context: StoreContext,
  { row, summary }: StoredAttempt,
): Promise<AttemptRow> {
  if (summary === null) return row
  const [value] = await decoded(context, [summary])
  return value === null ? row : { ...row, summary: value as StoredSummary }
}

function fromSql(row: SqlAttempt): StoredAttempt {
  return {
    row: {
      ...JSON.parse(row.input),
      sessionId: row.session_id,
      state: row.state,
      life: row.life,
      plan: row.plan === null ? null : JSON.parse(row.plan),
      startSeq: row.start_seq,
      outcome: row.outcome === null ? null : JSON.parse(row.outcome),
      usage: JSON.parse(row.usage),
      startedAt: row.started_at,
      endedAt: row.ended_at,
    },
    summary: row.summary,
  }
}
