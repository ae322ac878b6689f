import type { OpenAI } from 'openai'
import { labelMedia } from '../../../shared/compaction/message-parts.ts'
import {
  type ContentBlock,
  isText,
  isThinking,
  isToolResult,
  isToolUse,
  type Message,
  type ToolResultBlock,
} from '../../../shared/session/content.ts'

type ChatMessage = OpenAI.ChatCompletionMessageParam
type UserPart = OpenAI.ChatCompletionContentPart

/**
 * A session's messages as chat messages: results of tools as messages of their own before the user's, images as data URLs or, where the model takes
 * none, as labels. Thinking is left out: it is signed for another provider.
 */
export function chatMessages(
  system: string,
  messages: readonly Message[],
  acceptsMedia: boolean,
): ChatMessage[] {
  const sent = acceptsMedia ? messages : labelMedia(messages)
  return [
    ...(system === '' ? [] : [{ role: 'system', content: system } as const]),
    ...sent.flatMap(({ role, content }) =>
      role === 'user' ? userMessages(content) : [assistantMessage(content)],
    ),
  ]
}

function assistantMessage(content: readonly ContentBlock[]): ChatMessage {
  const said = content.filter((block) => !isThinking(block) && !isToolUse(block)).map(textOf)
  const calls = content.filter(isToolUse).map(({ id, name, input }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(input ?? {}) },
  }))
  const text = said.join('\n\n')
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function userMessages(content: readonly ContentBlock[]): ChatMessage[] {
  const results = content.filter(isToolResult)
  const shown = results.flatMap(partsOf).filter((block) => !isText(block))
  const parts = [...shown, ...content.filter((block) => !isToolResult(block))].map(partOf)
  return [
    ...results.map((result) => ({
      role: 'tool' as const,
      tool_call_id: result.tool_use_id,
      content: resultText(result),
    })),
    ...(parts.length === 0 ? [] : [{ role: 'user' as const, content: joined(parts) }]),
  ]
}

const partsOf = ({ content }: ToolResultBlock): readonly ContentBlock[] =>
  typeof content === 'string' || content === undefined ? [] : content

/** A result is a text; what else it holds comes with the user's message behind it. */
function resultText(result: ToolResultBlock): string {
  const texts =
    typeof result.content === 'string'
      ? [result.content]
      : partsOf(result).map((block) => (isText(block) ? block.text : `[${block.type}: in the next message]`))
  const text = texts.join('\n')
  return result.is_error === true ? `Error: ${text}` : text
}

/** Some local servers take nothing but a text. */
function joined(parts: readonly UserPart[]): string | UserPart[] {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return texts.length === parts.length ? texts.join('\n\n') : [...parts]
}

function partOf(block: ContentBlock): UserPart {
  const url = block.type === 'image' ? imageUrl(block['source']) : undefined
  return url === undefined ? { type: 'text', text: textOf(block) } : { type: 'image_url', image_url: { url } }
}

function imageUrl(source: unknown): string | undefined {
  if (typeof source !== 'object' || source === null) return undefined
  const { type, url, media_type, data } = source as Readonly<Record<string, unknown>>
  if (type === 'url' && typeof url === 'string') return url
  return type === 'base64' ? `data:${String(media_type)};base64,${String(data)}` : undefined
}

/** Blocks that only the Messages API knows stand as what they are: a document's text, a search's result. */
function textOf(block: ContentBlock): string {
  if (isText(block)) return block.text
  const source = block['source']
  if (typeof source === 'object' && source !== null && 'data' in source && 'type' in source)
    return source.type === 'text' ? String(source.data) : `[${block.type}]`
  return block.type === 'document' || block.type === 'image' ? `[${block.type}]` : JSON.stringify(block)
}
