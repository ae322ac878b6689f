import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { createSessionActivities } from '../../src/activities/index.ts'
import { readLog } from '../../src/cli/read-log.ts'
import type { ModelClient } from '../../src/shared/ports/model.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { scriptedModel, temporalRuns } from '../../src/worker/index.ts'
import { type OwnTestOptions, ownTestActivities } from './own-activities.ts'
import type { arrayAgent, handAgent, logAgent, OwnAgentInput } from './own-workflows.ts'
import { openTemporal, type TestTemporal, type TestWorker } from './temporal.ts'

// Workflows that are not ours on a real server, with our activities, a real store, and activities of their own on one worker.

export interface OwnSessions extends TestTemporal {
  readonly store: SessionStore
  readonly worker: TestWorker
  start<W extends typeof logAgent | typeof arrayAgent | typeof handAgent>(
    workflow: string,
    input?: Partial<OwnAgentInput>,
  ): Promise<{ readonly handle: WorkflowHandleWithFirstExecutionRunId<W>; readonly sessionId: string }>
  log(sessionId: string): Promise<SessionEvent[]>
}

/** Small enough that five results fill it. */
const OWN_WINDOW = 16_000

export const ownModel = (summaries?: ModelClient['generate']): ModelClient => {
  const model = scriptedModel(() => 'not asked', {
    capacity: { contextWindow: OWN_WINDOW, maxOutputTokens: 4_000 },
    summaries: 'Words are counted one by one; go on.',
  })
  return summaries === undefined ? model : { ...model, generate: summaries }
}

export async function openOwnSessions(
  options: Omit<OwnTestOptions, 'store'> = {},
  model: ModelClient = ownModel(),
): Promise<OwnSessions> {
  const temporal = await openTemporal()
  const folder = mkdtempSync(join(tmpdir(), 'dc-own-'))
  const store = sqliteStore({ path: join(folder, 'sessions.db') })
  const { clusterId: cluster } = await temporal.connection.workflowService.getClusterInfo({})
  const worker = await temporal.startWorker({
    workflowBundle: await ownBundle(),
    activities: {
      ...createSessionActivities({
        store,
        models: { scripted: model },
        tools: [],
        runs: temporalRuns(temporal.client),
        cluster,
        clock: Date.now,
      }),
      ...ownTestActivities({ store, ...options }),
    },
  })
  return {
    ...temporal,
    store,
    worker,
    async start(workflow, input = {}) {
      const sessionId = `own-${randomUUID().slice(0, 8)}`
      const handle = await temporal.client.workflow.start(workflow, {
        taskQueue: worker.taskQueue,
        // Not the session's id: a workflow of one's own has its own.
        workflowId: `agent-of-${sessionId}`,
        args: [{ sessionId, steps: 3, ...input }],
      })
      return { handle: handle as never, sessionId }
    },
    log: (sessionId) => readLog(store, sessionId),
    async close() {
      await temporal.close()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const ownBundle = () =>
  bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./own-workflows.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  })
