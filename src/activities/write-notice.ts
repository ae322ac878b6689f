import { isSessionError } from '../shared/errors.ts'
import type { Actor } from '../shared/ports/store.ts'
import type { EventData, NewEvent, NoticeCode } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { wellFormed } from '../shared/session/well-formed.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner } from './owner.ts'

interface Notice {
  readonly sessionId: string
  readonly actor: Actor
  readonly turn: number | null
  /** What the notice is about: one id is told once in a session. */
  readonly id: string
  readonly code: NoticeCode
  readonly message: string
  readonly compactionId?: string
  readonly failed?: EventData<'session/notice'>['failed']
  /** Written with it, when it is new. */
  readonly meter?: unknown
}

/** Tells people something once: an event of the log that the model does not see. */
export async function writeNotice(deps: ActivityDeps, notice: Notice): Promise<void> {
  const { sessionId, actor, turn, id, code, message, compactionId, failed, meter } = notice
  const event = (of: number | null): NewEvent<'session/notice'> => ({
    key: keys.notice(id),
    type: 'session/notice',
    turn: of,
    step: null,
    data: {
      code,
      message: wellFormed(message),
      ...(compactionId === undefined ? {} : { compactionId }),
      ...(failed === undefined ? {} : { failed }),
    },
    tokens: 0,
  })
  const write = (of: number | null) =>
    asOwner(deps, sessionId, actor, (owner) =>
      deps.store.append({
        sessionId,
        actor: owner,
        turn: of,
        events: [event(of)],
        ...(meter === undefined ? {} : { meter }),
      }),
    )
  try {
    await write(turn)
  } catch (error) {
    // The turn has ended meanwhile: what is to be told is true all the same.
    if (!isSessionError(error, 'TurnClosed')) throw error
    await write(null)
  }
}
