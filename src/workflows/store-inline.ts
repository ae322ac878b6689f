import { CancellationScope } from '@temporalio/workflow'
import type { SessionEnv } from './session-env.ts'

// Writes into the store what so far is only here: bodies that came inline, and what became of requests.

/** Below the server's limit of 2 MiB for one payload. */
const MAX_BATCH_BYTES = 1024 * 1024
const MAX_BATCH_ROWS = 500
/** Refusals that keep coming must not hold up the session; their senders have a receipt that says so. */
const MAX_SETTLE_BATCHES = 20

/** Leaves no inline body behind. Not cancellable: what was accepted must not be lost. */
export async function storeInline(env: SessionEnv): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    while (env.session.prompts.hasInline) await storeBatch(env)
    for (let batch = 0; batch < MAX_SETTLE_BATCHES && env.session.settlements.length > 0; batch++) {
      const rows = env.session.settlements.splice(0, MAX_BATCH_ROWS)
      await env.activities.settle({ v: 1, sessionId: env.session.sessionId, rows })
    }
  })
}

async function storeBatch({ session, activities }: SessionEnv): Promise<void> {
  const prompts = session.prompts.inline(MAX_BATCH_BYTES)
  const { refused } = await activities.accept({
    v: 1,
    sessionId: session.sessionId,
    prompts,
    compactions: [],
  })
  for (const { requestId } of refused) {
    session.prompts.drop(requestId)
    session.refused++
  }
  const stored = prompts
    .map(({ requestId }) => requestId)
    .filter((requestId) => refused.every((row) => row.requestId !== requestId))
  for (const requestId of stored) {
    // Withdrawn while it was being stored.
    if (!session.prompts.has(requestId))
      session.settlements.push({ requestId, state: 'refused', error: 'Cancelled' })
  }
  session.prompts.markStored(stored)
}
