import type { ContentBlock } from './content.ts'
import type { SurfaceNode } from './events.ts'

/** A call on the surface, of a tool of ours or of the provider (`server_tool_use`, `mcp_tool_use`, …). */
export interface ToolCall {
  readonly callId: string
  readonly name: string
  /** Index of its node. */
  readonly at: number
  readonly block: ContentBlock
}

/** A result on the surface: a `tool/result` event, or a result block inside a message. */
export interface ToolAnswer {
  readonly callId: string
  readonly name: string
  readonly at: number
  readonly content: readonly ContentBlock[]
  readonly isError: boolean
  /** The result block, when the result stands inside a message. */
  readonly block?: ContentBlock
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

/** Pairs calls with results by call id, in surface order. A result answers the newest call of its id that has none. Linear. */
export function pairTools(nodes: readonly SurfaceNode[]): ToolPairing {
  const calls: ToolCall[] = []
  const answers = new Map<ToolCall, ToolAnswer>()
  const repeated: ToolAnswer[] = []
  const orphans: ToolAnswer[] = []
  const open = new Map<string, ToolCall[]>()
  for (const [at, node] of nodes.entries()) {
    for (const part of toolParts(node, at)) {
      if ('isError' in part) {
        const waiting = open.get(part.callId)
        const call = waiting === undefined ? undefined : takeNewest(waiting)
        if (call !== undefined) answers.set(call, part)
        else (waiting === undefined ? orphans : repeated).push(part)
      } else {
        calls.push(part)
        const waiting = open.get(part.callId)
        if (waiting === undefined) open.set(part.callId, [part])
        else waiting.push(part)
      }
    }
  }
  return { calls, answers, repeated, orphans }
}

/** Of several open calls with one id, the first in the newest message. */
function takeNewest(waiting: ToolCall[]): ToolCall | undefined {
  const newest = waiting.at(-1)?.at
  const index = waiting.findIndex((call) => call.at === newest)
  return index === -1 ? undefined : waiting.splice(index, 1)[0]
}

function toolParts(node: SurfaceNode, at: number): (ToolCall | ToolAnswer)[] {
  if (node.type === 'tool/result') {
    const { callId, name, content, isError } = node.data
    return [{ callId, name, at, content, isError }]
  }
  return node.data.content.flatMap((block): (ToolCall | ToolAnswer)[] => {
    const { id, name, tool_use_id: callId } = block
    if (isCallBlock(block)) return [{ callId: String(id), name: String(name ?? ''), at, block }]
    if (!isResultBlock(block)) return []
    return [
      {
        callId: String(callId),
        name: '',
        at,
        content: contentOf(block),
        isError: block['is_error'] === true,
        block,
      },
    ]
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
