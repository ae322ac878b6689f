// A worker for agents of one's own, with the activities of durable-compaction beside theirs.
import { fileURLToPath } from 'node:url'
import { Client } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { createSessionActivities } from 'durable-compaction/activity'
import { sqliteStore } from 'durable-compaction/store'
import { startReconciler, temporalRuns, WORKER_DEFAULTS } from 'durable-compaction/worker'
import { clerkModel } from '../clerk-model.ts'
import { arrayActivities, logActivities } from './activities.ts'

const connection = await NativeConnection.connect({
  address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233',
})
const client = new Client({ connection })
const store = sqliteStore({ path: process.env['SESSION_STORE'] ?? 'sessions.db' })
const { clusterId: cluster } = await connection.workflowService.getClusterInfo({})
const shared = { store, runs: temporalRuns(client), cluster, clock: Date.now }

const worker = await Worker.create({
  ...WORKER_DEFAULTS,
  connection,
  taskQueue: 'own-agents',
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  activities: {
    ...logActivities(store),
    ...arrayActivities,
    // The model client writes the summaries; the agent's own requests do not pass through it.
    ...createSessionActivities({ ...shared, models: { acme: clerkModel() }, tools: [] }),
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
