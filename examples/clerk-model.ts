import type { ContentBlock, ModelClient, ModelReply, ModelRequest } from 'durable-compaction/core'

/**
 * A model of one's own, as small as one can be: rules in the place of a network call. It asks for every order that the user names, and
 * then says what it found. The one for Claude is `anthropicModels` of the package.
 */
export function clerkModel(): ModelClient {
  return {
    // What no one knows is null: without a window, pressure needs the policy's `thresholdTokens`.
    capacity: async () => ({ contextWindow: 32_000, maxOutputTokens: 2_000 }),
    generate: async (request, { signal }) => {
      signal.throwIfAborted()
      return request.purpose === 'summary' ? reply('The user asks where orders are.') : answer(request)
    },
  }
}

function answer({ messages, index }: ModelRequest): ModelReply {
  const last = messages.at(-1)?.content ?? []
  const found = last.filter((block) => block.type === 'tool_result').length
  if (found > 0) return reply(`Found ${found} ${found === 1 ? 'order' : 'orders'}.`)
  const orders = [...new Set(JSON.stringify(last).match(/#\d+/g))]
  if (orders.length === 0) return reply('Which order?')
  const calls = orders.map((order, at) => ({
    type: 'tool_use',
    id: `call_${index}_${at}`, // Unique in the session: the index counts its replies.
    name: 'order_status',
    input: { order: order.slice(1) },
  }))
  return { content: calls, stopReason: 'tool_use', usage: null }
}

function reply(text: string): ModelReply {
  const content: ContentBlock[] = [{ type: 'text', text }]
  // A provider's usage would be the truth; without one the session goes by its own count.
  return { content, stopReason: 'end_turn', usage: null }
}
