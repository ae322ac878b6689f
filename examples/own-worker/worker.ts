// An existing worker that also serves sessions: one task queue, its own workflows and activities, its own tools and model.
import { fileURLToPath } from 'node:url'
import { NativeConnection, Worker } from '@temporalio/worker'
import { sqliteStore } from 'durable-compaction/store'
import { DurableCompactionPlugin } from 'durable-compaction/worker'
import { clerkModel } from '../clerk-model.ts'
import { orderTool } from '../order-tool.ts'
import { orderActivities } from './activities.ts'

const connection = await NativeConnection.connect({
  address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233',
})
const store = sqliteStore({ path: process.env['SESSION_STORE'] ?? 'sessions.db' })
const worker = await Worker.create({
  connection,
  taskQueue: 'orders',
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  activities: orderActivities,
  plugins: [
    new DurableCompactionPlugin({
      store,
      models: { acme: clerkModel() },
      tools: [orderTool],
      onError: (error) => console.error(error),
    }),
  ],
})
console.log('The worker polls.')
await worker.run()
await store.close()
await connection.close()
