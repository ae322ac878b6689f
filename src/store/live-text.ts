import { keys } from '../shared/session/keys.ts'
import { wellFormed } from '../shared/session/well-formed.ts'
import { loadSession } from './session-rows.ts'
import { decoded, type StoreContext, type StoredBody, write } from './store-context.ts'

interface Delta {
  readonly sessionId: string
  readonly key: string
  readonly index: number
  readonly text: string
}

/** Index 0 begins the message anew: the deltas of an earlier try leave. Text for a message that has landed, or whose turn has ended, is dropped. */
export async function putDelta(context: StoreContext, { sessionId, key, index, text }: Delta): Promise<void> {
  const json = JSON.stringify(wellFormed(text))
  await write(context, [json], ({ sql, encode }) => {
    const { id } = loadSession(sql, sessionId)
    const isOver = sql.one(
      'SELECT 1 FROM event WHERE session = ? AND key IN (?, ?)',
      id,
      key,
      keys.turnEndOf(key),
    )
    if (isOver !== undefined) return
    if (index === 0) sql.run('DELETE FROM delta WHERE session = ? AND key = ?', id, key)
    sql.run(
      'INSERT OR REPLACE INTO delta (session, key, position, body) VALUES (?, ?, ?, ?)',
      id,
      key,
      index,
      encode(json),
    )
  })
}

export async function deltas(
  context: StoreContext,
  sessionId: string,
  key: string,
): Promise<{ index: number; text: string }[]> {
  const rows = await context.connection.read((sql) =>
    sql.all<{ position: number; body: StoredBody }>(
      'SELECT position, body FROM delta WHERE session = ? AND key = ? ORDER BY position',
      loadSession(sql, sessionId).id,
      key,
    ),
  )
  const texts = await decoded(
    context,
    rows.map((row) => row.body),
  )
  return rows.map(({ position }, i) => ({ index: position, text: String(texts[i] ?? '') }))
}
