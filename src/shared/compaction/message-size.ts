import type { ModelRequest } from '../ports/model.ts'
import { type ContentBlock, isText, isToolResult, type Message } from '../session/content.ts'
import type { ToolDefinition } from '../session/events.ts'

type CountTokens = (text: string) => number

/** About what a provider charges for an image of any size; exact prices belong to the meter. */
const IMAGE_TOKENS = 1_600
/** A page of a document has about 70,000 characters of base64 and 2,000 tokens. */
const BASE64_CHARS_PER_TOKEN = 35
const ROLE_TOKENS = 4

/** Tokens of messages as our counter sees them: text and inputs, never base64. */
export const messagesTokens = (messages: readonly Message[], count: CountTokens): number =>
  messages.reduce((sum, { content }) => sum + contentTokens(content, count) + ROLE_TOKENS, 0)

/** Tokens of the part of a request that stands before its messages. */
export const headTokens = (
  { system, tools }: Pick<ModelRequest, 'system' | 'tools'>,
  count: CountTokens,
): number => count(system) + tools.reduce((sum, tool) => sum + count(toolText(tool)), 0)

const toolText = ({ name, description, inputSchema }: ToolDefinition): string =>
  `${name}\n${description}\n${JSON.stringify(inputSchema)}`

function contentTokens(content: readonly ContentBlock[], count: CountTokens): number {
  return content.reduce((sum, block) => sum + blockTokens(block, count), 0)
}

function blockTokens(block: ContentBlock, count: CountTokens): number {
  if (isText(block)) return count(block.text)
  if (isToolResult(block)) {
    const { content = '' } = block
    return (
      count(block.tool_use_id) +
      (typeof content === 'string' ? count(content) : contentTokens(content, count))
    )
  }
  if (block.type === 'image') return IMAGE_TOKENS
  if (block.type === 'document')
    return Math.max(IMAGE_TOKENS, Math.ceil(JSON.stringify(block).length / BASE64_CHARS_PER_TOKEN))
  return count(JSON.stringify(block))
}
