import { Client } from '@temporalio/client'
import type { NativeConnection } from '@temporalio/worker'
import { createSessionActivities } from '../activities/index.ts'
import { openToolbox, type WorkerTool } from '../activities/tools/toolbox.ts'
import { temporalRuns } from '../activities/workflow-runs.ts'
import type { SessionActivities } from '../shared/activity-protocol.ts'
import type { CompactionHooks } from '../shared/ports/hooks.ts'
import type { ModelClient } from '../shared/ports/model.ts'
import type { AttemptRow, SessionStore } from '../shared/ports/store.ts'
import type { Summarizer } from '../shared/ports/summarizer.ts'
import { requireOneSdk } from './one-sdk.ts'
import { type Reconciler, startReconciler } from './reconciler.ts'

/** What sessions need of a worker, whoever makes it. */
export interface SessionServiceOptions {
  readonly store: SessionStore
  /** Model clients by provider. */
  readonly models: Readonly<Record<string, ModelClient>>
  /** Tools of one's own, and runnable tools of the Anthropic SDK as they are. */
  readonly tools?: readonly WorkerTool[]
  /** Where the tools work: checkpoints name paths below it relative to it. Default: paths stay as they are. */
  readonly workingDirectory?: string
  /** Default: what the policy names, through `models`. With it, `summarizer` and `summarizerFallbacks` of a policy name nobody. */
  readonly summarizer?: Summarizer
  /** Code of one's own around each compaction. Every worker of the queue needs the same. */
  readonly hooks?: CompactionHooks
  readonly reconciler?: { readonly intervalMs?: number; readonly minAgeMs?: number }
  readonly onReconciled?: (attempt: AttemptRow, why: string) => void
  readonly onError?: (error: unknown) => void
}

export interface SessionServices {
  readonly activities: SessionActivities
  /** The loop that closes what dead workers left open; one in each worker process. */
  startReconciler(): Reconciler
  /** Releases what the tools hold, once the worker has ended. */
  close(): Promise<void>
}

/**
 * @throws SessionError `InvalidInput` for a connection of another copy of Temporal's SDK, tools that no model can be given, hooks that are no functions.
 * What the tools hold is then released.
 */
export async function sessionServices(
  connection: NativeConnection,
  namespace: string,
  options: SessionServiceOptions,
): Promise<SessionServices> {
  const { store, models, tools = [], workingDirectory, summarizer, hooks } = options
  requireOneSdk(connection)
  const client = new Client({ connection, namespace })
  const toolbox = openToolbox(tools)
  try {
    const { clusterId: cluster } = await connection.workflowService.getClusterInfo({})
    const shared = { store, runs: temporalRuns(client), cluster, clock: Date.now }
    const activities = createSessionActivities({
      ...shared,
      models,
      tools: toolbox.tools,
      ...(workingDirectory === undefined ? {} : { workingDirectory }),
      ...(summarizer === undefined ? {} : { summarizer }),
      ...(hooks === undefined ? {} : { hooks }),
    })
    return {
      activities,
      close: () => toolbox.close(),
      startReconciler: () =>
        startReconciler({
          ...shared,
          namespace,
          hooks,
          terminate: async (workflowId, reason) =>
            void (await client.workflow.getHandle(workflowId).terminate(reason)),
          ...options.reconciler,
          ...(options.onReconciled === undefined ? {} : { onClosed: options.onReconciled }),
          ...(options.onError === undefined ? {} : { onError: options.onError }),
        }),
    }
  } catch (error) {
    await toolbox.close()
    throw error
  }
}
