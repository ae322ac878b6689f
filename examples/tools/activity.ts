// An activity of one's own, on a worker of one's own: here in the same process, elsewhere in another service, in any language that Temporal has.
import { NativeConnection, Worker } from '@temporalio/worker'
import type { ActivityToolContext } from 'durable-compaction/core'
import { activityTool } from 'durable-compaction/worker'
import { z } from 'zod'
import { ask } from './ask.ts'

const refund = activityTool({
  name: 'refund',
  description: 'Pays an order back.',
  activity: 'refundOrder', // Its type, as its worker registers it.
  taskQueue: 'billing',
  inputSchema: z.object({ order: z.string() }),
  timeoutMs: 60_000, // It runs once; at its time-out the model reads that the outcome is unknown.
})

const connection = await NativeConnection.connect({
  address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233',
})
const billing = await Worker.create({
  connection,
  taskQueue: 'billing',
  activities: {
    // The key is the same in each attempt, and that of no other call: for services that take one.
    refundOrder: async ({ order }: { order: string }, { idempotencyKey }: ActivityToolContext) => ({
      order,
      refunded: true,
      receipt: idempotencyKey.length,
    }),
  },
})
const running = billing.run()

await ask([refund], { name: 'refund', input: { order: '4711' } })

billing.shutdown()
await running
await connection.close()
