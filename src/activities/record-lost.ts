import { Context } from '@temporalio/activity'
import { isSessionError } from '../shared/errors.ts'
import type { ModelRequest } from '../shared/ports/model.ts'
import type { Actor } from '../shared/ports/store.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import type { CallModelInput } from './call-model.ts'
import type { LostCall } from './counted-call.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner } from './owner.ts'
import { writePaid } from './write-paid.ts'

/**
 * Writes that a call of a turn was paid for nothing. Its key names the attempt that made it, so that the same call is written once and another attempt's is
 * another. When the turn has ended it belongs to none.
 */
export async function recordLost(
  deps: ActivityDeps,
  { sessionId, turn, step }: CallModelInput,
  actor: Actor,
  { provider, model }: Pick<ModelRequest, 'provider' | 'model'>,
  { why, usage }: LostCall,
): Promise<void> {
  const { activityId, attempt } = Context.current().info
  const append = (owner: Actor, of: number | null) => {
    const event: NewEvent<'assistant/lost'> = {
      key: keys.assistantLost(turn, step, `${actor.runId}.${activityId}.${attempt}`),
      type: 'assistant/lost',
      turn: of,
      step: null,
      data: { turn, step, provider, model, why, ...(usage === undefined ? {} : { usage }) },
      tokens: 0,
    }
    return deps.store.append({ sessionId, actor: owner, turn: of, events: [event] })
  }
  await writePaid(() =>
    asOwner(deps, sessionId, actor, (owner) =>
      append(owner, turn).catch((error: unknown) => {
        if (!isSessionError(error, 'TurnClosed')) throw error
        return append(owner, null)
      }),
    ),
  )
}
