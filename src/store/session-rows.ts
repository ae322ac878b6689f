import { SessionError } from '../shared/errors.ts'
import { SESSION_ID_PATTERN } from '../shared/limits.ts'
import type { Actor, ActorInput, SessionRow } from '../shared/ports/store.ts'
import type { Header } from '../shared/session/events.ts'
import type { LogControl } from '../shared/session/log-control.ts'
import type { Sql } from './connection.ts'
import { decoded, type StoreContext, type StoredBody, type Tx } from './store-context.ts'

/** A session's row, without its header. */
export interface StoredSession {
  readonly id: number
  readonly sessionId: string
  readonly owner: Actor
  readonly lifeRunId: string
  readonly fence: number
  readonly control: LogControl
  readonly createdAt: number
  readonly updatedAt: number
}

interface SqlSession {
  readonly id: number
  readonly session_id: string
  readonly workflow_id: string
  readonly run_id: string
  readonly life_run_id: string
  readonly fence: number
  readonly control: string
  readonly created_at: number
  readonly updated_at: number
}

export function findSession(sql: Sql, sessionId: string): StoredSession | null {
  if (!SESSION_ID_PATTERN.test(sessionId)) return null
  const row = sql.one<SqlSession>('SELECT * FROM session WHERE session_id = ?', sessionId)
  return row === undefined ? null : fromSql(row)
}

export const newestSessions = (sql: Sql, limit: number): StoredSession[] =>
  sql.all<SqlSession>('SELECT * FROM session ORDER BY updated_at DESC, id DESC LIMIT ?', limit).map(fromSql)

/** @throws SessionError `SessionNotFound` */
export function loadSession(sql: Sql, sessionId: string): StoredSession {
  const session = findSession(sql, sessionId)
  if (session !== null) return session
  throw new SessionError(
    'SessionNotFound',
    `Session ${JSON.stringify(sessionId)} is not in the store: start it first.`,
    { sessionId },
  )
}

/** @throws SessionError `SessionNotFound`; `NotOwner` {owner, fence} when another run owns the session */
export function ownedSession({ sql }: Tx, { sessionId, actor }: ActorInput): StoredSession {
  const session = loadSession(sql, sessionId)
  if (isOwner(session, actor)) return session
  throw notOwner(session, actor)
}

export const isOwner = ({ owner }: StoredSession, actor: Actor): boolean =>
  owner.workflowId === actor.workflowId && owner.runId === actor.runId

export function notOwner({ sessionId, owner, fence }: StoredSession, actor: Actor): SessionError {
  return new SessionError(
    'NotOwner',
    `Run ${actor.runId} of workflow ${actor.workflowId} does not own session ${sessionId}; run ${owner.runId} of ${owner.workflowId} does: ask the server, then take over or stop.`,
    { owner: { ...owner }, fence },
  )
}

/** Reads the headers inside the transaction, so that row and header fit. */
export function headerBodies(sql: Sql, sessions: readonly StoredSession[]): StoredBody[] {
  return sessions.map(({ id, sessionId, control }) => {
    const row = sql.one<{ body: StoredBody }>(
      'SELECT body FROM body WHERE session = ? AND seq = ?',
      id,
      control.headerSeq,
    )
    if (row === undefined)
      throw new SessionError(
        'StoreUnavailable',
        `Session ${sessionId} has no header: the store is damaged, restore it from a backup.`,
      )
    return row.body
  })
}

export async function toSessionRows(
  context: StoreContext,
  sessions: readonly StoredSession[],
  headers: readonly StoredBody[],
): Promise<SessionRow[]> {
  const values = await decoded(context, headers)
  return sessions.map((session, i) => toSessionRow(session, values[i] as Header | null))
}

function toSessionRow(session: StoredSession, header: Header | null): SessionRow {
  const { sessionId, owner, lifeRunId, fence, control, createdAt, updatedAt } = session
  if (header === null)
    throw new SessionError('SessionNotFound', `Session ${sessionId} was erased.`, { sessionId })
  return {
    sessionId,
    owner,
    lifeRunId,
    fence,
    life: control.life,
    closed: control.closed,
    head: control.nextSeq,
    generation: control.generation,
    openTurn: control.openTurn,
    lastTurn: control.lastTurn,
    openStep: control.lastStep,
    openCompactionId: control.bracket?.compactionId ?? null,
    headerSeq: control.headerSeq ?? 0,
    header,
    usage: control.usage,
    createdAt,
    updatedAt,
  }
}

function fromSql(row: SqlSession): StoredSession {
  return {
    id: row.id,
    sessionId: row.session_id,
    owner: { workflowId: row.workflow_id, runId: row.run_id },
    lifeRunId: row.life_run_id,
    fence: row.fence,
    control: JSON.parse(row.control),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
