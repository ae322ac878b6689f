// A snippet of README, which a test holds against this file. session-worker.ts is the whole program.
import { NativeConnection } from '@temporalio/worker'
import { sqliteStore } from 'durable-compaction/store'
import { createSessionWorker } from 'durable-compaction/worker'
import { clerkModel } from './clerk-model.ts' // capacity and generate; for Claude: anthropicModels(new Anthropic())
import { orderTool } from './order-tool.ts' // a zod schema and run

const worker = await createSessionWorker({
  connection: await NativeConnection.connect({ address: 'localhost:7233' }),
  store: sqliteStore({ path: 'sessions.db' }),
  taskQueue: 'agents',
  models: { acme: clerkModel() },
  tools: [orderTool],
})
await worker.run()
