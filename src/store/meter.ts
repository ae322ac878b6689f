import type { ActorInput } from '../shared/ports/store.ts'
import type { Sql } from './connection.ts'
import { loadSession, ownedSession } from './session-rows.ts'
import { type StoreContext, write } from './store-context.ts'

export async function meter(context: StoreContext, sessionId: string): Promise<unknown> {
  const row = await context.connection.read((sql) =>
    sql.one<{ meter: string }>('SELECT meter FROM reading WHERE session = ?', loadSession(sql, sessionId).id),
  )
  return row === undefined ? null : JSON.parse(row.meter)
}

export async function putMeter(context: StoreContext, input: ActorInput & { meter: unknown }): Promise<void> {
  await write(context, [], (tx) => saveMeter(tx.sql, ownedSession(tx, input).id, input.meter))
}

/** Undefined leaves the meter as it is. */
export function saveMeter(sql: Sql, session: number, state: unknown): void {
  if (state === undefined) return
  sql.run(
    'INSERT INTO reading (session, meter) VALUES (?, ?) ON CONFLICT (session) DO UPDATE SET meter = excluded.meter',
    session,
    JSON.stringify(state),
  )
}
