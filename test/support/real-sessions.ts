import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readLog } from '../../src/cli/read-log.ts'
import { type Session, SessionClient } from '../../src/client/index.ts'
import type { ModelClient } from '../../src/shared/ports/model.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { createSessionWorker, type SessionWorkerOptions, type WorkerTool } from '../../src/worker/index.ts'
import { sessionStateQuery } from '../../src/workflows/messages.ts'
import type { AnyStart } from './any-start.ts'
import { eventually } from './eventually.ts'
import { openTemporal, type TestTemporal } from './temporal.ts'

// Sessions with nothing fake but the model: the real activities and the real store on a real server.

/**
 * Waits until the workflow has caught up with its store and rests. A result that was read from the store says only that the store is there: until then
 * the workflow may be busy with the turn that has ended, and an activity that has written may not have reported.
 */
export const whenIdle = (session: Session) =>
  eventually(
    () => session.workflow.query(sessionStateQuery),
    (state) => state.status === 'idle' && state.waitingPrompts === 0,
  )

/** The reading that the workflow took last, once it has caught up with its store. */
export const lastReading = async (session: Session) => {
  await whenIdle(session)
  return session.contextReading()
}

export interface RealSessions extends TestTemporal {
  readonly store: SessionStore
  readonly folder: string
  readonly sessions: SessionClient
  readonly taskQueue: string
  /** A session of its own for each test. */
  start(options?: Partial<AnyStart>): Promise<Session>
  log(session: Session): Promise<SessionEvent[]>
}

export async function openRealSessions(
  models: Readonly<Record<string, ModelClient>>,
  tools: readonly WorkerTool[] = [],
  options: Partial<SessionWorkerOptions> = {},
): Promise<RealSessions> {
  const temporal = await openTemporal()
  const folder = mkdtempSync(join(tmpdir(), 'dc-real-'))
  const store = options.store ?? sqliteStore({ path: join(folder, 'sessions.db') })
  const taskQueue = `real-${randomUUID().slice(0, 8)}`
  const worker = await createSessionWorker({
    connection: temporal.connection,
    store,
    models,
    tools,
    taskQueue,
    workflows: { workflowBundle: temporal.bundle },
    ...options,
    worker: {
      shutdownGraceTime: 0,
      shutdownForceTime: '2s',
      stickyQueueScheduleToStartTimeout: '1s',
      ...options.worker,
    },
  })
  const running = worker.run()
  const sessions = new SessionClient({ client: temporal.client, store, taskQueue, workerTimeoutMs: 60_000 })
  return {
    ...temporal,
    store,
    folder,
    sessions,
    taskQueue,
    start: (start = {}) =>
      sessions.start(`s-${randomUUID().slice(0, 8)}`, {
        model: `${Object.keys(models)[0]}/scripted`,
        tools: tools.map((tool) => tool.name),
        ...start,
      }),
    log: (session) => readLog(store, session.id),
    async close() {
      worker.shutdown()
      await running
      await store.close()
      await temporal.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
