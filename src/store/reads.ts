import type { EventsQuery, SessionRow, SurfaceMeasure, SurfaceSnapshot } from '../shared/ports/store.ts'
import type { EventType, SessionEvent, SurfaceNode } from '../shared/session/events.ts'
import { type EventRow, eventRowsOfKeys, selectEvents, toEvents } from './event-rows.ts'
import {
  findSession,
  headerBodies,
  loadSession,
  newestSessions,
  type StoredSession,
  toSessionRows,
} from './session-rows.ts'
import type { StoreContext, StoredBody } from './store-context.ts'

const SURFACE = 'session = ? AND shadowed_by IS NULL AND surface_order IS NOT NULL ORDER BY surface_order'

export async function session(context: StoreContext, sessionId: string): Promise<SessionRow | null> {
  const [row] = await sessionRows(context, (found) => {
    const one = findSession(found, sessionId)
    return one === null ? [] : [one]
  })
  return row ?? null
}

export const sessions = (
  context: StoreContext,
  { limit = 100 }: { limit?: number } = {},
): Promise<SessionRow[]> => sessionRows(context, (sql) => newestSessions(sql, limit))

type Find = (sql: Parameters<typeof findSession>[0]) => StoredSession[]

async function sessionRows(context: StoreContext, find: Find): Promise<SessionRow[]> {
  const [found, headers] = await context.connection.read((sql): [StoredSession[], StoredBody[]] => {
    const rows = find(sql)
    return [rows, headerBodies(sql, rows)]
  })
  return toSessionRows(context, found, headers)
}

export async function events(
  context: StoreContext,
  sessionId: string,
  { after = -1, limit = 1000, types, turn }: EventsQuery = {},
): Promise<SessionEvent[]> {
  const index =
    turn !== undefined ? 'INDEXED BY event_turn' : types !== undefined ? 'INDEXED BY event_type' : ''
  const ofTypes = types === undefined ? '' : 'AND type IN (SELECT value FROM json_each(?4))'
  const ofTurn = turn === undefined ? '' : 'AND turn = ?5'
  // Bodies are read for the events found, not for those passed over.
  const found = `SELECT seq FROM event ${index} WHERE session = ?1 AND seq > ?2 ${ofTypes} ${ofTurn} ORDER BY seq LIMIT ?3`
  const rows = await context.connection.read((sql) =>
    sql.all<EventRow>(
      `${selectEvents()} WHERE session = ?1 AND seq IN (${found}) ORDER BY seq`,
      loadSession(sql, sessionId).id,
      after,
      limit,
      types === undefined ? null : JSON.stringify(types),
      turn ?? null,
    ),
  )
  return toEvents(context, rows)
}

export async function eventsByKeys(
  context: StoreContext,
  sessionId: string,
  keys: readonly string[],
): Promise<SessionEvent[]> {
  const rows = await context.connection.read((sql) =>
    eventRowsOfKeys(sql, loadSession(sql, sessionId).id, keys),
  )
  return toEvents(context, rows)
}

export async function eventByKey(
  context: StoreContext,
  sessionId: string,
  key: string,
): Promise<SessionEvent | null> {
  const [event] = await eventsByKeys(context, sessionId, [key])
  return event ?? null
}

export async function countEvents(
  context: StoreContext,
  sessionId: string,
  type: EventType,
): Promise<number> {
  const row = await context.connection.read((sql) =>
    sql.one<{ events: number }>(
      'SELECT count(*) AS events FROM event WHERE session = ? AND type = ?',
      loadSession(sql, sessionId).id,
      type,
    ),
  )
  return row?.events ?? 0
}

export async function surface(context: StoreContext, sessionId: string): Promise<SurfaceSnapshot> {
  const { control, rows } = await context.connection.read((sql) => {
    const found = loadSession(sql, sessionId)
    return { control: found.control, rows: sql.all<EventRow>(`${selectEvents()} WHERE ${SURFACE}`, found.id) }
  })
  return {
    head: control.nextSeq,
    generation: control.generation,
    nodes: (await toEvents(context, rows)) as SurfaceNode[],
  }
}

export async function measure(context: StoreContext, sessionId: string): Promise<SurfaceMeasure> {
  return context.connection.read((sql) => {
    const { id, control } = loadSession(sql, sessionId)
    const rows = sql.all<SurfaceMeasure['nodes'][number]>(
      `SELECT seq, type, tokens FROM event WHERE ${SURFACE}`,
      id,
    )
    return {
      head: control.nextSeq,
      generation: control.generation,
      nodes: rows.map(({ seq, type, tokens }) => ({ seq, type, tokens })),
    }
  })
}
