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

interface Claim {
  /** False when another attempt said so before: the tool may have run, so its outcome is unknown. */
  readonly first: boolean
  /** The claim that stands handed the call to this run of the workflow, and ran nothing itself. */
  readonly handedByThisRun: boolean
}

/** Says in the log that this attempt is about to run the tool, or to hand the call to its workflow. */
export async function claimCall(
  deps: ActivityDeps,
  { sessionId, turn, step, callId }: Call,
  actor: Actor,
  how: { readonly handed?: true } = {},
): Promise<Claim> {
  const { attempt } = Context.current().info
  const event: NewEvent<'tool/claim'> = {
    key: keys.toolClaim(turn, step, callId),
    type: 'tool/claim',
    turn,
    step,
    data: { callId, runId: actor.runId, attempt, ...how },
    tokens: 0,
  }
  const written = await asOwner(deps, sessionId, actor, (owner) =>
    deps.store.append({ sessionId, actor: owner, turn, events: [event] }),
  )
  const [claim] = written.events
  if (claim?.type !== 'tool/claim')
    throw new Error(`The claim of call ${callId} was written and is not in the log.`)
  const { runId, handed } = claim.data
  return { first: !written.recorded, handedByThisRun: handed === true && runId === actor.runId }
}
