import { fileURLToPath } from 'node:url'
import { Client } from '@temporalio/client'
import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker'
import { createSessionActivities } from '../activities/index.ts'
import { temporalRuns } from '../activities/workflow-runs.ts'
import type { CompactionHooks } from '../shared/ports/hooks.ts'
import type { ModelClient } from '../shared/ports/model.ts'
import type { AttemptRow, SessionStore } from '../shared/ports/store.ts'
import type { Summarizer } from '../shared/ports/summarizer.ts'
import type { Tool } from '../shared/ports/tool.ts'
import { DEFAULT_TASK_QUEUE } from '../shared/protocol.ts'
import { splitQueues } from '../shared/task-queues.ts'
import { type Reconciler, startReconciler } from './reconciler.ts'

export interface SessionWorkerOptions {
  readonly connection: NativeConnection
  readonly store: SessionStore
  /** Model clients by provider. */
  readonly models: Readonly<Record<string, ModelClient>>
  readonly tools?: readonly Tool[]
  /** Where the tools work: checkpoints name paths below it relative to it. Default: paths stay as they are. */
  readonly workingDirectory?: string
  /** Default: what the policy names, through `models`. */
  readonly summarizer?: Summarizer
  /** Code of one's own around each compaction. Every worker of the queue needs the same. */
  readonly hooks?: CompactionHooks
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
  readonly reconciler?: { readonly intervalMs?: number; readonly minAgeMs?: number }
  readonly onReconciled?: (attempt: AttemptRow, why: string) => void
  readonly onError?: (error: unknown) => void
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
  const {
    connection,
    store,
    namespace = 'default',
    taskQueue = DEFAULT_TASK_QUEUE,
    identity = 'dc',
  } = options
  const client = new Client({ connection, namespace })
  const { clusterId } = await connection.workflowService.getClusterInfo({})
  const runs = temporalRuns(client)
  const activities = createSessionActivities({
    store,
    models: options.models,
    tools: options.tools ?? [],
    ...(options.summarizer === undefined ? {} : { summarizer: options.summarizer }),
    ...(options.hooks === undefined ? {} : { hooks: options.hooks }),
    runs,
    cluster: clusterId,
    clock: Date.now,
    ...(options.workingDirectory === undefined ? {} : { workingDirectory: options.workingDirectory }),
  })
  const common = {
    ...WORKER_DEFAULTS,
    ...STARVED_MACHINE,
    ...options.worker,
    connection,
    namespace,
    identity,
  }
  const queues = splitQueues(taskQueue)
  const workers = await Promise.all([
    Worker.create({
      ...common,
      taskQueue,
      activities: { ...activities },
      ...(options.workflows ?? { workflowsPath: workflowsPath() }),
    }),
    Worker.create({
      ...common,
      taskQueue: queues.models,
      activities: pick(activities, ['sessionCallModel', 'sessionSummarize']),
    }),
    Worker.create({ ...common, taskQueue: queues.tools, activities: pick(activities, ['sessionRunTool']) }),
  ])
  const reconciler = startReconciler({
    store,
    runs,
    terminate: async (workflowId, reason) =>
      void (await client.workflow.getHandle(workflowId).terminate(reason)),
    namespace,
    cluster: clusterId,
    clock: Date.now,
    ...options.reconciler,
    ...(options.onReconciled === undefined ? {} : { onClosed: options.onReconciled }),
    ...(options.onError === undefined ? {} : { onError: options.onError }),
  })
  return {
    reconciler,
    async run() {
      try {
        await Promise.all(workers.map((worker) => worker.run()))
      } finally {
        reconciler.stop()
      }
    },
    shutdown() {
      reconciler.stop()
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
    },
  }
}

/** Why each: a cancel arrives within a second; a session whose worker died answers after 2 s; running activities get a minute to end. */
export const WORKER_DEFAULTS = {
  maxHeartbeatThrottleInterval: '500ms',
  defaultHeartbeatThrottleInterval: '500ms',
  stickyQueueScheduleToStartTimeout: '2s',
  shutdownGraceTime: '60s',
} as const satisfies Partial<WorkerOptions>

/**
 * How long one activation of a workflow may take. The SDK's type does not name the option, and its default of 5 s goes by the clock: on a machine that gets no
 * processor for that long it stops workflow code that does nothing wrong. Code that never ends is still stopped.
 */
const STARVED_MACHINE = { isolateExecutionTimeout: '30s' }

/** The sources when run from the repository, the built files in the package. */
function workflowsPath(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return fileURLToPath(new URL(`../workflows/index.${extension}`, import.meta.url))
}

function pick<T extends object, K extends keyof T>(value: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, value[name]])) as Pick<T, K>
}
