import { once } from 'node:events'
import { join } from 'node:path'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import type { Command } from 'commander'
import { sqliteStore } from '../../store/index.ts'
import { obtainServer } from '../../worker/dev-server/obtain-server.ts'
import { createSessionWorker, fileTools, scriptedModel } from '../../worker/index.ts'
import { serverUnavailable } from '../exit-codes.ts'
import { homeFolder, removeDevState, writeDevState } from '../home.ts'
import { action, type Setting } from '../setting.ts'

/** `dev` and `worker`: what runs until it is stopped. */
export function addServeCommands(program: Command): void {
  program
    .command('dev')
    .description('a Temporal server, a store and a worker, for trying things out')
    .option('--ui-port <port>', 'port of the web page; default: a free one')
    .option('--port <port>', 'port of the server; default: a free one')
    .option('--root <folder>', 'folder that the tools may use', '.')
    .action(action(runDev))
  program
    .command('worker')
    .description('a worker with the file tools, for an existing server')
    .option('--root <folder>', 'folder that the tools may use', '.')
    .action(action(runWorker))
}

interface DevOptions {
  readonly uiPort?: string
  readonly port?: string
  readonly root: string
}

async function runDev(
  { output, places }: Setting,
  _args: readonly string[],
  options: DevOptions,
): Promise<void> {
  const home = homeFolder()
  const server = await obtainServer({
    ui: options.uiPort === undefined ? true : Number(options.uiPort),
    ...(options.port === undefined ? {} : { port: Number(options.port) }),
    dbFilename: join(home, 'temporal.db'),
  })
  const { address, namespace, uiUrl } = server
  writeDevState(home, {
    address,
    namespace,
    storePath: places.storePath,
    taskQueue: places.taskQueue,
    uiUrl,
    pid: process.pid,
  })
  output.result(
    { ...places, address, namespace, uiUrl },
    `Temporal   ${address} (${server.origin})\nweb page   ${uiUrl ?? 'none'}\nstore      ${places.storePath}\nCtrl-C ends it; the store stays.`,
  )
  try {
    await serve(
      { address, namespace, storePath: places.storePath, taskQueue: places.taskQueue },
      options.root,
    )
  } finally {
    removeDevState(home)
    await server.stop()
  }
}

async function runWorker(
  { output, places }: Setting,
  _args: readonly string[],
  { root }: { root: string },
): Promise<void> {
  output.result(
    places,
    `Worker of task queue ${places.taskQueue} at ${places.address}, store ${places.storePath}. Ctrl-C ends it.`,
  )
  await serve(places, root)
}

async function serve(places: Setting['places'], root: string): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('WARN'), shutdownSignals: [] })
  const connection = await NativeConnection.connect({ address: places.address }).catch((error: unknown) => {
    throw serverUnavailable(places.address, error)
  })
  const store = sqliteStore({ path: places.storePath })
  const worker = await createSessionWorker({
    connection,
    store,
    namespace: places.namespace,
    taskQueue: places.taskQueue,
    models: { scripted: echoModel() },
    tools: fileTools(root),
    onReconciled: (attempt, why) =>
      console.error(`closed compaction ${attempt.compactionId} of ${attempt.sessionId}: ${why}`),
    onError: (error) => console.error(error),
  })
  const running = worker.run()
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM'), running])
  worker.shutdown()
  await running
  await store.close()
  await connection.close()
}

/** `scripted/echo`: a model without a key, which repeats what it was told, to try out sessions and compactions. */
function echoModel() {
  return scriptedModel(
    ({ messages }) => `You said: ${JSON.stringify(messages.at(-1)?.content.at(-1)?.['text'] ?? '')}`,
    {
      capacity: { contextWindow: 32_000, maxOutputTokens: 4_000 },
      summaries: 'The user tries out the session; the model repeats what the user says.',
    },
  )
}
