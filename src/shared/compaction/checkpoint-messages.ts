import { isText, type ToolResultBlock } from '../session/content.ts'
import type { SurfaceNode } from '../session/events.ts'
import type { Pin } from './checkpoint-state.ts'
import type { LedgerMessage } from './ledger/types.ts'
import { withoutKept } from './pins.ts'

/** Surface nodes as the ledger reads them. A user's `<keep>` text that is pinned is not quoted a second time. */
export function ledgerMessages(nodes: readonly SurfaceNode[], pins: readonly Pin[]): LedgerMessage[] {
  const kept = new Set(pins.filter((pin) => pin.source === 'keep').map((pin) => pin.text))
  return nodes.map((node) => ledgerMessage(node, kept))
}

function ledgerMessage(node: SurfaceNode, kept: ReadonlySet<string>): LedgerMessage {
  const { seq } = node
  switch (node.type) {
    case 'assistant/message':
      return { role: 'assistant', blocks: node.data.content, seq }
    case 'user/message': {
      const blocks = node.data.content.map((block) =>
        isText(block) ? { ...block, text: withoutKept(block.text, kept) } : block,
      )
      return { role: 'user', blocks, source: node.data.source, seq }
    }
    case 'tool/result': {
      const { callId, content, isError } = node.data
      const result: ToolResultBlock = { type: 'tool_result', tool_use_id: callId, content, is_error: isError }
      return { role: 'user', blocks: [result], seq }
    }
  }
}
