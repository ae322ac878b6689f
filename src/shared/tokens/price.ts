import type { ContentBlock } from '../session/content.ts'
import type { ToolDefinition } from '../session/events.ts'
import { countTokens } from './counter.ts'
import { imageSize } from './image-size.ts'
import { type ImageTier, imageTokens, maxImageTokens } from './images.ts'
import { pdfTokens, unknownPdfTokens } from './pdf.ts'

/*
 * Prices are in tokens of our counter, before the per-model ratio that the meter learns from usage. In five recorded
 * sessions of Claude models the API reported 1.13 to 1.17 times the price of a step (medians), hence the first ratio of 1.2.
 */

export interface PriceOptions {
  /** Resolution at which the model sees images; see `imageTier`. @default 'high', the safe one */
  readonly imageTier?: ImageTier
}

/** Role and separators of one message; fits by others find 2 to 6. */
const MESSAGE_TOKENS = 4
/**
 * What a call and its result cost beyond their texts: markup and both mentions of the call's id. In recorded sessions
 * 61 to 90 Claude tokens a pair. All of it is charged to the call, so that a result costs what its content does.
 */
const CALL_TOKENS = 70
/** The instructions that the API adds when there are tools: 159 to 530 tokens, by model, in Anthropic's table. */
const TOOLS_TOKENS = 350
/** From this length on, a string of base64 in a block of unknown type is taken for media or encrypted text. */
const OPAQUE_CHARS = 2000
const OPAQUE_PATTERN = /^(?:data:[^,]{1,100},)?[A-Za-z0-9+/_-]+={0,2}$/
/** Base64 holds three bytes in four characters, and text has about four bytes a token. */
const TOKENS_PER_OPAQUE_CHAR = 3 / 16
/** A thinking block's signature is base64 of the encrypted text, after this many characters of other things (measured). */
const SIGNATURE_CHARS = 235

/** Tokens of plain text, such as the system prompt. */
export const priceText = countTokens

/** Tokens of the tool definitions of a request, with the instructions that come with them; 0 without tools. */
export function priceTools(tools: readonly ToolDefinition[]): number {
  if (tools.length === 0) return 0
  return tools.reduce((sum, tool) => sum + countTokens(JSON.stringify(tool)), TOOLS_TOKENS)
}

/** System and tools: part of every request, on no surface. */
export const priceOverhead = ({
  system,
  tools,
}: {
  readonly system: string
  readonly tools: readonly ToolDefinition[]
}): number => priceText(system) + priceTools(tools)

/**
 * Tokens of one message with these content blocks, before the model's ratio.
 *
 * - text, and thinking that can be read: its tokens
 * - image: by its pixels, never its base64; at its tier's maximum when the size is not in the block (`url`, `file`)
 * - document: PDF by its pages (`pdfTokens`), text and content sources by their text; title and context
 * - calls (`tool_use`, `*_tool_use`): name, input as JSON, and the framing of the call and its result
 * - results (`tool_result`, `*_tool_result`): their content, recursively
 * - anything else: its JSON, with long base64 strings counted by size
 *
 * Linear in the size of the text; images and documents cost a bounded look at their headers.
 */
export function priceContent(blocks: readonly ContentBlock[], options: PriceOptions = {}): number {
  return MESSAGE_TOKENS + priceBlocks(blocks, options.imageTier ?? 'high')
}

const priceBlocks = (blocks: readonly ContentBlock[], tier: ImageTier): number =>
  blocks.reduce((sum, block) => sum + priceBlock(block, tier), 0)

function priceBlock(block: ContentBlock, tier: ImageTier): number {
  const { type } = block
  if (type === 'text' && typeof block['text'] === 'string') return countTokens(block['text'])
  if (type === 'image') return priceImage(block['source'], tier)
  if (type === 'document') return priceDocument(block, tier)
  if (type === 'thinking') return priceThinking(block['thinking'], block['signature'])
  if (type === 'redacted_thinking') return hiddenTextTokens(block['data'])
  if (type.endsWith('tool_use')) {
    return (
      CALL_TOKENS + countTokens(String(block['name'])) + countTokens(JSON.stringify(block['input'] ?? {}))
    )
  }
  if (type.endsWith('tool_result')) return priceNested(block['content'], tier)
  return priceJson(block, tier)
}

/** Content of a result or a document: text, blocks, one block, or nothing. */
function priceNested(content: unknown, tier: ImageTier): number {
  if (content === undefined || content === null) return 0
  if (typeof content === 'string') return countTokens(content)
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content]
  return parts.reduce<number>(
    (sum, part) => sum + (isBlock(part) ? priceBlock(part, tier) : priceJson(part, tier)),
    0,
  )
}

function priceImage(source: unknown, tier: ImageTier): number {
  const data = isRecord(source) ? source['data'] : undefined
  const size = typeof data === 'string' ? imageSize(data) : undefined
  return size === undefined ? maxImageTokens(tier) : imageTokens(size, tier)
}

function priceDocument(block: ContentBlock, tier: ImageTier): number {
  const labels = [block['title'], block['context']].filter((label) => typeof label === 'string')
  const source = isRecord(block['source']) ? block['source'] : {}
  return labels.reduce((sum, label) => sum + countTokens(label), priceSource(source, tier))
}

function priceSource(source: Readonly<Record<string, unknown>>, tier: ImageTier): number {
  const { type, data, content } = source
  if (type === 'text' && typeof data === 'string') return countTokens(data)
  if (type === 'content') return priceNested(content, tier)
  return typeof data === 'string' ? pdfTokens(data) : unknownPdfTokens
}

/**
 * The model reads the thinking, not its signature, which therefore costs nothing beside a text. Where the API leaves
 * the text out (`display: 'omitted'`), the signature holds it in encrypted form, and its length tells the text's.
 */
function priceThinking(thinking: unknown, signature: unknown): number {
  return typeof thinking === 'string' && thinking !== '' ? countTokens(thinking) : hiddenTextTokens(signature)
}

function hiddenTextTokens(sealed: unknown): number {
  if (typeof sealed !== 'string') return 0
  return Math.max(0, Math.ceil((sealed.length - SIGNATURE_CHARS) * TOKENS_PER_OPAQUE_CHAR))
}

/** Cache marks are not part of what the model sees. Media never cost more than the largest image. */
function priceJson(value: unknown, tier: ImageTier): number {
  let opaqueTokens = 0
  const json = JSON.stringify(value, (key: string, field: unknown) => {
    if (key === 'cache_control') return undefined
    if (typeof field !== 'string' || field.length < OPAQUE_CHARS || !OPAQUE_PATTERN.test(field)) return field
    opaqueTokens += Math.min(maxImageTokens(tier), Math.ceil(field.length * TOKENS_PER_OPAQUE_CHAR))
    return ''
  })
  return opaqueTokens + countTokens(json)
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isBlock = (value: unknown): value is ContentBlock =>
  isRecord(value) && typeof value['type'] === 'string'
