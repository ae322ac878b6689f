import { SessionError } from '../shared/errors.ts'
import type { Append, Written } from '../shared/ports/store.ts'
import type { EventType, NewEvent } from '../shared/session/events.ts'
import { refuse } from '../shared/session/log-refusal.ts'
import { checkBatchTurn } from '../shared/session/log-rules.ts'
import { checkedEvents } from './checked-event.ts'
import { eventRowsOfKeys } from './event-rows.ts'
import { markRunning, settleDone } from './inbox.ts'
import { LogWriter } from './log-writer.ts'
import { saveMeter } from './meter.ts'
import { recordedOr } from './recorded.ts'
import { ownedSession, type StoredSession } from './session-rows.ts'
import type { StoreContext } from './store-context.ts'

/** Events that only the operation of their own writes, together with the rows that go with them. */
const WRITTEN_BY = new Map<EventType, string>([
  ['session/start', 'createSession'],
  ['session/end-seed', 'takeOver'],
  ['session/close', 'closeSession'],
  ['turn/start', 'startTurn'],
  ['turn/end', 'endTurn'],
  ['compact/start', 'openAttempt'],
  ['compact/call', 'recordCall'],
  ['compact/summary', 'commitAttempt'],
  ['compact/end', 'commitAttempt and closeAttempt'],
])

export async function append(context: StoreContext, input: Append): Promise<Written> {
  const events = checkedEvents(input.events)
  const keys = events.map(({ event }) => event.key)
  return recordedOr(context, events, (tx) => {
    const session = ownedSession(tx, input)
    const recorded = eventRowsOfKeys(tx.sql, session.id, keys)
    settleDone(tx.sql, session.id, input.settles)
    if (recorded.length > 0) return { session, recorded }
    checkBatchTurn(session.control, input.turn, input.events)
    checkHead(session, input.expectedHead)
    refuseOwned(input.events)
    const writer = new LogWriter(tx, session, new Set(keys))
    writer.addAll(events)
    markRunning(tx.sql, session.id, input.consumes ?? [], input.turn)
    saveMeter(tx.sql, session.id, input.meter)
    return writer.save()
  })
}

/** @throws SessionError `HeadMoved` */
export function checkHead({ control, sessionId }: StoredSession, expectedHead: number | undefined): void {
  if (expectedHead === undefined || expectedHead === control.nextSeq) return
  throw new SessionError(
    'HeadMoved',
    `The log of session ${sessionId} ends at ${control.nextSeq}, the plan was made at ${expectedHead}: plan again.`,
    {
      head: control.nextSeq,
      expectedHead,
    },
  )
}

function refuseOwned(events: readonly NewEvent[]): void {
  for (const event of events) {
    const operation = WRITTEN_BY.get(event.type)
    if (operation !== undefined) refuse(event, `${operation} writes it, not append`)
  }
}
