import { text } from '../shared/session/content.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { ActivityDeps } from './deps.ts'
import { loadSession } from './session-view.ts'

/**
 * What the unfinished reply of an open turn has said so far, as watchers saw it: the text alone, since reasoning and calls that were cut off cannot stand in a request. Empty when
 * it has said nothing, or has landed.
 */
export async function interruptedReply(
  deps: ActivityDeps,
  sessionId: string,
  turn: number,
): Promise<NewEvent<'assistant/message'>[]> {
  const { openTurn, openStep, header } = await loadSession(deps, sessionId)
  if (openTurn !== turn || openStep === 0) return []
  const key = keys.assistant(turn, openStep)
  if ((await deps.store.eventByKey(sessionId, key)) !== null) return []
  const deltas = await deps.store.deltas(sessionId, key)
  const said = deltas.map((delta) => delta.text).join('')
  if (said.trim() === '') return []
  const content = [text(said)]
  return [
    {
      key,
      type: 'assistant/message',
      turn,
      step: openStep,
      data: {
        content,
        usage: null,
        stopReason: 'interrupted',
        provider: header.provider ?? '',
        model: header.model ?? '',
        interrupted: true,
      },
      tokens: priceContent(content),
      surfaceOp: 'append',
    },
  ]
}
