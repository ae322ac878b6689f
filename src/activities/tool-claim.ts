import { Context } from '@temporalio/activity'
import type { Actor } from '../shared/ports/store.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner } from './owner.ts'

interface Call {
  readonly sessionId: string
  readonly turn: number
  readonly step: number
  readonly callId: string
}

/**
 * Says in the log that this attempt is about to run the tool. False when another attempt said so before: it may have run, so its outcome is unknown.
 */
export async function claimCall(
  deps: ActivityDeps,
  { sessionId, turn, step, callId }: Call,
  actor: Actor,
): Promise<boolean> {
  const { attempt } = Context.current().info
  const event: NewEvent<'tool/claim'> = {
    key: keys.toolClaim(turn, step, callId),
    type: 'tool/claim',
    turn,
    step,
    data: { callId, runId: actor.runId, attempt },
    tokens: 0,
  }
  const written = await asOwner(deps, sessionId, actor, (owner) =>
    deps.store.append({ sessionId, actor: owner, turn, events: [event] }),
  )
  return !written.recorded
}
