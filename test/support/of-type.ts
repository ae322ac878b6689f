import type { SessionEvent } from '../../src/shared/session/events.ts'

/** The events of one type, typed as such. */
export const ofType = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T) =>
  events.filter((event): event is Extract<SessionEvent, { type: T }> => event.type === type)
