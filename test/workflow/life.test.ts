import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { WorkflowFailedError } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import type { SessionWorkflowInput } from '../../src/shared/protocol.ts'
import {
  closeSignal,
  pinSignal,
  promptSignal,
  requestCompactionSignal,
  sessionStateQuery,
  submitCompactionUpdate,
  submitPromptUpdate,
} from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import { Gate } from '../support/gate.ts'
import { openSessions, START, type TestSessions } from '../support/sessions.ts'

let sessions: TestSessions
before(async () => {
  sessions = await openSessions()
})
after(() => sessions.close())

/** As a client wakes a session: no start. */
const wake = (sessionId: string, requestId: string, content?: string) =>
  sessions.client.workflow.signalWithStart('agentSession', {
    taskQueue: sessions.worker.taskQueue,
    workflowId: sessionId,
    args: [{ v: 1 } satisfies SessionWorkflowInput],
    signal: promptSignal,
    signalArgs: [{ requestId, ...(content === undefined ? {} : { content }) }],
  })

describe('the life of a session', { concurrency: true }, () => {
  test('completes after its idle time, and a message wakes it as a new life', async () => {
    const { handle, session, sessionId } = await sessions.start({ idleTimeoutMs: 500 })
    await handle.result()
    assert.equal((await handle.describe()).status.name, 'COMPLETED')
    session.put({ requestId: 'a' })
    const woken = await wake(sessionId, 'a')
    await session.whenEnded(1)
    assert.deepEqual(session.lines('life'), ['life 1', 'life 2'])
    await woken.result()
  })

  test('prompts that wait in the store run although no message names them', async () => {
    const sessionId = sessions.fakes.newId()
    const session = sessions.fakes.session(sessionId)
    session.put({ requestId: 'forgotten' })
    session.put({ requestId: 'quiet', delivery: 'no-wake' })
    await wake(sessionId, 'new', 'hello')
    await session.whenEnded(2)
    assert.deepEqual(
      session.lines('turn').filter((line) => line.includes('start')),
      ['turn 1 start forgotten quiet', 'turn 2 start new'],
    )
  })

  test('a session that the store does not know ends when a message wakes it', async () => {
    const sessionId = `unknown-${sessions.fakes.newId()}`
    const woken = await wake(sessionId, 'a', 'hello')
    await woken.result()
  })

  test('a refused start fails the run with the name of the error, and the state says why', async () => {
    const { handle } = await sessions.start({}, { start: { ...START, model: 'unknown/model' } })
    const failure = await handle.result().then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.ok(failure instanceof WorkflowFailedError)
    assert.equal((failure.cause as ApplicationFailure).type, 'UnknownModel')
    const state = await handle.query(sessionStateQuery)
    assert.deepEqual([state.status, state.error], ['failed', 'No worker has unknown/model.'])
    assert.match(JSON.stringify((await handle.describe()).memo), /"state":"failed"/)
  })

  test('bad input and a bad session id are refused by name', async () => {
    const start = (workflowId: string, input: unknown) =>
      sessions.client.workflow.execute('agentSession', {
        taskQueue: sessions.worker.taskQueue,
        workflowId,
        args: [input],
      })
    const refused = async (running: Promise<unknown>, message: RegExp) =>
      assert.rejects(running, (error: WorkflowFailedError) => {
        const cause = error.cause as ApplicationFailure
        assert.equal(cause.type, 'InvalidInput')
        assert.match(cause.message, message)
        return true
      })
    await refused(start(sessions.fakes.newId(), { v: 2 }), /input\.v: /)
    await refused(start(sessions.fakes.newId(), 5), /input: /)
    await refused(start(sessions.fakes.newId(), { v: 1, junk: true }), /junk/)
    await refused(start('not a session id', { v: 1, start: START }), /session id/)
  })

  test('close ends after the running turn; what waits stays in the inbox', async () => {
    const gate = new Gate()
    const { handle, session } = await sessions.start({
      async callModel() {
        await gate.wait()
        return {}
      },
    })
    await handle.signal(promptSignal, { requestId: 'a', content: 'go' })
    await gate.reached
    await handle.signal(promptSignal, { requestId: 'b', content: 'then' })
    await handle.signal(requestCompactionSignal, { requestId: 'm' })
    await handle.signal(closeSignal, { reason: 'done' })
    const update = handle.executeUpdate(submitPromptUpdate, {
      args: [{ requestId: 'c', content: 'too late' }],
    })
    await assert.rejects(update, (error: Error) => /closing/.test(String((error.cause as Error).message)))
    assert.equal((await handle.query(sessionStateQuery)).status, 'closing')
    gate.open()
    await handle.result()
    assert.deepEqual(
      session.turns.map(({ requestId, end }) => [requestId, end]),
      [['a', 'completed']],
    )
    assert.equal(session.rows.get('b')?.state, 'waiting')
    assert.deepEqual(session.log.slice(-2), ['settle m refused SessionClosed', 'close done'])
  })

  test('a request that comes with the close, while another is served, is not lost', async () => {
    const gate = new Gate()
    const { handle, session } = await sessions.start({
      control: ([requestId]) => (requestId === 'first' ? gate.wait() : undefined),
    })
    await handle.signal(pinSignal, { requestId: 'first', text: 'one' })
    await gate.reached
    await handle.signal(pinSignal, { requestId: 'second', text: 'two' })
    await handle.signal(closeSignal, { reason: 'done' })
    gate.open()
    await handle.result()
    assert.deepEqual(session.log.slice(-3), ['control first pin', 'control second pin', 'close done'])
  })

  test('a prompt to a closed session runs nothing; start opens it again', async () => {
    const { handle, session, sessionId } = await sessions.start()
    await handle.signal(closeSignal, {})
    await handle.result()
    await (await wake(sessionId, 'a', 'hello')).result()
    assert.equal(session.life, 1)
    session.put({ requestId: 'b' })
    await sessions.client.workflow.start('agentSession', {
      taskQueue: sessions.worker.taskQueue,
      workflowId: sessionId,
      args: [{ v: 1, start: START }],
    })
    await session.whenEnded(1)
    assert.equal(session.life, 2)
    assert.equal(session.turns[0]?.requestId, 'b')
  })

  test('the memo shows the state and the last compaction', async () => {
    const { handle } = await sessions.start()
    await handle.executeUpdate(submitCompactionUpdate, { args: [{ requestId: 'm' }] })
    const memo = await eventually(
      async () =>
        (await handle.describe()).memo?.['durableCompaction'] as
          | { state: string; lastCompaction: { id: string } | null }
          | undefined,
      (found) => found?.lastCompaction?.id === 'manual.m',
    )
    assert.equal(memo?.state, 'idle')
    assert.ok(JSON.stringify(memo).length < 2048)
  })

  test('a run that lost its session ends as Fenced and writes nothing more', async () => {
    const { handle, session } = await sessions.start({
      callModel() {
        throw ApplicationFailure.nonRetryable('another run owns the session', 'Fenced')
      },
    })
    await handle.signal(promptSignal, { requestId: 'a', content: 'go' })
    const failure = await handle.result().then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.ok(failure instanceof WorkflowFailedError)
    assert.equal((failure.cause as ApplicationFailure).type, 'Fenced')
    assert.equal(session.turns[0]?.end, undefined)
  })
})
