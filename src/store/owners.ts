import { SessionError } from '../shared/errors.ts'
import { SESSION_ID_PATTERN } from '../shared/limits.ts'
import type { ActorInput, CreateSession, SessionRow, TakeOver, Written } from '../shared/ports/store.ts'
import { canonicalJson } from '../shared/session/canonical-json.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { hash53, keys } from '../shared/session/keys.ts'
import { EMPTY_CONTROL } from '../shared/session/log-control.ts'
import { endOpenAttempt } from './attempts.ts'
import { checkedEvent, checkedEvents } from './checked-event.ts'
import type { Sql } from './connection.ts'
import { type EventRow, eventRowsOfKeys, selectEvents } from './event-rows.ts'
import { refuseControls } from './inbox.ts'
import { LogWriter } from './log-writer.ts'
import { recordedOr } from './recorded.ts'
import {
  findSession,
  headerBodies,
  isOwner,
  loadSession,
  notOwner,
  ownedSession,
  type StoredSession,
  toSessionRows,
} from './session-rows.ts'
import { type StoreContext, type StoredBody, type Tx, write } from './store-context.ts'
import { endTurnOf } from './turns.ts'

export async function createSession(context: StoreContext, input: CreateSession): Promise<SessionRow> {
  const { sessionId, actor, header } = input
  if (!SESSION_ID_PATTERN.test(sessionId)) {
    throw new SessionError(
      'InvalidInput',
      `A session id has 1 to 64 characters of A-Z a-z 0-9 . _ -, got ${JSON.stringify(sessionId)}.`,
    )
  }
  const digest = hash53(canonicalJson(header)).toString(36)
  const events = checkedEvents([
    {
      key: keys.session(),
      type: 'session/start',
      turn: null,
      step: null,
      data: { formatVersion: 1 },
      tokens: 0,
    },
    {
      key: keys.header(digest),
      type: 'request/header',
      turn: null,
      step: null,
      data: header,
      tokens: 0,
    },
  ])
  return sessionRow(
    context,
    events.map((event) => event.json),
    (tx) => {
      const known = findSession(tx.sql, sessionId)
      if (known !== null) {
        if (isOwner(known, actor)) return known
        throw notOwner(known, actor)
      }
      const created = insertSession(tx, input)
      const writer = new LogWriter(tx, created)
      writer.addAll(events)
      writer.save()
      return loadSession(tx.sql, sessionId)
    },
  )
}

function insertSession(tx: Tx, input: CreateSession): StoredSession {
  const { sessionId, actor, lifeRunId } = input
  tx.sql.run(
    `INSERT INTO session (session_id, workflow_id, run_id, life_run_id, fence, control, created_at, updated_at)
     VALUES (?, ?, ?, ?, 1, ?, ?, ?)`,
    sessionId,
    actor.workflowId,
    actor.runId,
    lifeRunId,
    JSON.stringify(EMPTY_CONTROL),
    tx.now,
    tx.now,
  )
  const session = loadSession(tx.sql, sessionId)
  recordLife(tx, session.id, 1, lifeRunId)
  recordRun(tx, session.id, input, 1, 1)
  return session
}

export async function takeOver(context: StoreContext, input: TakeOver): Promise<SessionRow> {
  const { sessionId, actor, lifeRunId, expectedFence } = input
  return sessionRow(context, [], (tx) => {
    const session = loadSession(tx.sql, sessionId)
    if (isOwner(session, actor)) return session
    // A run that was replaced once never owns the session again.
    if (ranBefore(tx.sql, session.id, actor.runId)) throw notOwner(session, actor)
    if (session.fence !== expectedFence) {
      throw new SessionError(
        'HeadMoved',
        `Session ${sessionId} has fence ${session.fence}, expected ${expectedFence}: ask the server again.`,
        {
          fence: session.fence,
          expectedFence,
        },
      )
    }
    changeOwner(tx, session, input, lifeRunId !== session.lifeRunId)
    return loadSession(tx.sql, sessionId)
  })
}

