import type { AttemptRow, SessionStore } from '../shared/ports/store.ts'
import { COMMAND } from './command-name.ts'
import { NotFound } from './exit-codes.ts'

/** @throws NotFound for a compaction that the session does not have */
export async function attemptOf(
  store: SessionStore,
  sessionId: string,
  compactionId: string,
): Promise<AttemptRow> {
  const row = await store.attempt(sessionId, compactionId)
  if (row !== null) return row
  throw new NotFound(
    `Session ${sessionId} has no compaction ${JSON.stringify(compactionId)}: "${COMMAND} history ${sessionId}" lists them.`,
  )
}
