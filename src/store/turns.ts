import { SessionError } from '../shared/errors.ts'
import type { EndTurn, StartTurn, TurnRow, Written } from '../shared/ports/store.ts'
import type { EventType } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { turnClosed } from '../shared/session/log-rules.ts'
import { checkedEvents } from './checked-event.ts'
import type { Sql } from './connection.ts'
import { eventRowsOfKeys } from './event-rows.ts'
import { finishTurn, markRunning } from './inbox.ts'
import { LogWriter } from './log-writer.ts'
import { saveMeter } from './meter.ts'
import { recordedOr } from './recorded.ts'
import { loadSession, ownedSession, type StoredSession } from './session-rows.ts'
import { type StoreContext, type Tx, write } from './store-context.ts'
import { openCalls, type TurnEnd, type TurnMessage, turnEndEvents, turnStartEvents } from './turn-events.ts'

export async function startTurn(context: StoreContext, input: StartTurn): Promise<TurnRow> {
  const { requestId, messages } = input
  // The turn's number is known in the transaction only, and is no part of a message's body.
  const jsons = checkedEvents(turnStartEvents(1, requestId, messages)).map((event) => event.json)
  return write(context, jsons, (tx) => {
    const session = ownedSession(tx, input)
    const known = turnOfRequest(tx.sql, session, requestId)
    if (known !== null) return known
    if (session.control.closed) {
      throw new SessionError(
        'SessionClosed',
        `Session ${session.sessionId} was closed: start it again before the next prompt.`,
      )
    }
    if (messages.length === 0)
      throw new SessionError(
        'InvalidInput',
        `The turn of ${JSON.stringify(requestId)} has no message: pass its prompt.`,
      )
    const turn = session.control.lastTurn + 1
    const writer = new LogWriter(tx, session)
    const fresh = messages.filter((message) => writer.seqOfKey(keys.prompt(message.requestId)) === undefined)
    const [start] = writer.addAll(checkedEvents(turnStartEvents(turn, requestId, fresh)))
    markRunning(
      tx.sql,
      session.id,
      fresh.map((message) => message.requestId),
      turn,
    )
    writer.save()
    return { turn, requestId, status: 'new', step: 0, endReason: null, startSeq: start?.seq ?? 0 }
  })
}

export async function turnByRequest(
  context: StoreContext,
  sessionId: string,
  requestId: string,
): Promise<TurnRow | null> {
  return context.connection.read((sql) => turnOfRequest(sql, loadSession(sql, sessionId), requestId))
}

export async function endTurn(context: StoreContext, input: EndTurn): Promise<Written> {
  const events = checkedEvents(input.events ?? [])
  const eventKeys = events.map(({ event }) => event.key)
  return recordedOr(context, events, (tx) => {
    const session = ownedSession(tx, input)
    const ended = eventRowsOfKeys(tx.sql, session.id, [keys.turnEnd(input.turn)])
    if (ended.length > 0) return { session, recorded: ended }
    const recorded = eventRowsOfKeys(tx.sql, session.id, eventKeys)
    if (recorded.length > 0) return { session, recorded }
    if (session.control.openTurn !== input.turn) throw turnClosed(session.control, input.turn)
    const writer = new LogWriter(tx, session)
    writer.addAll(events)
    endTurnOf(tx, session, writer, input)
    saveMeter(tx.sql, session.id, input.meter)
    return writer.save()
  })
}

/** Ends the open turn: results of its open calls, its step, its end, and the inbox rows that it answered. */
export function endTurnOf(tx: Tx, session: StoredSession, writer: LogWriter, end: TurnEnd): void {
  writer.flush()
  const calls = openCalls(end.turn, messagesOf(tx.sql, session.id, end.turn))
  writer.addAll(checkedEvents(turnEndEvents(writer.control, end, calls)))
  finishTurn(tx.sql, session.id, end.turn, end.reason)
}

function messagesOf(sql: Sql, session: number, turn: number): TurnMessage[] {
  const rows = sql.all<{ type: EventType; step: number | null; facts: string; shadowed_by: number | null }>(
    `SELECT type, step, facts, shadowed_by FROM event INDEXED BY event_turn
     WHERE session = ? AND turn = ? AND type IN ('user/message', 'assistant/message', 'tool/result') ORDER BY seq`,
    session,
    turn,
  )
  return rows.map(({ type, step, facts, shadowed_by }) => ({
    type,
    step,
    facts: JSON.parse(facts),
    onSurface: shadowed_by === null,
  }))
}

/** The turn that a prompt opened, or that it joined. */
function turnOfRequest(sql: Sql, session: StoredSession, requestId: string): TurnRow | null {
  const opened =
    turnOfKey(sql, session.id, keys.turnStart(requestId)) ??
    turnOfKey(sql, session.id, keys.prompt(requestId))
  if (opened === null) return null
  const start = sql.one<{ seq: number; facts: string }>(
    "SELECT seq, facts FROM event INDEXED BY event_turn WHERE session = ? AND turn = ? AND type = 'turn/start'",
    session.id,
    opened,
  )
  const end = sql.one<{ facts: string }>(
    'SELECT facts FROM event WHERE session = ? AND key = ?',
    session.id,
    keys.turnEnd(opened),
  )
  const newest = sql.one<{ step: number | null }>(
    "SELECT max(step) AS step FROM event INDEXED BY event_turn WHERE session = ? AND turn = ? AND type = 'step/start'",
    session.id,
    opened,
  )
  if (start === undefined) return null
  return {
    turn: opened,
    requestId: JSON.parse(start.facts).requestId,
    status: end === undefined ? 'resumed' : 'ended',
    step: newest?.step ?? 0,
    endReason: end === undefined ? null : JSON.parse(end.facts).reason,
    startSeq: start.seq,
  }
}

const turnOfKey = (sql: Sql, session: number, key: string): number | null =>
  sql.one<{ turn: number | null }>('SELECT turn FROM event WHERE session = ? AND key = ?', session, key)
    ?.turn ?? null
