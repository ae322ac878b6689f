import { type ContentBlock, isThinking, isToolResult, type Message, text } from '../session/content.ts'
import { headOf, tailOf } from '../session/well-formed.ts'
import { isMedia, mediaName } from './media.ts'

/** Stands where a part would begin with the assistant: a request begins with the user. */
const PART_OPENING: Message = {
  role: 'user',
  content: [text('[The session before this point is summarized by itself.]')],
}

/** A smaller part is not worth a call: what is left is one unit, as good as. */
const LEAST_SHARE = 0.05

/**
 * Two parts of about the same size, each valid by itself: no call is separated from its results, and each begins with the
 * user. Null when nearly all of it is one unit, which only shortening can make smaller.
 */
export function halve(
  messages: readonly Message[],
  price: (content: readonly ContentBlock[]) => number,
): [Message[], Message[]] | null {
  const sizes = messages.map((message) => price(message.content))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let best: { at: number; distance: number } | undefined
  let before = 0
  for (const [at, message] of messages.entries()) {
    const isWorthIt = Math.min(before, total - before) >= LEAST_SHARE * total
    const distance = Math.abs(2 * before - total)
    const isBetter = best === undefined || distance < best.distance
    if (at > 0 && isWorthIt && isBetter && !message.content.some(isToolResult)) best = { at, distance }
    before += sizes[at] ?? 0
  }
  if (best === undefined) return null
  const second = messages.slice(best.at)
  return [messages.slice(0, best.at), second[0]?.role === 'user' ? second : [PART_OPENING, ...second]]
}

const SHORTEST_CUT_CHARS = 200
const HEAD_SHARE = 0.65
/** Fields whose value names something or is signed, and so cannot be shortened. */
const UNTOUCHED_FIELDS: ReadonlySet<string> = new Set(['type', 'id', 'tool_use_id', 'name', 'signature'])

/** The messages with every long text cut to half, around a mark, and media as labels. */
export function shorten(messages: readonly Message[]): Message[] {
  return labelMedia(messages).map(({ role, content }) => ({
    role,
    content: content.map((block) => (isThinking(block) ? block : (shortenValue(block) as ContentBlock))),
  }))
}

function shortenValue(value: unknown): unknown {
  if (typeof value === 'string') return shortenText(value)
  if (Array.isArray(value)) return value.map(shortenValue)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([field, part]) => [
      field,
      UNTOUCHED_FIELDS.has(field) ? part : shortenValue(part),
    ]),
  )
}

function shortenText(value: string): string {
  if (value.length < SHORTEST_CUT_CHARS) return value
  const keep = Math.floor(value.length / 2) - 40
  const head = headOf(value, Math.round(keep * HEAD_SHARE))
  const tail = tailOf(value, keep - head.length)
  return `${head} [… ${value.length - head.length - tail.length} characters cut …] ${tail}`
}

/** The messages with images and documents replaced by labels, for a model that takes none. */
export const labelMedia = (messages: readonly Message[]): Message[] =>
  messages.map(({ role, content }) => ({ role, content: content.map(labelBlock) }))

function labelBlock(block: ContentBlock): ContentBlock {
  if (isMedia(block)) return text(`[${mediaName(block)}, not shown]`)
  if (!isToolResult(block) || block.content === undefined || typeof block.content === 'string') return block
  return { ...block, content: block.content.map(labelBlock) }
}
