// A worker for sessions alone: workflows, tools, model calls, and the loop that closes what a dead worker left open.
// Run as many as you like on one host; they share the store's file.
import { NativeConnection } from '@temporalio/worker'
import { sqliteStore } from 'durable-compaction/store'
import { createSessionWorker } from 'durable-compaction/worker'
import { clerkModel } from './clerk-model.ts'
import { orderTool } from './order-tool.ts'

const connection = await NativeConnection.connect({
  address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233',
})
const store = sqliteStore({ path: process.env['SESSION_STORE'] ?? 'sessions.db' })
const worker = await createSessionWorker({
  connection,
  store,
  taskQueue: 'agents',
  models: { acme: clerkModel() }, // The key is the provider: sessions name `acme/<model>`.
  tools: [orderTool],
  onReconciled: ({ sessionId, compactionId }, why) =>
    console.warn(`closed ${compactionId} of ${sessionId}: ${why}`),
  onError: (error) => console.error(error),
})
console.log('The worker polls. SIGTERM lets what runs finish, for at most a minute.')
await worker.run()
await store.close()
await connection.close()
