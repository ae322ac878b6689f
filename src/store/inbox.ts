import { createHash } from 'node:crypto'
import { SessionError } from '../shared/errors.ts'
import type { Delivery, InboxKind, InboxRow, InboxState, PutInbox } from '../shared/ports/inbox.ts'
import type { ActorInput, Append, AttemptInput, SessionStore } from '../shared/ports/store.ts'
import { canonicalJson } from '../shared/session/canonical-json.ts'
import type { TurnEndReason } from '../shared/session/events.ts'
import { wellFormed } from '../shared/session/well-formed.ts'
import type { Sql } from './connection.ts'
import { loadSession, ownedSession, type StoredSession } from './session-rows.ts'
import { decoded, type StoreContext, type StoredBody, type Tx, write } from './store-context.ts'

interface SqlInbox {
  readonly position: number
  readonly request_id: string
  readonly kind: InboxKind
  readonly delivery: Delivery | null
  readonly fingerprint: string
  readonly body: StoredBody
  readonly state: InboxState
  readonly accepted_at: number
  readonly outcome: string | null
}

interface Settlement {
  readonly requestId: string
  readonly state: InboxState
  readonly outcome?: unknown
}

export async function putInbox(context: StoreContext, input: PutInbox): Promise<InboxRow> {
  const json = bodyJson(input)
  const fingerprint = createHash('sha256').update(json, 'utf8').digest('hex')
  const { row, isNew } = await write(context, [json], (tx) => {
    const session = loadSession(tx.sql, input.sessionId)
    const known = findRow(tx.sql, session.id, input.requestId)
    if (known !== undefined) {
      if (known.fingerprint !== fingerprint || known.kind !== input.kind) throw conflict(input)
      return { row: known, isNew: false }
    }
    checkDoor(context, tx, session, input.kind)
    return { row: insertRow(tx, session, input, fingerprint, json), isNew: true }
  })
  const [stored] = await toInboxRows(context, input.sessionId, [row])
  if (stored === undefined) throw new Error('one request gives one row')
  return { ...stored, isNew }
}

export async function inbox(
  context: StoreContext,
  sessionId: string,
  query: Parameters<SessionStore['inbox']>[1] = {},
): Promise<InboxRow[]> {
  const rows = await context.connection.read((sql) =>
    sql.all<SqlInbox>(
      `SELECT * FROM inbox WHERE session = ?1 AND (?2 IS NULL OR state = ?2) AND (?3 IS NULL OR kind = ?3)
       AND (?4 IS NULL OR request_id IN (SELECT value FROM json_each(?4))) ORDER BY position LIMIT ?5`,
      loadSession(sql, sessionId).id,
      query.state ?? null,
      query.kind ?? null,
      query.requestIds === undefined ? null : JSON.stringify(wellFormed(query.requestIds)),
      query.limit ?? 1000,
    ),
  )
  return toInboxRows(context, sessionId, rows)
}

export async function settleInbox(
  context: StoreContext,
  input: ActorInput & { rows: readonly Settlement[] },
): Promise<void> {
  await write(context, [], (tx) => {
    const { id } = ownedSession(tx, input)
    for (const row of input.rows) settleRow(tx.sql, id, row)
  })
}

/** The rows of these messages now belong to a turn (null: to the log). */
export function markRunning(
  sql: Sql,
  session: number,
  requestIds: readonly string[],
  turn: number | null,
): void {
  for (const requestId of requestIds) {
    sql.run(
      `UPDATE inbox SET state = 'running', turn = ? WHERE session = ? AND request_id = ? AND state = 'waiting'`,
      turn,
      session,
      requestId,
    )
  }
}

/** The rows of a turn's messages get their outcome with its end. */
export function finishTurn(sql: Sql, session: number, turn: number, reason: TurnEndReason): void {
  sql.run(
    `UPDATE inbox SET state = 'done', outcome = ? WHERE session = ? AND state = 'running' AND turn = ?`,
    JSON.stringify({ turn, reason }),
    session,
    turn,
  )
}

/** The rows of those who asked for an attempt name it from now on; its outcome is in its own row. */
export function finishRequests(
  sql: Sql,
  session: number,
  { compactionId, requestIds = [] }: Pick<AttemptInput, 'compactionId' | 'requestIds'>,
): void {
  for (const requestId of requestIds)
    settleRow(sql, session, { requestId, state: 'done', outcome: { compactionId } })
}

