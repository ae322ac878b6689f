import { SessionError } from '../shared/errors.ts'
import type { EventType, SessionEvent } from '../shared/session/events.ts'
import type { Sql } from './connection.ts'
import { decoded, type StoreContext, type StoredBody } from './store-context.ts'

/** An event as it is read inside a transaction; its body is decoded after it. */
export interface EventRow {
  readonly seq: number
  readonly key: string
  readonly type: EventType
  readonly turn: number | null
  readonly step: number | null
  readonly time: number
  readonly tokens: number
  readonly surface_op: string | null
  readonly source_seqs: string | null
  readonly body: StoredBody
}

/**
 * Begins a query of events; conditions follow, `session` first. Without statistics SQLite would rather read the whole session than use
 * one of our indexes, so every query that needs one names it.
 */
export const selectEvents = (index?: 'event_key'): string =>
  `SELECT seq, key, type, turn, step, time, tokens, surface_op, source_seqs, body FROM event ${
    index === undefined ? '' : `INDEXED BY ${index} `
  }JOIN body USING (session, seq)`

/** The recorded events of these keys, in the order of the keys. */
export function eventRowsOfKeys(sql: Sql, session: number, keys: readonly string[]): EventRow[] {
  const rows = sql.all<EventRow>(
    `${selectEvents('event_key')} WHERE session = ? AND key IN (SELECT value FROM json_each(?))`,
    session,
    JSON.stringify(keys),
  )
  const place = new Map(keys.map((key, position) => [key, position]))
  return rows.sort((a, b) => (place.get(a.key) ?? 0) - (place.get(b.key) ?? 0))
}

/** @throws SessionError `SessionNotFound` when a body was erased */
export async function toEvents(context: StoreContext, rows: readonly EventRow[]): Promise<SessionEvent[]> {
  const bodies = await decoded(
    context,
    rows.map((row) => row.body),
  )
  return rows.map((row, i) => toEvent(row, bodies[i]))
}

export function toEvent(row: EventRow, data: unknown): SessionEvent {
  if (data === null) {
    throw new SessionError(
      'SessionNotFound',
      `The body of event ${row.seq} (${row.type}) was erased: the session can no longer be read.`,
    )
  }
  const { seq, key, type, turn, step, time, tokens, surface_op, source_seqs } = row
  return {
    seq,
    key,
    type,
    turn,
    step,
    time,
    data,
    tokens,
    ...(surface_op === null ? {} : { surfaceOp: JSON.parse(surface_op) }),
    ...(source_seqs === null ? {} : { sourceEventSeqs: JSON.parse(source_seqs) }),
  } as SessionEvent
}
