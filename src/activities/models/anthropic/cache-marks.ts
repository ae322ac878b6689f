import type { ModelRequest } from '../../../shared/ports/model.ts'
import type { ContentBlock, Message } from '../../../shared/session/content.ts'

// Where the prompt cache is written and read. The API takes four marks; one is on system prompt or tools, at most two are here.

/** Blocks that the API takes a mark on. Reasoning is not among them. */
const MARKABLE = new Set(['text', 'image', 'document', 'search_result', 'tool_use', 'tool_result'])

/**
 * Marks the end of the messages, which this request writes, and the end of what the request before it wrote, which this one reads: the user's message before
 * the last reply. Found by its own mark, it is read however many blocks a step has added; without one the API looks back 20 blocks.
 *
 * A summary's request marks only what it reads: behind it comes a checkpoint, and nobody reads what it would write.
 */
export function markMessages(
  messages: readonly { readonly role: Message['role']; readonly content: readonly ContentBlock[] }[],
  mark: object,
  purpose: ModelRequest['purpose'],
): Message[] {
  const lastReply = messages.findLastIndex(({ role }) => role === 'assistant')
  const marked = new Set([lastReply - 1, ...(purpose === 'summary' ? [] : [messages.length - 1])])
  return messages.map((message, at) => (marked.has(at) ? markEnd(message, mark) : message))
}

function markEnd(message: Message, mark: object): Message {
  const at = message.content.findLastIndex(({ type }) => MARKABLE.has(type))
  const content = message.content.map((block, index) =>
    index === at ? { ...block, cache_control: mark } : block,
  )
  return { ...message, content }
}

/** The block without marks of others: they would add up to more than the API takes. */
export function withoutMarks(block: ContentBlock): ContentBlock {
  const { cache_control: _, ...rest } = block
  const bare = 'cache_control' in block ? (rest as ContentBlock) : block
  const inner = bare['content']
  if (!Array.isArray(inner) || !inner.some(hasMark)) return bare
  return { ...bare, content: inner.map((part) => (hasMark(part) ? withoutMarks(part) : part)) }
}

const hasMark = (part: unknown): part is ContentBlock =>
  typeof part === 'object' && part !== null && 'cache_control' in part
