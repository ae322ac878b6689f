import type { ContentBlock } from '../../../src/shared/session/content.ts'

// A reply as the Messages API streams it.

export type StreamEvent = { readonly type: string } & Readonly<Record<string, unknown>>

export interface StreamedReply {
  readonly content: readonly ContentBlock[]
  readonly stopReason?: string | null
  readonly usage?: Readonly<Record<string, number>>
  readonly model?: string
  readonly id?: string
}

const PIECE = 7

/** Cuts texts and inputs into pieces, as a model writes them. */
export function streamEvents({
  content,
  stopReason,
  usage = {},
  model = 'claude-test',
  id = 'msg_1',
}: StreamedReply): StreamEvent[] {
  const { output_tokens: written = 20, ...read } = usage
  const calls = content.some(({ type }) => type === 'tool_use')
  return [
    {
      type: 'message_start',
      message: {
        id,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 10,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          ...read,
          output_tokens: 1,
        },
      },
    },
    ...content.flatMap(blockEvents),
    {
      type: 'message_delta',
      delta: {
        stop_reason: stopReason === undefined ? (calls ? 'tool_use' : 'end_turn') : stopReason,
        stop_sequence: null,
      },
      usage: { output_tokens: written },
    },
    { type: 'message_stop' },
  ]
}

function blockEvents(block: ContentBlock, index: number): StreamEvent[] {
  const { begin, deltas } = parts(block)
  return [
    { type: 'content_block_start', index, content_block: begin },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

function parts(block: ContentBlock): { begin: ContentBlock; deltas: object[] } {
  switch (block.type) {
    case 'text': {
      const { citations, ...begin } = block
      const cited = Array.isArray(citations) ? citations : []
      return {
        begin: { ...begin, text: '', ...(cited.length === 0 ? {} : { citations: [] }) } as ContentBlock,
        deltas: [
          ...pieces(String(block['text'])).map((text) => ({ type: 'text_delta', text })),
          ...cited.map((citation) => ({ type: 'citations_delta', citation })),
        ],
      }
    }
    case 'thinking':
      return {
        begin: { ...block, thinking: '', signature: '' },
        deltas: [
          ...pieces(String(block['thinking'])).map((thinking) => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature: block['signature'] },
        ],
      }
    case 'tool_use':
    case 'server_tool_use':
      return {
        begin: { ...block, input: {} },
        deltas: ['', ...pieces(JSON.stringify(block['input']))].map((json) => ({
          type: 'input_json_delta',
          partial_json: json,
        })),
      }
    default:
      return { begin: block, deltas: [] }
  }
}

function pieces(text: string): string[] {
  const all: string[] = []
  for (let at = 0; at < text.length; at += PIECE) all.push(text.slice(at, at + PIECE))
  return all
}

export const sse = (events: readonly StreamEvent[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
