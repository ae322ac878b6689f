import { type ContentBlock, isToolResult, text } from './content.ts'
import type { SurfaceNode } from './events.ts'

// Messages as a program of one's own holds them, and what the log makes of them: one node for a reply, for each tool result, and for what else the user says.

/** A `MessageParam` of the Anthropic SDK, or anything of its shape. */
export interface MessageLike {
  readonly role: 'user' | 'assistant'
  readonly content: string | readonly { readonly type: string }[]
}

export type MessagePart =
  | { readonly kind: 'reply'; readonly content: readonly ContentBlock[] }
  | { readonly kind: 'said'; readonly content: readonly ContentBlock[] }
  | {
      readonly kind: 'result'
      readonly callId: string
      readonly content: readonly ContentBlock[]
      readonly isError: boolean
    }

/** Text as a block; without the marks of a prompt cache, which belong to one request and move from step to step. */
export function plainContent(content: MessageLike['content']): readonly ContentBlock[] {
  if (typeof content === 'string') return content === '' ? [] : [text(content)]
  return content.map((block) => {
    const { cache_control: _mark, ...plain } = block as ContentBlock
    return plain as ContentBlock
  })
}

/** What becomes an event each, in order: the results of a message stand before what else it says. */
export function partsOf({ role, content }: MessageLike): MessagePart[] {
  const blocks = plainContent(content)
  if (role === 'assistant') return blocks.length === 0 ? [] : [{ kind: 'reply', content: blocks }]
  const results = blocks.filter(isToolResult).map((block) => ({
    kind: 'result' as const,
    callId: block.tool_use_id,
    content: plainContent(block.content ?? []),
    isError: block.is_error === true,
  }))
  const said = blocks.filter((block) => !isToolResult(block))
  return said.length === 0 ? results : [...results, { kind: 'said', content: said }]
}

/** Nodes with the contents of messages and nothing else that is true of an event: enough for `deriveMessages`. */
export function contentNodes(messages: readonly MessageLike[]): SurfaceNode[] {
  const names = new Map<string, string>()
  return messages.flatMap(partsOf).map((part, seq): SurfaceNode => {
    const place = { key: '', turn: null, step: null, seq, time: 0, tokens: 0, surfaceOp: 'append' as const }
    if (part.kind === 'result') {
      const { callId, content, isError } = part
      const name = names.get(callId) ?? ''
      return { ...place, type: 'tool/result', data: { callId, name, content: [...content], isError } }
    }
    const content = [...part.content]
    if (part.kind === 'said') return { ...place, type: 'user/message', data: { content, source: 'context' } }
    for (const block of content)
      if (block.type === 'tool_use') names.set(String(block['id']), String(block['name']))
    const rest = { usage: null, stopReason: '', provider: '', model: '' }
    return { ...place, type: 'assistant/message', data: { content, ...rest } }
  })
}

/** A message of the core in the caller's own type, which it has the shape of. */
export const asCallers = <M extends MessageLike>(messages: readonly MessageLike[]): M[] =>
  messages.map((message) => message as unknown as M)
