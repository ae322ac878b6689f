import { isToolUse } from './content.ts'
import type { NewEvent } from './events.ts'
import { isResultBlock } from './tool-pairs.ts'

/**
 * What the rules and the store must know of an event without its body: ids, names and states, never content. A store keeps it
 * beside the body, so that it can judge, repair and count while bodies are encrypted or erased.
 */
export type EventFacts =
  | { readonly requestId: string }
  | { readonly reason: string }
  | { readonly source: string; readonly answers?: readonly string[] }
  | { readonly calls: readonly { readonly callId: string; readonly name: string }[] }
  | {
      readonly callId: string
      readonly name: string
      readonly isError: boolean
      readonly full?: number | undefined
    }

/** Null for a type that needs none. */
export function eventFacts(event: NewEvent): EventFacts | null {
  switch (event.type) {
    case 'turn/start':
      return { requestId: event.data.requestId }
    case 'turn/end':
      return { reason: event.data.reason }
    case 'user/message': {
      const answers = event.data.content.filter(isResultBlock).map((block) => String(block['tool_use_id']))
      return { source: event.data.source, ...(answers.length === 0 ? {} : { answers }) }
    }
    case 'assistant/message':
      return { calls: event.data.content.filter(isToolUse).map(({ id, name }) => ({ callId: id, name })) }
    case 'tool/result': {
      const { content: _, ...rest } = event.data
      return rest
    }
    default:
      return null
  }
}
