// Starts a session on the existing worker's queue, and a workflow that prompts it.
import { Client, Connection } from '@temporalio/client'
import { SessionClient } from 'durable-compaction'
import { sqliteStore } from 'durable-compaction/store'
import type { reportDelay } from './report-delay.ts'

const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233' })
const client = new Client({ connection })
const store = sqliteStore({ path: process.env['SESSION_STORE'] ?? 'sessions.db' })
const sessions = new SessionClient({ client, store, taskQueue: 'orders' })

const session = await sessions.start('delays-of-ada', {
  model: 'acme/clerk',
  tools: ['order_status'],
  splitTaskQueues: false, // This worker polls one queue: model calls and tools run there, too.
})
const requestId = await client.workflow.execute<typeof reportDelay>('reportDelay', {
  workflowId: 'report-delay-of-ada',
  taskQueue: 'orders',
  args: [session.id, 'ada'],
})
const { reason, message } = await session.turn(requestId).result()
console.log('answer:', reason, JSON.stringify(message))
await session.close('reported')
await store.close()
await connection.close()
