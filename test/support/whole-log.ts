import assert from 'node:assert/strict'
import type { Session } from '../../src/client/index.ts'
import { text } from '../../src/shared/session/content.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import type { RealSessions } from './real-sessions.ts'

export const ofType = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T) =>
  events.filter((event): event is Extract<SessionEvent, { type: T }> => event.type === type)

/** What must be true of every log, however it came about. */
export async function assertWhole(real: RealSessions, session: Session): Promise<SessionEvent[]> {
  const events = await real.log(session)
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_event, i) => i),
  )
  const [starts, ends] = [ofType(events, 'compact/start'), ofType(events, 'compact/end')]
  assert.deepEqual(
    ends.map(({ data }) => data.compactionId),
    starts.map(({ data }) => data.compactionId),
  )
  assert.equal(ofType(events, 'turn/start').length, ofType(events, 'turn/end').length)
  const { nodes } = await real.store.surface(session.id)
  const messages = deriveMessages(nodes)
  const next =
    messages.at(-1)?.role === 'assistant' ? [{ role: 'user' as const, content: [text('Next.')] }] : []
  assert.deepEqual(requestProblems([...messages, ...next]), [])
  return events
}
