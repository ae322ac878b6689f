import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker'
import { DEFAULT_TASK_QUEUE } from '../shared/protocol.ts'
import { splitQueues } from '../shared/task-queues.ts'
import type { Reconciler } from './reconciler.ts'
import { type SessionServiceOptions, sessionServices } from './session-services.ts'
import { STARVED_MACHINE, sessionWorkflowsPath, WORKER_DEFAULTS } from './worker-defaults.ts'

export interface SessionWorkerOptions extends SessionServiceOptions {
  readonly connection: NativeConnection
  /** Default `default`. */
  readonly namespace?: string
  /** Default `durable-compaction`. Sessions that were started with `taskQueues` find slow work on `<queue>-models` and `<queue>-tools`. */
  readonly taskQueue?: string
  /** Where the workflows come from; default: this package's. Give a bundle made by `bundleWorkflowCode` in production. */
  readonly workflows?: Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'>
  /** Short: it stands in many history events. Default `dc`. */
  readonly identity?: string
  /** Passed on to every Temporal worker: interceptors, sinks, tuner, … */
  readonly worker?: Omit<
    WorkerOptions,
    'connection' | 'namespace' | 'taskQueue' | 'activities' | 'workflowsPath' | 'workflowBundle' | 'identity'
  >
}

export interface SessionWorker {
  /** Polls until {@link shutdown}; rejects when a worker dies. */
  run(): Promise<void>
  shutdown(): void
  readonly reconciler: Reconciler
}

/**
 * A complete worker: workflows and store activities on `taskQueue`, model calls and tools also on queues of their own, so that slow work cannot
 * starve what closes a bracket; and the reconciler.
 */
export async function createSessionWorker(options: SessionWorkerOptions): Promise<SessionWorker> {
  const { connection, namespace = 'default', taskQueue = DEFAULT_TASK_QUEUE, identity = 'dc' } = options
  const { activities, startReconciler, close } = await sessionServices(connection, namespace, options)
  const common = {
    ...WORKER_DEFAULTS,
    ...STARVED_MACHINE,
    ...options.worker,
    connection,
    namespace,
    identity,
  }
  const queues = splitQueues(taskQueue)
  const creating = Promise.all([
    Worker.create({
      ...common,
      taskQueue,
      activities: { ...activities },
      ...(options.workflows ?? { workflowsPath: sessionWorkflowsPath() }),
    }),
    Worker.create({
      ...common,
      taskQueue: queues.models,
      activities: pick(activities, ['sessionCallModel', 'sessionSummarize']),
    }),
    Worker.create({ ...common, taskQueue: queues.tools, activities: pick(activities, ['sessionRunTool']) }),
  ])
  const workers = await creating.catch(async (error) => {
    await close()
    throw error
  })
  const reconciler = startReconciler()
  return {
    reconciler,
    async run() {
      try {
        await Promise.all(workers.map((worker) => worker.run()))
      } finally {
        reconciler.stop()
        await close()
      }
    },
    shutdown() {
      reconciler.stop()
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
    },
  }
}

function pick<T extends object, K extends keyof T>(value: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, value[name]])) as Pick<T, K>
}