/** Rows whose outcome is this write. */
export function settleDone(sql: Sql, session: number, rows: Append['settles'] = []): void {
  for (const row of rows) settleRow(sql, session, { ...row, state: 'done' })
}

/** A closed session serves no control request any more. */
export function refuseControls(sql: Sql, { id, sessionId }: StoredSession): void {
  sql.run(
    `UPDATE inbox SET state = 'refused', outcome = ? WHERE session = ? AND kind = 'control' AND state = 'waiting'`,
    JSON.stringify({
      error: `SessionClosed: Session ${sessionId} was closed before the request was served.`,
    }),
    id,
  )
}

/** A row that is settled stays as it is. */
function settleRow(sql: Sql, session: number, { requestId, state, outcome }: Settlement): void {
  sql.run(
    `UPDATE inbox SET state = ?, outcome = ? WHERE session = ? AND request_id = ? AND state IN ('waiting', 'running')`,
    state,
    outcome === undefined ? null : JSON.stringify(outcome),
    session,
    requestId,
  )
}

function bodyJson({ requestId, body }: PutInbox): string {
  const refused = (why: string) =>
    new SessionError(
      'InvalidInput',
      `The request ${JSON.stringify(requestId)} ${why}: pass content blocks or a request.`,
    )
  if (body === undefined) throw refused('has no body')
  try {
    return canonicalJson(wellFormed(body))
  } catch (error) {
    throw refused(`has a body that is no JSON (${(error as Error).message})`)
  }
}

function checkDoor(
  context: StoreContext,
  { sql }: Tx,
  { id, sessionId, control }: StoredSession,
  kind: InboxKind,
): void {
  if (control.closed) {
    throw new SessionError(
      'SessionClosed',
      `Session ${sessionId} was closed: start it again before the next ${kind}.`,
      { sessionId },
    )
  }
  const waiting = sql.one<{ rows: number }>(
    `SELECT count(*) AS rows FROM inbox WHERE session = ? AND state = 'waiting' AND kind = ?`,
    id,
    kind,
  )?.rows
  const limit = context.waitingPrompts
  if (waiting === undefined || waiting < limit) return
  throw new SessionError(
    'QueueFull',
    `Session ${sessionId} has ${waiting} waiting requests of kind ${kind}, allowed are ${limit}: send it again when some are done.`,
    {
      waiting,
      limit,
    },
  )
}

function insertRow(
  tx: Tx,
  session: StoredSession,
  input: PutInbox,
  fingerprint: string,
  json: string,
): SqlInbox {
  tx.sql.run(
    `INSERT INTO inbox (session, request_id, kind, delivery, fingerprint, body, state, accepted_at)
     VALUES (?, ?, ?, ?, ?, ?, 'waiting', ?)`,
    session.id,
    input.requestId,
    input.kind,
    input.delivery ?? null,
    fingerprint,
    tx.encode(json),
    session.control.nextSeq,
  )
  const row = findRow(tx.sql, session.id, input.requestId)
  if (row === undefined) throw new Error(`inbox row ${input.requestId} was written and is not there`)
  return row
}

const findRow = (sql: Sql, session: number, requestId: string): SqlInbox | undefined =>
  sql.one<SqlInbox>('SELECT * FROM inbox WHERE session = ? AND request_id = ?', session, requestId)

function conflict({ requestId, kind }: PutInbox): SessionError {
  return new SessionError(
    'KeyConflict',
    `The request id ${JSON.stringify(requestId)} was used before with other content: send this ${kind} with another id.`,
    {
      requestId,
    },
  )
}

async function toInboxRows(
  context: StoreContext,
  sessionId: string,
  rows: readonly SqlInbox[],
): Promise<InboxRow[]> {
  const bodies = await decoded(
    context,
    rows.map((row) => row.body),
  )
  return rows.map((row, i) => ({
    sessionId,
    requestId: row.request_id,
    kind: row.kind,
    body: bodies[i],
    ...(row.delivery === null ? {} : { delivery: row.delivery }),
    state: row.state,
    isNew: false,
    acceptedAt: row.accepted_at,
    position: row.position,
    outcome: row.outcome === null ? null : JSON.parse(row.outcome),
  }))
}
