import { existsSync } from 'node:fs'
import type { SessionRow } from '../../shared/ports/store.ts'
import { totalOf } from '../../shared/usage/ledger.ts'
import type { Run } from '../action.ts'
import { formatCount, formatTable } from '../table.ts'

export interface ListOptions {
  readonly limit: number
}

/** Sessions of the store, newest activity first. */
export const list: Run<ListOptions> = async (setting, _words, { limit }) => {
  const { storePath } = setting.places
  const rows = existsSync(storePath) ? await (await setting.store()).sessions({ limit }) : []
  const sessions = rows.map(listed)
  setting.output.results(
    sessions,
    sessions.length === 0 ? `No session is in the store ${storePath}.` : sessionTable(sessions),
  )
}

type Listed = ReturnType<typeof listed>

function listed(row: SessionRow) {
  const { sessionId, header, lastTurn, createdAt, updatedAt } = row
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = totalOf(row.usage)
  return {
    sessionId,
    model: header.model === null ? null : `${header.provider}/${header.model}`,
    state: stateOf(row),
    turns: lastTurn,
    /** Of all paid calls, in and out. */
    tokens: inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens,
    createdAt,
    updatedAt,
  }
}

/** By the store alone, which does not know whether the workflow is awake. */
function stateOf({
  closed,
  openTurn,
  openCompactionId,
}: SessionRow): 'closed' | 'compacting' | 'in turn' | 'idle' {
  if (closed) return 'closed'
  if (openCompactionId !== null) return 'compacting'
  return openTurn === null ? 'idle' : 'in turn'
}

const sessionTable = (sessions: readonly Listed[]): string =>
  formatTable(
    ['session', 'model', 'state', 'turns', 'tokens paid', 'last activity (UTC)'],
    sessions.map(({ sessionId, model, state, turns, tokens, updatedAt }) => [
      sessionId,
      model ?? 'none',
      state,
      turns,
      formatCount(tokens),
      new Date(updatedAt).toISOString().slice(0, 19).replace('T', ' '),
    ]),
  )
