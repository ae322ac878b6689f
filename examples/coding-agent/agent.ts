// A coding agent for one folder: its own worker, and `durable-compaction chat` in front of it. One command; Ctrl-C stops a turn, Ctrl-D leaves, the same command comes back.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { sqliteStore } from 'durable-compaction/store'
import { createSessionWorker } from 'durable-compaction/worker'
import { models } from './models.ts'
import { sessionOf, taskQueueOf } from './names.ts'
import { SYSTEM_PROMPT } from './system-prompt.ts'
import { codingTools } from './tools.ts'

const [folder = '.', name] = process.argv.slice(2)
if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) leave(`${folder} is no folder.`)
const root = realpathSync(folder)
const sessionId = sessionOf(root, name)
const taskQueue = taskQueueOf(root)
const address = process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233'
const storePath = process.env['SESSION_STORE'] ?? join(homedir(), '.coding-agent', 'sessions.db')
mkdirSync(dirname(storePath), { recursive: true })

// The terminal belongs to the chat: the worker says nothing there, and Ctrl-C is the chat's.
Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] })
process.on('SIGINT', () => undefined)

const store = sqliteStore({ path: storePath })
const { clients, model } = await models()
const tools = codingTools(root)
const connection = await NativeConnection.connect({ address }).catch(() =>
  leave(
    `Nothing answers at ${address}. Start a server (durable-compaction dev --port 7233), or name one in TEMPORAL_ADDRESS.`,
  ),
)
const worker = await createSessionWorker({
  connection,
  store,
  taskQueue,
  models: clients,
  tools,
  workingDirectory: root,
  onError: (error) => console.error(error),
  // A call that was cut off is made again when the agent comes back.
  worker: { shutdownGraceTime: '1s', shutdownForceTime: '5s' },
})
const running = worker.run()

const settings = [
  '--model',
  model,
  '--system',
  SYSTEM_PROMPT,
  '--tools',
  tools.map((tool) => tool.name).join(','),
]
const isKnown = (await store.session(sessionId)) !== null
const chat = spawn(
  process.execPath,
  [
    commandLine(),
    ...['chat', sessionId, '--address', address, '--store', storePath, '--task-queue', taskQueue],
    ...(isKnown ? [] : settings),
  ],
  { stdio: 'inherit' },
)
const [code] = await once(chat, 'close')

worker.shutdown()
await running
await store.close()
await connection.close()
process.exitCode = code ?? 1

/** That of the installed package. */
function commandLine(): string {
  const packaged = fileURLToPath(import.meta.resolve('durable-compaction/package.json'))
  return join(dirname(packaged), 'dist', 'cli', 'main.js')
}

function leave(why: string): never {
  console.error(why)
  process.exit(2)
}
