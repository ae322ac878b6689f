// A worker for agents of one's own, with the activities of durable-compaction beside theirs.
import { fileURLToPath } from 'node:url'
import { NativeConnection, Worker } from '@temporalio/worker'
import { sqliteStore } from 'durable-compaction/store'
import { DurableCompactionPlugin } from 'durable-compaction/worker'
import { clerkModel } from '../clerk-model.ts'
import { arrayActivities, logActivities } from './activities.ts'

const connection = await NativeConnection.connect({
  address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233',
})
const store = sqliteStore({ path: process.env['SESSION_STORE'] ?? 'sessions.db' })
const worker = await Worker.create({
  connection,
  taskQueue: 'own-agents',
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  activities: { ...logActivities(store), ...arrayActivities },
  // The model client writes the summaries; the agent's own requests do not pass through it.
  plugins: [new DurableCompactionPlugin({ store, models: { acme: clerkModel() } })],
})
console.log('The worker polls.')
await worker.run()
await store.close()
await connection.close()
