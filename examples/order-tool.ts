import { defineTool } from 'durable-compaction/worker'
import { z } from 'zod'

/** A tool of one's own. What it returns is text or Anthropic content blocks; what it throws, the model reads as an error. */
export const orderTool = defineTool({
  name: 'order_status',
  description: 'Looks up where an order is, with every stop on its way.',
  input: z.object({ order: z.string().regex(/^\d+$/).describe('number of the order, without the #') }),
  // It only reads: after a crash it may run again. A tool that does not say so runs once, and its outcome is then "unknown".
  idempotent: true,
  timeoutMs: 10_000,
  async run({ order }, { signal }) {
    signal.throwIfAborted()
    const stops = Array.from(
      { length: 80 },
      (_, stop) => `${stop} parcel ${order}-${stop} left depot ${stop * 7}`,
    )
    return `Order ${order}\n${stops.join('\n')}\nDelivered to locker ${order}-L`
  },
})
