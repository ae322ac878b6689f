import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sqliteStore } from '../../src/store/index.ts'
import { obtainServer } from '../../src/worker/dev-server/obtain-server.ts'
import { eventually } from '../support/eventually.ts'
import { ended, installPackage, repository } from '../support/installed-package.ts'

// The examples as a user has them: in a folder of their own, with the built package in its node_modules, on a real server.

const app = mkdtempSync(join(tmpdir(), 'examples-'))
const running = new Set<ChildProcess>()
let server: Awaited<ReturnType<typeof obtainServer>>

before(async () => {
  server = await obtainServer()
  await installPackage(app)
})
after(async () => {
  for (const child of running) child.kill('SIGKILL')
  await server?.stop()
  rmSync(app, { recursive: true, force: true })
})

test('examples: an application and a session worker; the second run asks and pays nothing', {
  timeout: 180_000,
}, async () => {
  const store = join(app, 'application.db')
  const worker = await startWorker('session-worker.ts', store)
  const first = await run('application.ts', store)
  assert.match(first, /^#\d+ tool\/result$/m)
  assert.match(first, /^answer: completed .*Found 3 orders/m)
  const [, before, after] = /^compacted: \d+ messages, (\d+) → (\d+) tokens$/m.exec(first) ?? []
  assert.ok(Number(after) < Number(before), first)
  assert.match(first, /^history: manual.by-hand manual compacted$/m)

  const head = await headOf(store, 'orders-of-ada')
  const second = await run('application.ts', store)
  assert.equal(compactedLine(second), compactedLine(first))
  assert.equal(await headOf(store, 'orders-of-ada'), head, 'the second run wrote to the log')
  await stop(worker)
})

test('examples: an existing worker with its own workflow, activity, tool and model', {
  timeout: 180_000,
}, async () => {
  const store = join(app, 'own-worker.db')
  const worker = await startWorker('own-worker/worker.ts', store)
  const output = await run('own-worker/client.ts', store)
  assert.match(output, /^answer: completed .*Found 2 orders/m)
  await stop(worker)
})

test('examples: agents of one’s own in both modes; the worker is killed in the middle of the first', {
  timeout: 240_000,
}, async () => {
  const path = join(app, 'own-workflow.db')
  const worker = await startWorker('own-workflow/worker.ts', path)
  const client = run('own-workflow/client.ts', path)
  const store = sqliteStore({ path })
  const counts = async () => {
    const known = (await store.session('orders-by-log')) !== null
    return known ? store.countEvents('orders-by-log', 'assistant/message') : 0
  }
  await eventually(counts, (replies) => replies >= 2, 60_000)
  worker.kill('SIGKILL')
  const second = await startWorker('own-workflow/worker.ts', path)
  const output = await client
  assert.match(output, /^log mode: t1\.s\d\.pressure\.0 compacted/m)
  assert.match(output, /^array mode: t1\.s\d\.pressure\.0 compacted/m)
  for (const sessionId of ['orders-by-log', 'orders-by-array'])
    assert.equal(await store.countEvents(sessionId, 'assistant/message'), 9, sessionId)
  await store.close()
  await stop(second)
})

test('examples: one tool of each kind, in a program of its own', { timeout: 600_000 }, async () => {
  const store = join(app, 'tools.db')
  const said = async (program: string) => {
    const output = await run(`tools/${program}.ts`, store)
    assert.match(output, /^turn: completed$/m)
    return output
  }
  assert.match(await said('function'), /^weather said: .*Oslo: 4 degrees/m)
  assert.match(await said('runnable'), /^weather said: .*Oslo: 4 degrees/m)
  assert.match(await said('activity'), /^refund said: .*refunded/m)
  assert.match(await said('mcp'), /^city__weather said: .*Oslo, station north: 4 degrees/m)
})

async function headOf(path: string, sessionId: string): Promise<number | undefined> {
  const store = sqliteStore({ path })
  try {
    return (await store.session(sessionId))?.head
  } finally {
    await store.close()
  }
}

const compactedLine = (output: string) => /^compacted: .*$/m.exec(output)?.[0]

function start(file: string, store: string): ChildProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', join('examples', file)], {
    cwd: app,
    env: { ...process.env, TEMPORAL_ADDRESS: server.address, SESSION_STORE: store },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('close', () => running.delete(child))
  return child
}

const run = (file: string, store: string): Promise<string> => ended(start(file, store), file)

async function startWorker(file: string, store: string): Promise<ChildProcess> {
  const worker = start(file, store)
  let output = ''
  await new Promise<void>((resolve, reject) => {
    for (const stream of [worker.stdout, worker.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output += chunk
        if (output.includes('The worker polls')) resolve()
      })
    worker.once('close', (code) => reject(new Error(`${file} ended with ${code}:\n${output}`)))
  })
  return worker
}

/** Asks as a supervisor does; the worker ends by itself and well. */
async function stop(worker: ChildProcess): Promise<void> {
  const output = ended(worker, 'the worker')
  worker.kill('SIGTERM')
  await output
}

test('examples: the names that they import lead to the same files in the repository and in the package', () => {
  const json = (path: string) => JSON.parse(readFileSync(join(repository, path), 'utf8'))
  const exported: Record<string, { types: string }> = json('package.json').exports
  const paths: Record<string, string[]> = json('tsconfig.json').compilerOptions.paths
  const sources = Object.entries(exported)
    .filter(([name]) => name !== './package.json')
    .map(([name, { types }]) => [
      name.replace('.', 'durable-compaction'),
      [types.replace('./dist/', './src/').replace('.d.ts', '.ts')],
    ])
  assert.deepEqual(paths, Object.fromEntries(sources))
})
