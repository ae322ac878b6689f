import { setImmediate as nextTurnOfLoop } from 'node:timers/promises'
import type { SearchOptions } from '../shared/ports/store.ts'
import { contentText, RECALLED_TYPES } from '../shared/recall/event-text.ts'
import { foldCase } from '../shared/recall/fold-case.ts'
import type { ContentBlock } from '../shared/session/content.ts'
import type { SessionEvent } from '../shared/session/events.ts'
import { type EventRow, selectEvents, toEvent } from './event-rows.ts'
import { loadSession } from './session-rows.ts'
import { decoded, type StoreContext } from './store-context.ts'

/** Rows read at once, each as large as an output may be; between two pages the thread is free. */
const PAGE = 20

/** Reads the log from its end until enough is found, then the checkpoints that were replaced: they only retell it. */
export async function search(
  context: StoreContext,
  sessionId: string,
  text: string,
  { limit = 20, skip = 0, left = false, exceptTool }: SearchOptions = {},
): Promise<SessionEvent[]> {
  const wanted = foldCase(text)
  if (wanted === '') return []
  const found: SessionEvent[] = []
  for (const checkpoints of [false, true]) {
    for await (const event of candidates(context, sessionId, { left, checkpoints })) {
      if (!holds(event, wanted, exceptTool)) continue
      found.push(event)
      if (found.length >= skip + limit) return found.slice(skip)
    }
  }
  return found.slice(skip)
}

interface Where {
  readonly left: boolean
  readonly checkpoints: boolean
}

/** Newest first, without erased ones. */
async function* candidates(
  context: StoreContext,
  sessionId: string,
  where: Where,
): AsyncGenerator<SessionEvent> {
  for (let before = Number.MAX_SAFE_INTEGER; ; await nextTurnOfLoop()) {
    const rows = await page(context, sessionId, before, where)
    const bodies = await decoded(
      context,
      rows.map((row) => row.body),
    )
    for (const [i, row] of rows.entries()) if (bodies[i] !== null) yield toEvent(row, bodies[i])
    const oldest = rows.at(-1)
    if (oldest === undefined || rows.length < PAGE) return
    before = oldest.seq
  }
}

/** Shadow copies are left out: their originals hold the same words. A replacing message is a checkpoint. */
const page = (
  context: StoreContext,
  sessionId: string,
  before: number,
  { left, checkpoints }: Where,
): Promise<EventRow[]> =>
  context.connection.read((sql) =>
    sql.all<EventRow>(
      `${selectEvents()} WHERE session = ? AND seq < ? AND type IN (SELECT value FROM json_each(?))
       AND ${checkpoints ? `type = 'user/message' AND surface_op <> '"append"'` : `(surface_op = '"append"' OR surface_op IS NULL)`}
       ${left ? `AND (shadowed_by IS NOT NULL OR surface_order IS NULL)` : ''} ORDER BY seq DESC LIMIT ?`,
      loadSession(sql, sessionId).id,
      before,
      JSON.stringify(RECALLED_TYPES),
      PAGE,
    ),
  )

/** A result that was cut holds nothing that its whole output does not. */
function holds({ type, data }: SessionEvent, wanted: string, exceptTool: string | undefined): boolean {
  if (type === 'tool/result' && (data.full !== undefined || data.name === exceptTool)) return false
  if (!('content' in data)) return false
  const content = data.content.filter((block) => !isCallOf(block, exceptTool))
  return foldCase(contentText(content)).includes(wanted)
}

const isCallOf = (block: ContentBlock, tool: string | undefined): boolean =>
  tool !== undefined && block.type === 'tool_use' && block['name'] === tool
