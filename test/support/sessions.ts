import type { WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client'
import type { SessionStart, SessionWorkflowInput } from '../../src/shared/protocol.ts'
import type { agentSession } from '../../src/workflows/index.ts'
import { type FakeSessions, fakeSessions } from './fake-activities.ts'
import type { FakeSession, Script } from './fake-session.ts'
import { openTemporal, type TestTemporal, type TestWorker } from './temporal.ts'

// Sessions on a real server over fake activities: one worker for a file, one session for a test, its script by session id.

export const START: SessionStart = { model: null, system: '', tools: [] }

export interface StartedSession {
  readonly handle: WorkflowHandleWithFirstExecutionRunId<typeof agentSession>
  readonly sessionId: string
  readonly session: FakeSession
}

export interface TestSessions extends TestTemporal {
  readonly fakes: FakeSessions
  readonly worker: TestWorker
  start(script?: Script, input?: Partial<SessionWorkflowInput>): Promise<StartedSession>
}

export async function openSessions(): Promise<TestSessions> {
  const temporal = await openTemporal()
  const scripts = new Map<string, Script>()
  const fakes = fakeSessions(temporal.client, (sessionId) => scripts.get(sessionId) ?? {})
  const worker = await temporal.startWorker({ activities: fakes.activities })
  return {
    ...temporal,
    fakes,
    worker,
    async start(script = {}, input = {}) {
      const sessionId = fakes.newId()
      scripts.set(sessionId, script)
      const session = fakes.session(sessionId)
      const handle = await temporal.client.workflow.start<typeof agentSession>('agentSession', {
        taskQueue: worker.taskQueue,
        workflowId: sessionId,
        args: [{ v: 1, start: START, ...input }],
      })
      return { handle, sessionId, session }
    },
  }
}
