import type { ContentBlock } from './content.ts'
import type { SurfaceNode } from './events.ts'

/** A call on the surface, of a tool of ours or of the provider (`server_tool_use`, `mcp_tool_use`, …). */
export interface ToolCall {
  readonly callId: string
  readonly name: string
  /** Index of its node, and of its block in that node. */
  readonly at: number
  readonly place: number
  readonly block: ContentBlock
}

/** A result on the surface: a `tool/result` event, or a result block inside a message. */
export interface ToolAnswer {
  readonly callId: string
  readonly name: string
  readonly at: number
  readonly content: readonly ContentBlock[]
  readonly isError: boolean
  /** The result block and its index, when the result stands inside a message. */
  readonly block?: ContentBlock
  readonly place?: number
}

export interface ToolPairing {
  readonly calls: readonly ToolCall[]
  /** The first result of each call. */
  readonly answers: ReadonlyMap<ToolCall, ToolAnswer>
  /** Results whose call has an answer already. */
  readonly repeated: readonly ToolAnswer[]
  /** Results whose call is not before them. */
  readonly orphans: readonly ToolAnswer[]
}

/**
 * Pairs calls with results by call id, in surface order: those of our tools, and apart from them those of the provider's. A result answers
 * the newest call of its id that has none. Linear.
 */
export function pairTools(nodes: readonly SurfaceNode[]): ToolPairing {
  const calls: ToolCall[] = []
  const answers = new Map<ToolCall, ToolAnswer>()
  const repeated: ToolAnswer[] = []
  const orphans: ToolAnswer[] = []
  const open = { ours: new Map<string, ToolCall[]>(), provider: new Map<string, ToolCall[]>() }
  for (const [at, node] of nodes.entries()) {
    for (const part of toolParts(node, at)) {
      const waiting = open[isOurs(part) ? 'ours' : 'provider']
      const sameId = waiting.get(part.callId)
      if ('isError' in part) {
        const call = sameId === undefined ? undefined : takeNewest(sameId)
        if (call !== undefined) answers.set(call, part)
        else (sameId === undefined ? orphans : repeated).push(part)
      } else {
        calls.push(part)
        if (sameId === undefined) waiting.set(part.callId, [part])
        else sameId.push(part)
      }
    }
  }
  return { calls, answers, repeated, orphans }
}

/** False for a call or a result of the provider's own tools, which stand in replies. */
export const isOurs = ({ block }: ToolCall | ToolAnswer): boolean =>
  block === undefined || block.type === 'tool_use' || block.type === 'tool_result'

/** Of several open calls with one id, the first in the newest message. */
function takeNewest(waiting: ToolCall[]): ToolCall | undefined {
  let index = waiting.length - 1
  while (index > 0 && waiting[index - 1]?.at === waiting.at(-1)?.at) index--
  return waiting.splice(index, 1)[0]
}

function toolParts(node: SurfaceNode, at: number): (ToolCall | ToolAnswer)[] {
  if (node.type === 'tool/result') {
    const { callId, name, content, isError } = node.data
    return [{ callId, name, at, content, isError }]
  }
  return node.data.content.flatMap((block, place): (ToolCall | ToolAnswer)[] => {
    const { id, name, tool_use_id: callId, is_error: isError } = block
    if (isResultBlock(block)) {
      return [
        {
          callId: String(callId),
          name: '',
          at,
          place,
          content: contentOf(block),
          isError: isError === true,
          block,
        },
      ]
    }
    const isCall = node.type === 'assistant/message' && isCallBlock(block)
    return isCall ? [{ callId: String(id), name: String(name ?? ''), at, place, block }] : []
  })
}

/** A call of any kind: `tool_use`, `server_tool_use`, `mcp_tool_use`, … */
export const isCallBlock = (block: ContentBlock): boolean =>
  /(?:^|_)tool_use$/.test(block.type) && typeof block['id'] === 'string'

/** A result of any kind: `tool_result`, `web_search_tool_result`, `mcp_tool_result`, … */
export const isResultBlock = (block: ContentBlock): boolean =>
  /(?:^|_)tool_result$/.test(block.type) && typeof block['tool_use_id'] === 'string'

function contentOf(block: ContentBlock): readonly ContentBlock[] {
  const { content } = block
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? (content as readonly ContentBlock[]) : []
}
