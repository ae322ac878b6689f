import type { Worker, WorkerOptions, WorkerPlugin } from '@temporalio/worker'
import { SessionError } from '../shared/errors.ts'
import { type SessionServiceOptions, type SessionServices, sessionServices } from './session-services.ts'
import { STARVED_MACHINE, sessionWorkflowsPath, WORKER_DEFAULTS } from './worker-defaults.ts'

/**
 * Adds sessions to a worker that is there already: `Worker.create({ …, plugins: [new DurableCompactionPlugin({ store, models })] })`. The session activities join the
 * worker's own, the reconciler runs as long as the worker, and the worker's own options stay before our defaults. A worker with workflows of its own exports
 * `agentSession` and `sessionCompaction` from them; one without gets ours. One plugin for each worker.
 *
 * All work is on the worker's one task queue: start its sessions with `splitTaskQueues: false`.
 */
export class DurableCompactionPlugin implements WorkerPlugin {
  readonly name = 'durable-compaction'
  readonly #options: SessionServiceOptions
  #services: SessionServices | undefined

  constructor(options: SessionServiceOptions) {
    this.#options = options
  }

  /** @throws SessionError `InvalidInput`: no connection, a second worker, an activity of the worker with one of our names */
  async configureWorker(options: WorkerOptions): Promise<WorkerOptions> {
    const { connection, namespace = 'default', activities: own = {} } = options
    if (connection === undefined)
      throw invalid('the worker has no connection: give Worker.create the NativeConnection that it uses')
    if (this.#services !== undefined)
      throw invalid('this plugin serves another worker already: make one for each worker')
    const services = await sessionServices(connection, namespace, this.#options)
    const { activities } = services
    const clash = Object.keys(activities).filter((name) => Object.hasOwn(own, name))
    if (clash.length > 0)
      throw invalid(
        `the worker has activities of its own called ${clash.join(', ')}: rename them, since sessions need ours under these names`,
      )
    this.#services = services
    const hasWorkflows = options.workflowsPath !== undefined || options.workflowBundle !== undefined
    return {
      ...WORKER_DEFAULTS,
      ...STARVED_MACHINE,
      ...(hasWorkflows ? {} : { workflowsPath: sessionWorkflowsPath() }),
      ...options,
      activities: { ...own, ...activities },
    }
  }

  async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    const reconciler = this.#services?.startReconciler()
    try {
      await next(worker)
    } finally {
      reconciler?.stop()
      await this.#services?.close()
    }
  }
}

const invalid = (problem: string) => new SessionError('InvalidInput', `DurableCompactionPlugin: ${problem}.`)
