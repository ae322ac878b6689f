import type { z } from 'zod'
import type { acceptInputSchema, acceptResultSchema, settleInputSchema } from '../shared/activity-protocol.ts'
import { isSessionError, SessionError } from '../shared/errors.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner, callingRun } from './owner.ts'
import { storeInline } from './start-turn.ts'

/** Stores messages that travelled inline. One that cannot be accepted is named with its error; the others are stored. */
export async function acceptMessages(
  deps: ActivityDeps,
  input: z.infer<typeof acceptInputSchema>,
): Promise<z.infer<typeof acceptResultSchema>> {
  const refused: { requestId: string; error: string }[] = []
  const attempt = async (requestId: string, work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (error) {
      if (!isSessionError(error) || error.name === 'StoreUnavailable') throw error
      refused.push({ requestId, error: error.name })
    }
  }
  for (const prompt of input.prompts) {
    await attempt(prompt.requestId, async () => {
      if (prompt.content === undefined)
        throw new SessionError('InvalidInput', `prompt ${prompt.requestId} has no content.`)
      await storeInline(
        deps,
        input.sessionId,
        prompt.requestId,
        prompt.content,
        prompt.delivery ?? 'next-turn',
      )
    })
  }
  for (const { requestId, ...body } of input.compactions) {
    await attempt(requestId, () =>
      deps.store.putInbox({ sessionId: input.sessionId, requestId, kind: 'compaction', body }),
    )
  }
  return { refused }
}

/** Writes what became of requests into the inbox, where clients read it. */
export async function settleRequests(
  deps: ActivityDeps,
  input: z.infer<typeof settleInputSchema>,
): Promise<void> {
  const rows = input.rows.map(({ requestId, state, compactionId, error }) => ({
    requestId,
    state,
    outcome: {
      ...(compactionId === undefined ? {} : { compactionId }),
      ...(error === undefined ? {} : { error }),
    },
  }))
  await asOwner(deps, input.sessionId, callingRun(), (actor) =>
    deps.store.settleInbox({ sessionId: input.sessionId, actor, rows }),
  )
}
