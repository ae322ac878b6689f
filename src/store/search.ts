import { setImmediate as nextTurnOfLoop } from 'node:timers/promises'
import type { EventType, SessionEvent } from '../shared/session/events.ts'
import { type EventRow, selectEvents, toEvent } from './event-rows.ts'
import { loadSession } from './session-rows.ts'
import { decoded, type StoreContext } from './store-context.ts'

const SEARCHED: readonly EventType[] = ['user/message', 'assistant/message', 'tool/result', 'tool/output']
/** Rows read at once; between two pages the thread is free. */
const PAGE = 200

/** Reads the log from its end until enough is found. Shadow copies are left out: their originals hold the same words. */
export async function search(
  context: StoreContext,
  sessionId: string,
  text: string,
  { limit = 20 }: { limit?: number } = {},
): Promise<SessionEvent[]> {
  const wanted = text.toLowerCase()
  const found: SessionEvent[] = []
  if (wanted === '') return found
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await page(context, sessionId, before)
    const bodies = await decoded(
      context,
      rows.map((row) => row.body),
    )
    for (const [i, row] of rows.entries()) {
      if (!holds(bodies[i], wanted)) continue
      found.push(toEvent(row, bodies[i]))
      if (found.length >= limit) return found
    }
    const oldest = rows.at(-1)
    if (oldest === undefined || rows.length < PAGE) return found
    before = oldest.seq
    await nextTurnOfLoop()
  }
}

const page = (context: StoreContext, sessionId: string, before: number): Promise<EventRow[]> =>
  context.connection.read((sql) =>
    sql.all<EventRow>(
      `${selectEvents()} WHERE session = ? AND seq < ? AND type IN (SELECT value FROM json_each(?))
       AND NOT (type = 'tool/result' AND surface_op <> '"append"') ORDER BY seq DESC LIMIT ?`,
      loadSession(sql, sessionId).id,
      before,
      JSON.stringify(SEARCHED),
      PAGE,
    ),
  )

/** True when a string of the content holds the words; pictures are no words. */
function holds(value: unknown, wanted: string): boolean {
  if (typeof value === 'string') return value.toLowerCase().includes(wanted)
  if (Array.isArray(value)) return value.some((part) => holds(part, wanted))
  if (typeof value !== 'object' || value === null) return false
  if ('type' in value && value.type === 'base64') return false
  return Object.values(value).some((part) => holds(part, wanted))
}
