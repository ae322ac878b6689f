import { SessionError } from '../shared/errors.ts'
import type { ActorInput } from '../shared/ports/store.ts'
import type { NewEvent, SessionEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { withEvent } from '../shared/usage/ledger.ts'
import { requireAttempt } from './attempts.ts'
import { checkedEvent } from './checked-event.ts'
import { eventRowsOfKeys } from './event-rows.ts'
import { LogWriter } from './log-writer.ts'
import { recordedOr } from './recorded.ts'
import { ownedSession } from './session-rows.ts'
import type { StoreContext } from './store-context.ts'

export interface RecordCall extends ActorInput {
  readonly compactionId: string
  readonly complete: boolean
  readonly event: NewEvent<'compact/call'>
  readonly index: number
}

export async function recordCall(
  context: StoreContext,
  input: RecordCall,
): Promise<SessionEvent<'compact/call'>> {
  const { compactionId, index, complete } = input
  const { data } = input.event
  if (data.compactionId !== compactionId || data.index !== index) {
    throw new SessionError(
      'InvalidInput',
      `The call ${index} of compaction ${compactionId} is written as call ${data.index} of ${data.compactionId}.`,
    )
  }
  const key = keys.compactCall(compactionId, index)
  const checked = checkedEvent({ ...input.event, key })
  const { events } = await recordedOr(context, [checked], (tx) => {
    const session = ownedSession(tx, input)
    const { row } = requireAttempt(tx, session, compactionId)
    const recorded = complete ? eventRowsOfKeys(tx.sql, session.id, [key]) : []
    if (recorded.length > 0) return { session, recorded }
    const writer = new LogWriter(tx, session)
    const { openTurn, openStep } = session.control
    const { event, json } = checked
    const inTurn = event.turn !== null && event.turn === openTurn
    const written = writer.add({
      json,
      event: {
        ...event,
        key: complete && row.state === 'open' ? key : lostKey(writer, compactionId, index),
        turn: inTurn ? event.turn : null,
        step: inTurn && event.step === openStep ? event.step : null,
      },
    })
    tx.sql.run(
      'UPDATE attempt SET usage = ? WHERE session = ? AND compaction_id = ?',
      JSON.stringify(withEvent(row.usage, written)),
      session.id,
      compactionId,
    )
    return writer.save()
  })
  const [event] = events
  if (event?.type === 'compact/call') return event
  throw new Error(`call ${index} of compaction ${compactionId} was written and is not there`)
}

/** The next free key of an incomplete call: they are few. */
function lostKey(writer: LogWriter, compactionId: string, index: number): string {
  for (let k = 0; ; k++) {
    const key = keys.compactLostCall(compactionId, index, k)
    if (writer.seqOfKey(key) === undefined) return key
  }
}
