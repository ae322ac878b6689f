import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readLog } from '../../src/cli/read-log.ts'
import { SessionClient } from '../../src/client/index.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { pinSignal } from '../../src/workflows/messages.ts'
import type { Boundary, BoundaryStage } from '../support/boundary-worker.ts'
import { eventually } from '../support/eventually.ts'
import { openTemporal, type TestTemporal } from '../support/temporal.ts'

let temporal: TestTemporal
before(async () => {
  temporal = await openTemporal()
})
after(() => temporal.close())

describe('a worker is killed while it serves control requests', () => {
  for (const phase of ['before', 'after'] as const) {
    test(`I1 killed ${phase} the store has them: each is done once`, { timeout: 240_000 }, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'dc-control-'))
      const stage: BoundaryStage = {
        address: temporal.address,
        taskQueue: `control-${randomUUID().slice(0, 8)}`,
        storePath: join(folder, 'sessions.db'),
        paidPath: join(folder, 'paid'),
        boundary: { phase, activity: 'sessionControl' },
      }
      const store = sqliteStore({ path: stage.storePath })
      const workers: ChildProcess[] = []
      try {
        workers.push(await startWorker(stage, stage.boundary))
        const sessions = new SessionClient({
          client: temporal.client,
          store,
          taskQueue: stage.taskQueue,
          workerTimeoutMs: 60_000,
        })
        const session = await sessions.start(`control-${randomUUID().slice(0, 8)}`, {
          model: 'scripted/large',
          heartbeatTimeoutMs: 1_000,
          wait: false,
        })
        await eventually(
          () => store.session(session.id),
          (row) => row !== null,
          60_000,
        )
        const body = { kind: 'configure', system: 'Be kind.' }
        await store.putInbox({ sessionId: session.id, requestId: 'kind', kind: 'control', body })
        await session.workflow.signal(pinSignal, { requestId: 'rule', text: 'Never on a Friday.' })
        await kill(workers[0] as ChildProcess)
        workers.push(await startWorker(stage, null))
        await eventually(
          () => store.inbox(session.id, { kind: 'control' }),
          (rows) => rows.length === 2 && rows.every(({ state }) => state === 'done'),
          60_000,
        )
        assert.equal((await session.pin('Never on a Friday.', { requestId: 'rule' })).id, 'rule')
        const types = (await readLog(store, session.id)).map((event) => event.type).sort()
        assert.deepEqual(types, ['request/header', 'request/header', 'session/pin', 'session/start'])
      } finally {
        for (const worker of workers) worker.kill('SIGKILL')
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
})

async function startWorker(stage: BoundaryStage, boundary: Boundary | null): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('../support/boundary-worker.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, BOUNDARY_STAGE: JSON.stringify({ ...stage, boundary }) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  assert.deepEqual(await once(child, 'message'), ['ready', undefined])
  return child
}

/** Kills the worker where it is held. */
async function kill(worker: ChildProcess): Promise<void> {
  const [message] = await once(worker, 'message')
  assert.equal(message, 'held')
  const gone = once(worker, 'exit')
  worker.kill('SIGKILL')
  await gone
}
