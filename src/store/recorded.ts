import type { Written } from '../shared/ports/store.ts'
import type { CheckedEvent } from './checked-event.ts'
import { type EventRow, toEvents } from './event-rows.ts'
import type { StoredSession } from './session-rows.ts'
import { type StoreContext, type Tx, write } from './store-context.ts'

/** What a write found instead of writing. */
export interface Recorded {
  readonly session: StoredSession
  readonly recorded: readonly EventRow[]
}

/** A write of events that comes back with the recorded ones when they were there before. */
export async function recordedOr(
  context: StoreContext,
  events: readonly CheckedEvent[],
  body: (tx: Tx) => Written | Recorded,
): Promise<Written> {
  const result = await write(
    context,
    events.map((event) => event.json),
    body,
  )
  if (!('session' in result)) return result
  const { nextSeq, generation } = result.session.control
  return { recorded: true, events: await toEvents(context, result.recorded), head: nextSeq, generation }
}
