// Starts one agent of each mode and says what was compacted.
import { Client, Connection } from '@temporalio/client'
import type { arrayAgent } from './array-mode.ts'
import type { logAgent } from './log-mode.ts'

const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233' })
const client = new Client({ connection })
const question = 'Where are my orders #4711 to #4718?'
// A session's id need not be its workflow's.
const log = await client.workflow.execute<typeof logAgent>('logAgent', {
  workflowId: 'log-agent-of-ada',
  taskQueue: 'own-agents',
  args: ['orders-by-log', question],
})
console.log('log mode:', log)
const array = await client.workflow.execute<typeof arrayAgent>('arrayAgent', {
  workflowId: 'array-agent-of-ada',
  taskQueue: 'own-agents',
  args: ['orders-by-array', question],
})
console.log('array mode:', array)
await connection.close()
