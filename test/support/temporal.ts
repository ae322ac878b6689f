import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  type RuntimeOptions,
  Worker,
  type WorkerOptions,
  type WorkflowBundle,
} from '@temporalio/worker'
import { obtainServer } from '../../src/worker/dev-server/obtain-server.ts'
import './late-reports.ts'

// A real Temporal server for tests: the one in TEMPORAL_ADDRESS, else one started here. One bundle and one connection for a test file.

export const WORKFLOWS_PATH = fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url))

export interface TestTemporal {
  readonly address: string
  readonly client: Client
  readonly connection: NativeConnection
  readonly bundle: WorkflowBundle
  /** Runs a worker on a queue of its own until the returned function is called. */
  startWorker(options: Partial<WorkerOptions> & { readonly activities: object }): Promise<TestWorker>
  close(): Promise<void>
}

export interface TestWorker {
  readonly taskQueue: string
  stop(): Promise<void>
}

let isQuiet = false

/** Quiet: the SDK warns of every failure that a test provokes. One runtime a process, which may open several servers; other options hold when they come first. */
export function quietRuntime(options?: RuntimeOptions): void {
  if (isQuiet) return
  isQuiet = true
  Runtime.install(
    options ?? {
      logger: new DefaultLogger(
        process.env['DBG'] ? 'WARN' : 'ERROR',
        process.env['DBG'] ? undefined : () => {},
      ),
      telemetryOptions: { logging: { filter: process.env['DBG'] ? 'WARN' : 'ERROR', forward: {} } },
    },
  )
}

export async function openTemporal(): Promise<TestTemporal> {
  quietRuntime()
  // Not beside the connections: to bundle holds this thread for longer than they wait.
  const bundle = await testBundle()
  const server = await obtainServer()
  const { address, namespace } = server
  const connection = await NativeConnection.connect({ address })
  const clientConnection = await Connection.connect({ address, connectTimeout: '60s' })
  const client = new Client({ connection: clientConnection, namespace })
  const workers = new Set<TestWorker>()
  return {
    address,
    client,
    connection,
    bundle,
    async startWorker(options) {
      const taskQueue = options.taskQueue ?? `test-${randomUUID().slice(0, 8)}`
      const worker = await Worker.create({
        ...WORKER_SETTINGS,
        ...(options.workerDeploymentOptions === undefined ? { buildId: 'test' } : {}),
        ...CROWDED_MACHINE,
        connection,
        namespace,
        workflowBundle: bundle,
        ...options,
        taskQueue,
      })
      const running = worker.run()
      const started = {
        taskQueue,
        async stop() {
          workers.delete(started)
          if (worker.getState() === 'RUNNING') worker.shutdown()
          await running
        },
      }
      workers.add(started)
      return started
    },
    async close() {
      await Promise.all([...workers].map((worker) => worker.stop()))
      await connection.close()
      await clientConnection.close()
      await server.stop()
    },
  }
}

/** As in production, but for a shutdown that waits for nothing. Histories are measured: the identity is short, and a late worker adds no events to them. */
const WORKER_SETTINGS = {
  identity: 'test',
  maxHeartbeatThrottleInterval: 300,
  defaultHeartbeatThrottleInterval: 300,
  stickyQueueScheduleToStartTimeout: '20s',
  shutdownGraceTime: 0,
  shutdownForceTime: '5s',
} satisfies Partial<WorkerOptions>

/** Not in the SDK's types. It is measured by the clock: on a crowded machine the default of 5 s ends the process. */
export const CROWDED_MACHINE = { isolateExecutionTimeout: '60s' }

export async function testBundle(): Promise<WorkflowBundle> {
  const path = process.env['DURABLE_COMPACTION_TEST_BUNDLE']
  if (path !== undefined) return { code: readFileSync(path, 'utf8') } as WorkflowBundle
  return bundleWorkflowCode({ workflowsPath: WORKFLOWS_PATH, logger: new DefaultLogger('ERROR') })
}
