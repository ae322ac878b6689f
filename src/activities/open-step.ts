import type { Actor } from '../shared/ports/store.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner } from './owner.ts'

export interface StepPlace {
  readonly sessionId: string
  readonly turn: number
  readonly step: number
}

/** Ends the step before and opens this one, once. @throws SessionError `TurnClosed`: the turn has ended, so nobody may be paid for it. */
export async function openStep(
  deps: ActivityDeps,
  { sessionId, turn, step }: StepPlace,
  actor: Actor,
): Promise<void> {
  const start: NewEvent = {
    key: keys.stepStart(turn, step),
    type: 'step/start',
    turn,
    step,
    data: { turn, step },
    tokens: 0,
  }
  const previous = step - 1
  const end: NewEvent = {
    key: keys.stepEnd(turn, previous),
    type: 'step/end',
    turn,
    step: previous,
    data: { turn, step: previous },
    tokens: 0,
  }
  const write = (events: readonly NewEvent[]) =>
    asOwner(deps, sessionId, actor, (owner) => deps.store.append({ sessionId, actor: owner, turn, events }))
  const written = await write(previous === 0 ? [start] : [end, start])
  // The end of a turn also ends its step: then the batch is known, and its start is not written.
  if (written.events.every((event) => event.key !== start.key)) await write([start])
}