function changeOwner(
  tx: Tx,
  session: StoredSession,
  { actor, lifeRunId, sessionId }: TakeOver,
  isNewLife: boolean,
): void {
  const writer = new LogWriter(tx, session)
  const by = `run ${actor.runId} of workflow ${actor.workflowId} took over`
  endOpenAttempt(tx, session, writer, { code: 'interrupted', stage: 'takeover', message: `${by}.` })
  if (isNewLife) {
    const { openTurn } = writer.control
    if (openTurn !== null)
      endTurnOf(tx, session, writer, {
        turn: openTurn,
        reason: 'interrupted',
        message: `${by} in a new life.`,
      })
    const life = writer.control.life + 1
    writer.add(
      checkedEvent({
        key: keys.life(life),
        type: 'session/end-seed',
        turn: null,
        step: null,
        data: {},
        tokens: 0,
      }),
    )
    recordLife(tx, session.id, life, lifeRunId)
  }
  const fence = session.fence + 1
  recordRun(tx, session.id, { sessionId, actor }, writer.control.life, fence)
  tx.sql.run(
    'UPDATE session SET workflow_id = ?, run_id = ?, life_run_id = ?, fence = ? WHERE id = ?',
    actor.workflowId,
    actor.runId,
    lifeRunId,
    fence,
    session.id,
  )
  writer.save()
}

export async function closeSession(
  context: StoreContext,
  input: ActorInput & { requestId: string; reason?: string },
): Promise<Written> {
  const event: NewEvent = {
    key: keys.close(input.requestId),
    type: 'session/close',
    turn: null,
    step: null,
    data: input.reason === undefined ? {} : { reason: input.reason },
    tokens: 0,
  }
  const checked = checkedEvent(event)
  return recordedOr(context, [checked], (tx) => {
    const session = ownedSession(tx, input)
    const recorded = eventRowsOfKeys(tx.sql, session.id, [event.key])
    if (recorded.length > 0) return { session, recorded }
    if (session.control.closed) return { session, recorded: newestClose(tx.sql, session.id) }
    const writer = new LogWriter(tx, session)
    writer.add(checked)
    refuseControls(tx.sql, session)
    return writer.save()
  })
}

/** A session is closed once a life, whoever asked first. */
const newestClose = (sql: Sql, session: number): EventRow[] =>
  sql.all<EventRow>(
    `${selectEvents()} WHERE session = ? AND type = 'session/close' ORDER BY seq DESC LIMIT 1`,
    session,
  )

function recordLife({ sql, now }: Tx, session: number, life: number, lifeRunId: string): void {
  sql.run(
    'INSERT INTO life (session, life, life_run_id, started_at) VALUES (?, ?, ?, ?)',
    session,
    life,
    lifeRunId,
    now,
  )
}

function recordRun(
  { sql, now }: Tx,
  session: number,
  { actor }: ActorInput,
  life: number,
  fence: number,
): void {
  sql.run(
    'INSERT INTO run (session, run_id, workflow_id, life, fence, taken_at) VALUES (?, ?, ?, ?, ?, ?)',
    session,
    actor.runId,
    actor.workflowId,
    life,
    fence,
    now,
  )
}

const ranBefore = (sql: Sql, session: number, runId: string): boolean =>
  sql.one('SELECT 1 FROM run WHERE session = ? AND run_id = ?', session, runId) !== undefined

/** A write that returns the session's row, read in the same transaction. */
async function sessionRow(
  context: StoreContext,
  jsons: readonly string[],
  body: (tx: Tx) => StoredSession,
): Promise<SessionRow> {
  const [session, headers] = await write(context, jsons, (tx): [StoredSession, StoredBody[]] => {
    const stored = body(tx)
    return [stored, headerBodies(tx.sql, [stored])]
  })
  const [row] = await toSessionRows(context, [session], headers)
  if (row === undefined) throw new Error('one session gives one row')
  return row
}
