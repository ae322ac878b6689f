import type { SessionRow, SessionStore } from '../ports/store.ts'
import { meterFrom } from './meter.ts'
import { standingPinTokens } from './pins.ts'
import { readPinEvents } from './read-checkpoint-source.ts'

/** What a plan is made from, by the store alone: for those who only look. A worker may know more of its model before the first usage. */
export async function readPlanState(
  store: SessionStore,
  { sessionId, header }: SessionRow,
  countTokens: (text: string) => number,
) {
  const [surface, stored, replies, events] = await Promise.all([
    store.surface(sessionId),
    store.meter(sessionId),
    store.countEvents(sessionId, 'assistant/message'),
    readPinEvents(store, sessionId),
  ])
  const pinTokens = standingPinTokens({ policy: header.policy, events, countTokens })
  return { header, surface, meter: meterFrom(stored), replies, pinTokens }
}
