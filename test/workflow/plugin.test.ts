import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Worker, type WorkerOptions } from '@temporalio/worker'
import { SessionClient } from '../../src/client/index.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { createSessionWorker, DurableCompactionPlugin, scriptedModel } from '../../src/worker/index.ts'
import { failsAs } from '../support/fails-as.ts'
import { openTemporal, type TestTemporal } from '../support/temporal.ts'

// Sessions on a worker that somebody else makes.

let temporal: TestTemporal
const folder = mkdtempSync(join(tmpdir(), 'dc-plugin-'))
const store = sqliteStore({ path: join(folder, 'sessions.db') })
const models = { scripted: scriptedModel(() => 'Hello.') }
const plugin = () => new DurableCompactionPlugin({ store, models })

before(async () => {
  temporal = await openTemporal()
})
after(async () => {
  await temporal.close()
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

const created = (options: Partial<WorkerOptions>) =>
  Worker.create({
    connection: temporal.connection,
    taskQueue: `plugin-${randomUUID().slice(0, 8)}`,
    workflowBundle: temporal.bundle,
    ...options,
  })

describe('DurableCompactionPlugin', () => {
  test('a worker without workflows of its own serves sessions, and keeps its options', async () => {
    const taskQueue = `plugin-${randomUUID().slice(0, 8)}`
    const worker = await Worker.create({
      connection: temporal.connection,
      taskQueue,
      stickyQueueScheduleToStartTimeout: '1s',
      plugins: [plugin()],
    })
    assert.equal(worker.options.stickyQueueScheduleToStartTimeoutMs, 1_000)
    assert.equal(worker.options.maxHeartbeatThrottleIntervalMs, 300)
    const running = worker.run()
    const sessions = new SessionClient({ client: temporal.client, store, taskQueue, workerTimeoutMs: 60_000 })
    const session = await sessions.start(`plugin-${randomUUID().slice(0, 8)}`, {
      model: 'scripted/x',
      splitTaskQueues: false,
    })
    const { reason } = await (await session.prompt('Hi.')).result({ timeoutMs: 120_000 })
    assert.equal(reason, 'completed')
    worker.shutdown()
    await running
  })

  test('an activity of the worker with one of our names is an error at start', async () => {
    await failsAs(
      'InvalidInput',
      created({
        activities: { sessionOpen: async () => undefined, mine: async () => undefined },
        plugins: [plugin()],
      }),
      /activities of its own called sessionOpen: rename them/,
    )
  })

  test('one plugin for each worker, and a connection of its own', async () => {
    const once = plugin()
    const worker = await created({ plugins: [once] })
    await failsAs('InvalidInput', created({ plugins: [once] }), /serves another worker already/)
    await failsAs(
      'InvalidInput',
      Promise.resolve().then(() => plugin().configureWorker({ taskQueue: 'q' })),
      /no connection: give Worker.create/,
    )
    const running = worker.run()
    worker.shutdown()
    await running
  })

  test('a connection of a second copy of the SDK is refused in words, by the plugin and by createSessionWorker', async () => {
    const { NativeConnection } = { NativeConnection: class NativeConnection {} }
    const connection = new NativeConnection() as never
    const words = [/another copy of @temporalio\/worker/, /npm ls @temporalio\/worker/]
    await failsAs('InvalidInput', plugin().configureWorker({ taskQueue: 'q', connection }), ...words)
    await failsAs('InvalidInput', createSessionWorker({ connection, store, models }), ...words)
  })
})
