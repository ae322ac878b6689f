import type { Message } from 'durable-compaction/core'

// The agent's model, as rules in the place of a network call: it looks up one order after the other, then says that it is done. A real one sends
// `messages` with the Anthropic SDK as they are, and lets its error for a prompt that is too long pass: the workflow's `requestError` knows it.

export const REQUEST = {
  provider: 'acme',
  model: 'clerk',
  system: 'You tell customers where their orders are.',
  tools: [
    {
      name: 'order_status',
      description: 'Looks up where an order is.',
      input_schema: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
    },
  ],
  maxTokens: 1_000,
}

const ORDERS = ['4711', '4712', '4713', '4714', '4715', '4716', '4717', '4718']

export async function askClerk(step: number, messages: readonly Message[]) {
  const order = ORDERS[step - 1]
  const call = { type: 'tool_use', id: `call_${order}`, name: 'order_status', input: { order } }
  const content = order === undefined ? [{ type: 'text', text: 'All orders are found.' }] : [call]
  return {
    message: { role: 'assistant', content } as Message,
    // As the Messages API reports it. It is the truth that the pressure is measured by.
    usage: { input_tokens: Math.ceil(JSON.stringify(messages).length / 4), output_tokens: 20 },
  }
}

/** The result of one call, as a message. */
export async function orderStatus({ id, input }: { id: string; input: unknown }): Promise<Message> {
  const { order } = input as { order: string }
  const stops = Array.from(
    { length: 250 },
    (_, stop) => `${stop} parcel ${order}-${stop} left depot ${stop * 7}`,
  )
  const content = `${stops.join('\n')}\nDelivered to locker ${order}-L`
  return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] }
}
