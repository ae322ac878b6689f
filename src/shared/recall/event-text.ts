import { isCompactCheckpointSource } from '../checkpoint-source.ts'
import { type ContentBlock, isText, isThinking } from '../session/content.ts'
import type { SessionEvent } from '../session/events.ts'

/** Events that can be read back. */
export const RECALLED_TYPES = ['user/message', 'assistant/message', 'tool/result', 'tool/output'] as const
export type Recalled = SessionEvent<(typeof RECALLED_TYPES)[number]>

export const isRecalled = (event: SessionEvent): event is Recalled =>
  (RECALLED_TYPES as readonly string[]).includes(event.type)

/**
 * Everything in these blocks that is written in words, calls with their inputs included; no pictures, no signatures. Searching, citing and
 * reading back see this same text, so that a place in it means the same to all of them.
 */
export const contentText = (content: readonly ContentBlock[]): string => lines(content.map(blockText))

/** Who wrote it, in a few words. */
export function eventTitle(event: Recalled): string {
  switch (event.type) {
    case 'user/message':
      return isCompactCheckpointSource(event.data.source)
        ? 'an earlier checkpoint'
        : USER_TITLES[event.data.source]
    case 'assistant/message':
      return 'you'
    case 'tool/result':
      return `result of ${named(event.data)}${event.data.isError ? ', an error' : ''}`
    case 'tool/output':
      return `whole output of ${named(event.data)}${kept(event.data.droppedBytes)}`
  }
}

const USER_TITLES = {
  prompt: 'the user',
  import: 'the user',
  context: 'context',
  notice: 'a notice',
} as const

const NAME_CHARS = 64
const named = ({ name }: { readonly name: string }): string => name.slice(0, NAME_CHARS)

const kept = (droppedBytes: number): string =>
  droppedBytes === 0 ? '' : `, without ${droppedBytes} bytes that were not kept`

function blockText(block: ContentBlock): string {
  const { type } = block
  if (isText(block)) return block.text
  if (isThinking(block)) return typeof block['thinking'] === 'string' ? block['thinking'] : ''
  if (type === 'image') return '[image]'
  if (type.endsWith('tool_use')) return lines([`→ ${String(block['name'])}`, words(block['input'])])
  if (type.endsWith('tool_result') && Array.isArray(block['content']))
    return contentText(block['content'] as readonly ContentBlock[])
  const { type: _, ...rest } = block
  return lines([`[${type}]`, words(rest)])
}

/** Values of keys that hold no words. */
const OPAQUE = new Set(['signature', 'encrypted_content', 'cache_control'])

function words(value: unknown): string {
  if (Array.isArray(value)) return lines(value.map(words))
  if (typeof value !== 'object' || value === null)
    return value === undefined || value === null ? '' : String(value)
  if ('type' in value && value.type === 'base64') return ''
  return lines(Object.entries(value).map(([key, part]) => (OPAQUE.has(key) ? '' : `${key}: ${words(part)}`)))
}

const lines = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n')
