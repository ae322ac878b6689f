import { SessionError } from '../errors.ts'
import type { NewEvent } from './events.ts'

/** @throws SessionError `LogRejected` that names the event and the rule */
export function refuse(event: NewEvent, problem: string): never {
  throw new SessionError(
    'LogRejected',
    `The log refuses ${event.type} with key ${JSON.stringify(event.key)}: ${problem}.`,
    {
      key: event.key,
      type: event.type,
    },
  )
}
