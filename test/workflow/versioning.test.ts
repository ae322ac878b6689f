import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { submitCompactionUpdate } from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import { openSessions, START, type TestSessions } from '../support/sessions.ts'

let sessions: TestSessions
before(async () => {
  sessions = await openSessions()
})
after(() => sessions.close())

test('on a versioned worker a session moves to new releases, a compaction stays on its own', async () => {
  const { client, fakes } = sessions
  const deploymentName = `deployment-${randomUUID()}`
  const version = { deploymentName, buildId: '1' }
  const worker = await sessions.startWorker({
    activities: fakes.activities,
    workerDeploymentOptions: { useWorkerVersioning: true, version, defaultVersioningBehavior: 'PINNED' },
  })
  const { namespace } = client.options
  await eventually(
    () =>
      client.workflowService
        .setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId: '1', identity: 'test' })
        .then(() => 'set', String),
    (answer) => answer === 'set',
  )
  const sessionId = fakes.newId()
  const handle = await client.workflow.start('agentSession', {
    taskQueue: worker.taskQueue,
    workflowId: sessionId,
    args: [{ v: 1, start: START }],
  })
  await handle.executeUpdate(submitCompactionUpdate, { args: [{ requestId: 'm' }] })
  await eventually(
    () => fakes.session(sessionId).lines('compact'),
    (lines) => lines.length === 3,
  )
  assert.equal(await behaviourOf(sessionId), 'AUTO_UPGRADE')
  assert.equal(await behaviourOf(`${sessionId}/compact/manual.m`), 'PINNED')
  await handle.terminate()
})

async function behaviourOf(workflowId: string): Promise<string> {
  const { raw } = await sessions.client.workflow.getHandle(workflowId).describe()
  const behaviour = raw.workflowExecutionInfo?.versioningInfo?.behavior
  return { 1: 'PINNED', 2: 'AUTO_UPGRADE' }[Number(behaviour)] ?? `unknown: ${behaviour}`
}
