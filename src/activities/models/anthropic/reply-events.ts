import type { ModelReply } from '../../../shared/ports/model.ts'
import type { ContentBlock } from '../../../shared/session/content.ts'
import type { Usage } from '../../../shared/session/events.ts'
import { BrokenReply, CutStream } from '../reply-errors.ts'
import { type DraftBlock, draftBlock, finished, grown } from './reply-blocks.ts'

/** A reply while it is streamed. Only {@link replyOf} makes a message of it, and only when it is whole. */
export interface Draft {
  readonly blocks: DraftBlock[]
  model: string | undefined
  usage: Usage | null
  stopReason: string | null
  started: boolean
  ended: boolean
}

export const emptyDraft = (): Draft => ({
  blocks: [],
  model: undefined,
  usage: null,
  stopReason: null,
  started: false,
  ended: false,
})

type Fields = Readonly<Record<string, unknown>>

/**
 * Takes one event. Kinds of events that are not known are passed over wherever they stand, as the API asks for.
 *
 * @returns text that it added
 * @throws BrokenReply for an event that cannot stand here
 */
export function take(draft: Draft, event: unknown): string {
  const fields = fieldsOf(event, 'event')
  const { type } = fields
  const isKnown = KNOWN.has(type)
  if (isKnown && !draft.started && type !== 'message_start') throw new BrokenReply(`${type} came first`)
  if (isKnown && draft.ended) throw new BrokenReply(`${type} came after the end of the message`)
  switch (type) {
    case 'message_start':
      start(draft, fieldsOf(fields['message'], 'message'))
      return ''
    case 'content_block_start': {
      if (fields['index'] !== draft.blocks.length)
        throw new BrokenReply(`block ${fields['index']} is out of order`)
      draft.blocks.push(draftBlock(fieldsOf(fields['content_block'], 'content block') as ContentBlock))
      return ''
    }
    case 'content_block_delta': {
      const at = openBlock(draft, fields['index'])
      const delta = fieldsOf(fields['delta'], 'delta')
      draft.blocks[at] = grown(draft.blocks[at] as DraftBlock, delta)
      return delta['type'] === 'text_delta' && typeof delta['text'] === 'string' ? delta['text'] : ''
    }
    case 'content_block_stop': {
      const at = openBlock(draft, fields['index'])
      draft.blocks[at] = { ...(draft.blocks[at] as DraftBlock), open: false }
      return ''
    }
    case 'message_delta':
      finish(draft, fields)
      return ''
    case 'message_stop':
      draft.ended = true
      return ''
    default:
      return ''
  }
}

const KNOWN: ReadonlySet<unknown> = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
])

function start(draft: Draft, message: Fields): void {
  if (draft.started) throw new BrokenReply('a second message began')
  const { role, model, usage, content } = message
  if (role !== 'assistant') throw new BrokenReply(`the message has the role ${JSON.stringify(role)}`)
  draft.started = true
  draft.model = typeof model === 'string' ? model : undefined
  draft.usage = mergeUsage(null, usage)
  if (Array.isArray(content))
    for (const block of content)
      draft.blocks.push({ ...draftBlock(fieldsOf(block, 'content block') as ContentBlock), open: false })
}

function openBlock({ blocks }: Draft, index: unknown): number {
  if (typeof index === 'number' && blocks[index]?.open === true) return index
  throw new BrokenReply(`there is no open block ${String(index)}`)
}

function finish(draft: Draft, { delta, usage }: Fields): void {
  const reason = fieldsOf(delta, 'delta')['stop_reason']
  if (typeof reason === 'string') draft.stopReason = reason
  draft.usage = mergeUsage(draft.usage, usage)
}

/** Later numbers are sums up to then and take the place of earlier ones; what they do not name stays. */
function mergeUsage(known: Usage | null, told: unknown): Usage | null {
  if (typeof told !== 'object' || told === null) return known
  const named = told as Fields
  const count = (name: string, before: number | undefined): number => {
    const value = named[name]
    return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : (before ?? 0)
  }
  return {
    inputTokens: count('input_tokens', known?.inputTokens),
    outputTokens: count('output_tokens', known?.outputTokens),
    cacheReadTokens: count('cache_read_input_tokens', known?.cacheReadTokens),
    cacheWriteTokens: count('cache_creation_input_tokens', known?.cacheWriteTokens),
  }
}

/** Stop reasons after which every block is whole. After any other, calls may be half written, and nobody runs them. */
const WHOLE = new Set(['end_turn', 'tool_use', 'stop_sequence', 'pause_turn'])

/** The message, once its stream has ended. @throws CutStream or BrokenReply when a part of it is missing */
export function replyOf({ blocks, model, usage, stopReason, ended }: Draft): ModelReply {
  if (!ended) throw new CutStream('the stream ended before the message did')
  if (stopReason === null) throw new BrokenReply('the message has no stop reason')
  const isWhole = WHOLE.has(stopReason)
  if (isWhole && blocks.some(({ open }) => open)) throw new BrokenReply('a block of the message has no end')
  return {
    content: blocks.map((block) => {
      const content = finished(block)
      if (content !== undefined) return content
      if (isWhole) throw new BrokenReply('the input of a call is no JSON')
      return block.block
    }),
    stopReason,
    usage,
    ...(model === undefined ? {} : { model }),
  }
}

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw new BrokenReply(`the ${what} is no object`)
}
