// An existing worker that also serves sessions: one task queue, its own workflows and activities, its own tools and model.
import { fileURLToPath } from 'node:url'
import { Client } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { createSessionActivities } from 'durable-compaction/activity'
import { sqliteStore } from 'durable-compaction/store'
import { startReconciler, temporalRuns, WORKER_DEFAULTS } from 'durable-compaction/worker'
import { clerkModel } from '../clerk-model.ts'
import { orderTool } from '../order-tool.ts'
import { orderActivities } from './activities.ts'

const connection = await NativeConnection.connect({
  address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233',
})
const client = new Client({ connection })
const store = sqliteStore({ path: process.env['SESSION_STORE'] ?? 'sessions.db' })
const { clusterId: cluster } = await connection.workflowService.getClusterInfo({})
const shared = { store, runs: temporalRuns(client), cluster, clock: Date.now }

const worker = await Worker.create({
  ...WORKER_DEFAULTS, // A cancel reaches a running call within a second; a dead worker's session answers after two.
  connection,
  taskQueue: 'orders',
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  activities: {
    ...orderActivities,
    ...createSessionActivities({ ...shared, models: { acme: clerkModel() }, tools: [orderTool] }),
  },
})
// Closes what a dead worker left open. One such loop in each worker process.
const reconciler = startReconciler({
  ...shared,
  namespace: 'default',
  terminate: async (workflowId, reason) =>
    void (await client.workflow.getHandle(workflowId).terminate(reason)),
  onError: (error) => console.error(error),
})
console.log('The worker polls.')
await worker.run()
reconciler.stop()
await store.close()
await connection.close()
