import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { formatTable } from '../src/cli/table.ts'
import { SessionClient, type Watched } from '../src/client/index.ts'
import { sqliteStore } from '../src/store/index.ts'
import { findTemporalCli } from '../src/worker/dev-server/find-cli.ts'
import { startDevServer } from '../src/worker/dev-server/start-dev-server.ts'
import { anthropicModels, createSessionWorker } from '../src/worker/index.ts'
import { openAnthropicServer, streamText } from '../test/support/anthropic/server.ts'
import { sse, streamEvents } from '../test/support/anthropic/stream-events.ts'

// From the provider's delta on the wire to a watcher in another process: the official SDK, the activity, the store, and `watch --json`. Printed, not judged: it is
// the machine's time.

const short = process.argv.includes('--short')
const [TURNS, DELTAS, EVERY_MS] = short ? [1, 100, 30] : [5, 200, 30]
const CLI = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))

Runtime.install({ logger: new DefaultLogger('ERROR') })
const folder = mkdtempSync(join(tmpdir(), 'dc-bench-live-'))
const path = join(folder, 'sessions.db')
const server = await startDevServer({ cliPath: (await findTemporalCli()).path })
const far = await openAnthropicServer()
const sent = new Map<string, number>()
const waits: number[] = []
let newest: number[] = []
far.answer = ({ body }, response) => stream(response, (body['messages'] as unknown[]).length)
try {
  await watched(await NativeConnection.connect({ address: server.address }))
  far.assertValid()
} finally {
  far.close()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
waits.sort((a, b) => a - b)
console.log('\nLive text: from the delta on the wire to a watcher in another process\n')
console.log(
  formatTable(
    ['deltas sent', 'seen live', 'p50', 'p95', 'longest'],
    [[sent.size, waits.length, ...[0.5, 0.95, 1].map((share) => `${percentile(share)} ms`)]],
  ),
)
process.exit(0)

async function watched(connection: NativeConnection): Promise<void> {
  const store = sqliteStore({ path })
  const worker = await createSessionWorker({
    connection,
    store,
    models: { anthropic: anthropicModels(far.client()) },
    taskQueue: 'bench',
    worker: { shutdownGraceTime: 0, shutdownForceTime: '2s' },
  })
  const running = worker.run()
  const clientConnection = await Connection.connect({ address: server.address })
  const client = new Client({ connection: clientConnection })
  const sessions = new SessionClient({ client, store, taskQueue: 'bench', workerTimeoutMs: 60_000 })
  const session = await sessions.start('live', { model: 'anthropic/claude-test' })
  const watcher = spawn(
    process.execPath,
    ['--import', 'tsx', CLI, 'watch', 'live', '--after', '-1', '--store', path, '--json'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const lines = createInterface({ input: watcher.stdout })
  lines.on('line', (line) => take(JSON.parse(line) as Watched))
  await once(lines, 'line')
  for (let turn = 0; turn < TURNS; turn++) await (await session.prompt(`Turn ${turn}`)).result()
  watcher.kill('SIGINT')
  worker.shutdown()
  await running
  await clientConnection.close()
  await store.close()
}

/** Each delta is a number of its own. */
async function stream(response: ServerResponse, turn: number): Promise<void> {
  const [begin, end] = sse(streamEvents({ content: [{ type: 'text', text: '' }] })).split(
    'event: content_block_stop',
  )
  streamText(response, begin ?? '')
  for (let n = 0; n < DELTAS; n++) {
    await sleep(EVERY_MS)
    const mark = `[${turn}.${n}]`
    sent.set(mark, performance.now())
    response.write(
      sse([{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: mark } }]),
    )
  }
  response.end(`event: content_block_stop${end}`)
}

/** What comes only with the whole message, right before it, was not seen live. */
function take(seen: Watched): void {
  if (seen.kind === 'delta' || seen.event.type !== 'assistant/message') waits.push(...newest)
  newest = []
  if (seen.kind !== 'delta') return
  const now = performance.now()
  newest = [...seen.text.matchAll(/\[[\d.]+\]/g)].map(([mark]) => now - (sent.get(mark) ?? now))
}

function percentile(share: number): number {
  return Math.round(waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0)
}
