import { splitInjected, wordsInResult } from './injected.ts'
import type { LedgerBlock, LedgerMessage, UserWords } from './types.ts'

/** Characters of a block that are matched. The user's words are kept whole all the same. */
export const MATCHED_CHARS = 120_000

/** What one content block says. `message` is the position of its message in the span. */
export type Entry =
  | {
      readonly kind: 'user'
      readonly message: number
      readonly text: string
      readonly note?: UserWords['note']
    }
  | { readonly kind: 'injected' | 'assistant'; readonly message: number; readonly text: string }
  | ToolCall
  | ToolResult

export interface ToolCall {
  readonly kind: 'call'
  readonly message: number
  readonly callId: string
  readonly tool: string
  readonly input: unknown
}

export interface ToolResult {
  readonly kind: 'result'
  readonly message: number
  readonly callId: string
  readonly text: string
  readonly isError: boolean
}

const USER_SOURCES = new Set(['prompt', 'import'])
const INJECTED_SOURCES = new Set(['context', 'notice'])

/**
 * Reads the blocks of a span, oldest first; thinking is ignored. The text of an earlier checkpoint is left out when its
 * ledger is carried (`skipCheckpoints`), else it counts as injected.
 */
export function readEntries(messages: readonly LedgerMessage[], skipCheckpoints: boolean): Entry[] {
  const entries: Entry[] = []
  const tools = new Map<string, string>()
  messages.forEach((message, position) => {
    const author = authorOf(message)
    if (author === 'checkpoint' && skipCheckpoints) return
    for (const block of message.blocks) {
      for (const entry of readBlock(block, position, author, tools)) entries.push(entry)
    }
  })
  return entries
}

type Author = 'user' | 'injected' | 'assistant' | 'checkpoint'

function authorOf({ role, source }: LedgerMessage): Author {
  if (role === 'assistant') return 'assistant'
  if (source === undefined || USER_SOURCES.has(source)) return 'user'
  return INJECTED_SOURCES.has(source) ? 'injected' : 'checkpoint'
}

function readBlock(block: LedgerBlock, message: number, author: Author, tools: Map<string, string>): Entry[] {
  const fields = block as LedgerBlock & Record<string, unknown>
  if (block.type === 'text') return readText(String(fields['text'] ?? ''), message, author)
  if (block.type.endsWith('tool_use')) {
    const callId = String(fields['id'] ?? '')
    const tool = String(fields['name'] ?? '')
    tools.set(callId, tool)
    return [{ kind: 'call', message, callId, tool, input: fields['input'] }]
  }
  if (block.type.endsWith('tool_result')) {
    const callId = String(fields['tool_use_id'] ?? '')
    const text = textOf(fields['content'])
    const isError = fields['is_error'] === true
    const result: Entry = { kind: 'result', message, callId, text, isError }
    const words = wordsInResult(tools.get(callId) ?? '', text, isError)
    return words ? [result, { kind: 'user', message, ...words }] : [result]
  }
  if (block.type === 'document') return nonEmpty('injected', message, textOf(fields['source']))
  return []
}

function readText(text: string, message: number, author: Author): Entry[] {
  if (author === 'assistant') return nonEmpty('assistant', message, text)
  if (author !== 'user') return nonEmpty('injected', message, text)
  const { own, injected } = splitInjected(text)
  const entries: Entry[] = nonEmpty('injected', message, injected)
  if (own !== '') entries.push({ kind: 'user', message, text: own })
  return entries
}

function nonEmpty(kind: 'injected' | 'assistant', message: number, text: string): Entry[] {
  return text.trim() === '' ? [] : [{ kind, message, text }]
}

/** All readable text in the content of a result: no image data, no signatures. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(textOf).filter(Boolean).join('\n')
  if (typeof content !== 'object' || content === null) return ''
  const fields = content as Record<string, unknown>
  if (fields['type'] === 'base64') return ''
  return ['title', 'url', 'text', 'content', 'data', 'source', 'error_code', 'stdout', 'stderr']
    .map((key) => textOf(fields[key]))
    .filter(Boolean)
    .join('\n')
}

const NUMBERS_OF_A_READ = /^(?:offset|limit|head_limit|timeout\w*|line|start_line|end_line|max_\w+)$/

/** The string values of a tool input, one a line. A short one stands in quotes, which marks it as a name of its own. */
export function inputText(input: unknown): string {
  const parts: string[] = []
  let room = MATCHED_CHARS
  const walk = (value: unknown, depth: number): void => {
    if (room <= 0 || depth > 8) return
    if (typeof value === 'string') {
      const text = value.slice(0, room)
      room -= text.length
      parts.push(/^\S{1,60}$/.test(text) ? `"${text}"` : text)
    } else if (Array.isArray(value)) {
      for (const entry of value) walk(entry, depth + 1)
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, entry] of Object.entries(value)) {
        if (!NUMBERS_OF_A_READ.test(key)) walk(entry, depth + 1)
      }
    }
  }
  walk(input, 0)
  return parts.join('\n')
}
