import type { z } from 'zod'
import type {
  closeSessionInputSchema,
  endTurnInputSchema,
  readingResultSchema,
} from '../shared/activity-protocol.ts'
import type { NewEvent } from '../shared/session/events.ts'
import type { ActivityDeps } from './deps.ts'
import { interruptedReply } from './interrupted-reply.ts'
import { asOwner, callingRun } from './owner.ts'
import { currentReading } from './session-view.ts'

/**
 * Ends a turn that no reply ended, in one transaction: what its unfinished reply had said so far is kept as an interrupted message, and unanswered calls get interrupted
 * results.
 */
export async function endTurn(
  deps: ActivityDeps,
  input: z.infer<typeof endTurnInputSchema>,
): Promise<z.infer<typeof readingResultSchema>> {
  const { sessionId, turn, reason, message, code } = input
  const why = { ...(message === undefined ? {} : { message }), ...(code === undefined ? {} : { code }) }
  const end = (events: readonly NewEvent[]) =>
    asOwner(deps, sessionId, callingRun(), (actor) =>
      deps.store.endTurn({ sessionId, actor, turn, reason, ...why, events }),
    )
  const said = await interruptedReply(deps, sessionId, turn)
  const { events } = await end(said)
  // The whole reply has landed meanwhile, so that nothing was written.
  if (!events.some(({ type }) => type === 'turn/end')) await end([])
  return { reading: await currentReading(deps, sessionId) }
}

/** Closes the session for prompts; those that wait stay in the inbox. */
export async function closeSession(
  deps: ActivityDeps,
  input: z.infer<typeof closeSessionInputSchema>,
): Promise<void> {
  const { sessionId, requestId, reason } = input
  await asOwner(deps, sessionId, callingRun(), (actor) =>
    deps.store.closeSession({ sessionId, actor, requestId, ...(reason === undefined ? {} : { reason }) }),
  )
}
