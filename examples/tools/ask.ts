// What the programs of this folder share: a worker with the given tools, and one session whose model calls one of them. Needs no key.
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { SessionClient } from 'durable-compaction'
import { sqliteStore } from 'durable-compaction/store'
import { createSessionWorker, scriptedModel, type WorkerTool } from 'durable-compaction/worker'

Runtime.install({ logger: new DefaultLogger('WARN') }) // Before the first worker; it says much otherwise.

const address = process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233'

/** Prints what came of the call. */
export async function ask(
  tools: readonly WorkerTool[],
  call: { name: string; input: object },
): Promise<void> {
  const store = sqliteStore({ path: process.env['SESSION_STORE'] ?? 'sessions.db' })
  const connection = await NativeConnection.connect({ address })
  const taskQueue = `tools-${call.name}`
  const worker = await createSessionWorker({
    connection,
    store,
    taskQueue,
    models: { scripted: scriptedModel([{ content: [{ type: 'tool_use', id: 'c1', ...call }] }, 'Done.']) },
    tools,
  })
  const running = worker.run()

  const client = new Client({ connection: await Connection.connect({ address }) })
  const sessions = new SessionClient({ client, store, taskQueue, workerTimeoutMs: 60_000 })
  const session = await sessions.start(`tools-${call.name}-${Date.now()}`, {
    model: 'scripted/one-call',
    tools: tools.map(({ name }) => name), // A session offers its model the tools that it was started with.
  })
  const turn = await session.prompt('Go.')
  const { reason } = await turn.result()
  for (const { type, data } of await store.events(session.id))
    if (type === 'tool/result')
      console.log(data.name, data.isError ? 'failed:' : 'said:', JSON.stringify(data.content))
  console.log('turn:', reason)

  await session.close()
  await session.workflow.result() // Closed by its worker, which must still be there.
  worker.shutdown()
  await running // The tools are closed, too.
  await client.connection.close()
  await connection.close()
  await store.close()
}
