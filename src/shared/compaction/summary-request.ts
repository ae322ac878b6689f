import type { ModelRequest } from '../ports/model.ts'
import { type ContentBlock, isText, isToolResult, isToolUse, type Message } from '../session/content.ts'
import { headOf } from '../session/well-formed.ts'

/** The messages with an instruction as the last thing said: a message of its own, or the end of the last one when that is the user's. */
export function withInstruction(
  messages: readonly Message[],
  instruction: readonly ContentBlock[],
): Message[] {
  const last = messages.at(-1)
  if (last?.role !== 'user') return [...messages, { role: 'user', content: instruction }]
  return [...messages.slice(0, -1), { role: 'user', content: [...last.content, ...instruction] }]
}

/**
 * `max_tokens` of a summary's call: what the summary may take, at most a quarter of the window, with the thinking budget on
 * top, because a provider counts reasoning as output. Never above what the model can write.
 */
export function replyRoom(
  summaryMaxTokens: number,
  sampling: ModelRequest['sampling'],
  capacity: { readonly contextWindow: number | null; readonly maxOutputTokens: number | null },
): number {
  const { contextWindow, maxOutputTokens } = capacity
  const share =
    contextWindow === null ? summaryMaxTokens : Math.min(summaryMaxTokens, Math.floor(contextWindow / 4))
  const wanted = share + thinkingBudget(sampling)
  return Math.max(1, maxOutputTokens === null ? wanted : Math.min(wanted, maxOutputTokens))
}

/** Tokens of `thinking.budget_tokens`; 0 without. */
export function thinkingBudget(sampling: ModelRequest['sampling']): number {
  const thinking = sampling['thinking']
  if (typeof thinking !== 'object' || thinking === null || !('budget_tokens' in thinking)) return 0
  return typeof thinking.budget_tokens === 'number' && thinking.budget_tokens > 0
    ? Math.ceil(thinking.budget_tokens)
    : 0
}

/** How a reader recognises the last message of a conversation, in a few words; its text stands as a JSON string. */
export function describeLast(messages: readonly Message[]): string | undefined {
  const last = messages.at(-1)
  const block = last?.content.at(-1)
  if (last === undefined || block === undefined) return undefined
  if (isToolResult(block)) {
    const name = toolName(messages, block.tool_use_id)
    return `the result of the call ${JSON.stringify(block.tool_use_id)}${name === undefined ? '' : ` of ${name}`}`
  }
  const whose = last.role === 'user' ? 'the user message' : 'your message'
  return isText(block)
    ? `${whose} that begins with ${excerpt(block.text)}`
    : `${whose} with a block of type ${block.type} at its end`
}

const EXCERPT_CHARS = 80

const excerpt = (value: string): string => JSON.stringify(headOf(value.trimStart(), EXCERPT_CHARS))

function toolName(messages: readonly Message[], callId: string): string | undefined {
  return messages.flatMap(({ content }) => content.filter(isToolUse)).findLast(({ id }) => id === callId)
    ?.name
}
