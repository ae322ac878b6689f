import { reasonText } from '../shared/compaction/reason-text.ts'
import type { Actor } from '../shared/ports/store.ts'
import type { CompactionOutcome } from '../shared/protocol.ts'
import { text } from '../shared/session/content.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { compactionIds, keys } from '../shared/session/keys.ts'
import { wellFormed } from '../shared/session/well-formed.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { CallModelInput } from './call-model.ts'
import { compactCallOf } from './code-answers.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner } from './owner.ts'
import { loadSession } from './session-view.ts'

const MESSAGE_CHARS = 300

/**
 * Tells the model what became of the compaction that it asked for in the step before, where the conversation does not show it: a checkpoint says so itself. By the
 * store alone, so that a retry finds the same.
 */
export async function tellCompactOutcome(
  deps: ActivityDeps,
  { sessionId, turn, step }: CallModelInput,
  actor: Actor,
): Promise<void> {
  const before = await deps.store.eventByKey(sessionId, keys.assistant(turn, step - 1))
  if (before?.type !== 'assistant/message') return
  const asked = await compactCallOf(deps, await loadSession(deps, sessionId), before)
  if (asked === undefined) return
  const compactionId = compactionIds.tool(turn, step - 1, asked.id)
  const attempt = await deps.store.attempt(sessionId, compactionId)
  if (attempt?.outcome?.outcome === 'compacted') return
  const content = [text(wellFormed(`[${outcomeText(attempt?.outcome ?? null)}]`))]
  const event: NewEvent<'user/message'> = {
    key: keys.notice(compactionId),
    type: 'user/message',
    turn,
    step,
    data: { content, source: 'notice' },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
  await asOwner(deps, sessionId, actor, (owner) =>
    deps.store.append({ sessionId, actor: owner, turn, events: [event] }),
  )
}

function outcomeText(outcome: CompactionOutcome | null): string {
  const asked = 'The compaction that you asked for'
  if (outcome === null) return `${asked} did not run: another one was open. The conversation is as it was.`
  const { error, reason = '', message } = outcome
  if (error !== undefined)
    return `${asked} failed (${error.code}): ${error.message.slice(0, MESSAGE_CHARS)} The conversation is as it was; go on without it.`
  if (outcome.outcome === 'pruned')
    return `${asked} shortened long results; no checkpoint was written, as there was nothing else to replace.`
  return `${asked} found nothing to do: ${message?.slice(0, MESSAGE_CHARS) ?? reasonText(reason)}. The conversation is as it was.`
}
