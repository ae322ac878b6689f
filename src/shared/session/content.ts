import { z } from 'zod'

/**
 * One content block in the vocabulary of the Anthropic Messages API. Types that we do not know are kept verbatim,
 * so the shape is open: read a known block through its guard below.
 */
export interface ContentBlock {
  readonly type: string
  readonly [field: string]: unknown
}

export interface TextBlock extends ContentBlock {
  readonly type: 'text'
  readonly text: string
}

export interface ToolUseBlock extends ContentBlock {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: unknown
}

export interface ToolResultBlock extends ContentBlock {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content?: string | readonly ContentBlock[]
  readonly is_error?: boolean
}

export interface ThinkingBlock extends ContentBlock {
  readonly type: 'thinking'
  readonly thinking: string
  readonly signature: string
}

const contentBlockSchema: z.ZodType<ContentBlock> = z.looseObject({ type: z.string().min(1) })
export const contentSchema = z.array(contentBlockSchema)

/** A message as every model client and summarizer gets it. */
export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: readonly ContentBlock[]
}

export const isText = (block: ContentBlock): block is TextBlock =>
  block.type === 'text' && typeof block['text'] === 'string'

export const isToolUse = (block: ContentBlock): block is ToolUseBlock =>
  block.type === 'tool_use' && typeof block['id'] === 'string' && typeof block['name'] === 'string'

export const isToolResult = (block: ContentBlock): block is ToolResultBlock =>
  block.type === 'tool_result' && typeof block['tool_use_id'] === 'string'

export const isThinking = (block: ContentBlock): boolean =>
  block.type === 'thinking' || block.type === 'redacted_thinking'

export const text = (value: string): TextBlock => ({ type: 'text', text: value })

const USER_MEDIA: readonly string[] = ['image', 'document', 'search_result']

/** True for what a message of the user and the result of a tool may hold: the API refuses a request with any other block in them. */
export const isUserBlock = (block: ContentBlock): boolean => isText(block) || USER_MEDIA.includes(block.type)

/** The block itself where it may stand in a message of the user, else its JSON. */
export const asUserBlock = (block: ContentBlock): ContentBlock =>
  isUserBlock(block) ? block : text(JSON.stringify(block))
