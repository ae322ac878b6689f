import type { z } from 'zod'
import type {
  closeSessionInputSchema,
  endTurnInputSchema,
  readingResultSchema,
} from '../shared/activity-protocol.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner, callingRun } from './owner.ts'
import { currentReading } from './session-view.ts'

/** Ends a turn that no reply ended: unanswered calls get interrupted results in the same transaction. */
export async function endTurn(
  deps: ActivityDeps,
  input: z.infer<typeof endTurnInputSchema>,
): Promise<z.infer<typeof readingResultSchema>> {
  const { sessionId, turn, reason, message, code } = input
  const why = { ...(message === undefined ? {} : { message }), ...(code === undefined ? {} : { code }) }
  await asOwner(deps, sessionId, callingRun(), (actor) =>
    deps.store.endTurn({ sessionId, actor, turn, reason, ...why }),
  )
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
