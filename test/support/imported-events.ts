import {
  type ContentBlock,
  isToolResult,
  isToolUse,
  type Message,
  text,
} from '../../src/shared/session/content.ts'
import type { NewEvent } from '../../src/shared/session/events.ts'
import { priceContent } from '../../src/shared/tokens/price.ts'

/** A recorded conversation as events that belong to no turn. */
export function importedEvents(messages: readonly Pick<Message, 'role' | 'content'>[]): NewEvent[] {
  const calls = messages.flatMap(({ content }) => content.filter(isToolUse))
  const names = new Map(calls.map(({ id, name }) => [id, name]))
  let count = 0
  const event = (type: NewEvent['type'], data: object, content: readonly ContentBlock[]) =>
    ({
      key: `import.${count++}`,
      type,
      turn: null,
      step: null,
      data: { ...data, content },
      tokens: priceContent(content),
      surfaceOp: 'append',
    }) as NewEvent
  const said = { usage: null, stopReason: 'end_turn', provider: 'p', model: 'm' }
  return messages.flatMap(({ role, content }): NewEvent[] => {
    if (role === 'assistant') return [event('assistant/message', said, content)]
    const results = content.filter(isToolResult)
    const rest = content.filter((block) => !isToolResult(block))
    return [
      ...results.map(({ tool_use_id: callId, content: given = [], is_error: isError = false }) =>
        event(
          'tool/result',
          { callId, name: names.get(callId) ?? 'tool', isError },
          typeof given === 'string' ? [text(given)] : given,
        ),
      ),
      ...(rest.length === 0 ? [] : [event('user/message', { source: 'import' }, rest)]),
    ]
  })
}
