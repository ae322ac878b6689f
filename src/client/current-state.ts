import type { SessionStore } from '../shared/ports/store.ts'
import type { SessionState } from '../shared/protocol.ts'
import { sessionStateQuery } from '../workflows/messages.ts'
import { querySession } from './ask-worker.ts'
import { poll } from './poll.ts'
import type { SessionOptions } from './session.ts'

/** The report of an activity that has written takes milliseconds. */
const CATCH_UP_MS = 5_000
/** Behind the end of a compaction its hooks may run, for which nobody should wait. */
const CATCH_UP_COMPACTION_MS = 2_000

/**
 * What the workflow says of itself. While it speaks of a turn or a compaction that has ended in the store, because the report of what wrote that is on its
 * way, it is asked again, for five seconds at most, two for a compaction, whose hooks may still run: so `state()` after `turn.result()` knows of the turn's end.
 *
 * @throws SessionError `SessionNotFound`, `WorkerUnavailable`
 */
export async function currentState(options: SessionOptions): Promise<SessionState> {
  const { client, sessionId, store } = options
  const handle = client.workflow.getHandle(sessionId)
  const ask = () => querySession(options, () => handle.query(sessionStateQuery))
  const first = await ask()
  if (store === undefined || !(await isBehind(store, first))) return first
  let newest = first
  await poll(first.compactionId === null ? CATCH_UP_MS : CATCH_UP_COMPACTION_MS, async () => {
    newest = await ask()
    return (await isBehind(store, newest)) ? undefined : newest
  })
  return newest
}

async function isBehind(
  store: SessionStore,
  { sessionId, requestId, compactionId }: SessionState,
): Promise<boolean> {
  if (compactionId !== null) {
    const attempt = await store.attempt(sessionId, compactionId)
    return attempt !== null && attempt.state !== 'open'
  }
  return requestId !== null && (await store.turnByRequest(sessionId, requestId))?.status === 'ended'
}
