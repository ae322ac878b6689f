import type { z } from 'zod'
import type { startTurnInputSchema, startTurnResultSchema } from '../shared/activity-protocol.ts'
import { SessionError } from '../shared/errors.ts'
import type { PricedMessage } from '../shared/ports/store.ts'
import type { ContentBlock } from '../shared/session/content.ts'
import { promptContent, promptProblem } from '../shared/session/prompt-content.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner, callingRun } from './owner.ts'
import { currentReading, loadSession } from './session-view.ts'

/**
 * Opens the turn of a prompt, or finds it again. `no-wake` messages that wait join in front of the prompt's answer, in order of arrival.
 *
 * @throws SessionError `InvalidInput` (no such prompt, or its content), `KeyConflict`, `QueueFull`, `SessionClosed`, `Fenced`
 */
export async function startTurn(
  deps: ActivityDeps,
  input: z.infer<typeof startTurnInputSchema>,
): Promise<z.infer<typeof startTurnResultSchema>> {
  const { sessionId, requestId } = input
  const actor = callingRun()
  if (input.message !== undefined) await storeInline(deps, sessionId, requestId, contentOf(input.message))
  const known = await deps.store.turnByRequest(sessionId, requestId)
  const messages = known === null ? await waitingMessages(deps, sessionId, requestId) : []
  const turn = await asOwner(deps, sessionId, actor, (owner) =>
    deps.store.startTurn({ sessionId, actor: owner, requestId, messages }),
  )
  const { policy } = (await loadSession(deps, sessionId)).header
  return {
    turn: turn.turn,
    status: turn.status,
    step: Math.max(1, turn.step),
    reading: await currentReading(deps, sessionId),
    compactionRetries: policy.compactionRetries,
    maxOverflowRetries: policy.maxOverflowRetries,
    ...(turn.endReason === null ? {} : { endReason: turn.endReason }),
  }
}

type InlineMessage = NonNullable<z.infer<typeof startTurnInputSchema>['message']>

const contentOf = (message: InlineMessage): string | readonly ContentBlock[] =>
  typeof message === 'object' && 'role' in message ? message.content : message

export async function storeInline(
  deps: ActivityDeps,
  sessionId: string,
  requestId: string,
  message: string | readonly ContentBlock[],
  delivery: 'next-turn' | 'next-step' | 'no-wake' = 'next-turn',
): Promise<void> {
  const problem = promptProblem(message)
  if (problem !== undefined) throw new SessionError('InvalidInput', `prompt ${requestId}: ${problem}`)
  await deps.store.putInbox({ sessionId, requestId, kind: 'prompt', body: promptContent(message), delivery })
}

/** The prompt and, in front of it, the `no-wake` messages that wait. */
async function waitingMessages(
  deps: ActivityDeps,
  sessionId: string,
  requestId: string,
): Promise<PricedMessage[]> {
  const [[prompt], waiting] = await Promise.all([
    deps.store.inbox(sessionId, { kind: 'prompt', requestIds: [requestId] }),
    deps.store.inbox(sessionId, { kind: 'prompt', state: 'waiting' }),
  ])
  if (prompt === undefined) {
    throw new SessionError(
      'InvalidInput',
      `Session ${sessionId} has no prompt ${JSON.stringify(requestId)} in its inbox: send its content with the message, or store it first.`,
    )
  }
  const quiet = waiting.filter((row) => row.delivery === 'no-wake' && row.requestId !== requestId)
  return [...quiet, prompt].map((row) => pricedMessage(row.requestId, row.body as readonly ContentBlock[]))
}

function pricedMessage(requestId: string, content: readonly ContentBlock[]): PricedMessage {
  return { requestId, content, source: 'prompt', tokens: priceContent(content) }
}
