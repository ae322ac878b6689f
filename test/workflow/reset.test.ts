import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { compactionHistoryQuery, promptSignal, sessionStateQuery } from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import type { Script } from '../support/fake-session.ts'
import { Gate } from '../support/gate.ts'
import { resetBefore, resetToLastTask, resetWithoutMessages } from '../support/reset.ts'
import { openSessions, type StartedSession, type TestSessions } from '../support/sessions.ts'

let sessions: TestSessions
before(async () => {
  sessions = await openSessions()
})
after(() => sessions.close())

const CALLS = { calls: [{ callId: 'c', timeoutMs: 60_000 }] }
const ATTEMPT = 't1.s2.pressure.0'

/** One step, then a compaction under pressure that waits for the gate, then the end. */
const pressed = (gate: Gate): Script => ({
  callModel({ step, session }) {
    if (step > 1) return {}
    session.limit = 900
    return CALLS
  },
  async summarize() {
    await gate.wait()
    return undefined
  },
})

async function begin(gate: Gate): Promise<StartedSession> {
  const started = await sessions.start(pressed(gate))
  started.session.put({ requestId: 'a' })
  await started.handle.signal(promptSignal, { requestId: 'a' })
  await gate.reached
  return started
}

/** The handle of the newest run: the one that a start gave stays with its own. */
const newest = ({ sessionId }: StartedSession) => sessions.client.workflow.getHandle(sessionId)

async function nextPrompt(started: StartedSession): Promise<void> {
  started.session.put({ requestId: 'b' })
  await newest(started).signal(promptSignal, { requestId: 'b' })
  await started.session.whenEnded(2)
}

describe('I8 reset', { concurrency: true }, () => {
  test('to before a compaction that has ended: the recorded outcome, no second bracket, the session goes on', async () => {
    const gate = new Gate()
    gate.open()
    const started = await begin(gate)
    await started.session.whenEnded(1)
    await resetBefore(sessions.client, started.sessionId, 'START_CHILD_WORKFLOW_EXECUTION_INITIATED')
    await eventually(
      () => newest(started).query(sessionStateQuery),
      (state) => state.status === 'idle',
    )
    assert.equal(started.session.lines('compact').length, 3)
    assert.deepEqual(started.session.lines('turn'), ['turn 1 start a', 'turn 1 end completed'])
    const [record] = await newest(started).query(compactionHistoryQuery)
    assert.deepEqual([record?.compactionId, record?.outcome], [ATTEMPT, 'compacted'])
    await nextPrompt(started)
  })

  test('† to before a compaction that runs: already started is no failure, the attempt is closed and the turn goes on', async () => {
    const gate = new Gate()
    const started = await begin(gate)
    await resetBefore(sessions.client, started.sessionId, 'START_CHILD_WORKFLOW_EXECUTION_INITIATED')
    await started.session.whenEnded(1)
    assert.match(
      started.session.lines('compact').at(-1) ?? '',
      /^compact t1\.s2\.pressure\.0 end interrupted /,
    )
    assert.equal(started.session.turns[0]?.end, 'completed')
    gate.open()
    const child = sessions.client.workflow.getHandle(`${started.sessionId}/compact/${ATTEMPT}`)
    const outcome = (await child.result()) as { outcome: string }
    assert.equal(outcome.outcome, 'failed', 'the old child reads the recorded end and returns it')
    assert.equal(started.session.lines('compact').filter((line) => line.includes(' end ')).length, 1)
    await nextPrompt(started)
  })

  test('to after its start: the running child’s result reaches the new run', async () => {
    const gate = new Gate()
    const started = await begin(gate)
    await eventually(
      async () => (await started.handle.fetchHistory()).events?.at(-1)?.workflowTaskCompletedEventAttributes,
      (attributes) => attributes !== undefined && attributes !== null,
    )
    await resetToLastTask(sessions.client, started.sessionId)
    gate.open()
    await started.session.whenEnded(1)
    assert.deepEqual(started.session.lines('compact').at(-1), `compact ${ATTEMPT} end compacted`)
    const [record] = await eventually(
      () => newest(started).query(compactionHistoryQuery),
      (found) => found[0]?.outcome === 'compacted',
    )
    assert.equal(record?.compactionId, ATTEMPT)
    await nextPrompt(started)
  })

  test('with its messages dropped: the turn that the store has open is finished before the next prompt', async () => {
    const gate = new Gate()
    const started = await sessions.start({
      async callModel({ turn }) {
        if (turn === 1) await gate.wait()
        return {}
      },
    })
    await eventually(
      () => started.handle.query(sessionStateQuery),
      (state) => state.status === 'idle',
    )
    started.session.put({ requestId: 'a' })
    await started.handle.signal(promptSignal, { requestId: 'a' })
    await gate.reached
    await resetWithoutMessages(sessions.client, started.sessionId)
    gate.open()
    await nextPrompt(started)
    assert.deepEqual(started.session.lines('turn'), [
      'turn 1 start a',
      'turn 1 end completed',
      'turn 2 start b',
      'turn 2 end completed',
    ])
  })

  test('to before a turn: what the store has of it is not done again', async () => {
    let asked = 0
    const started = await sessions.start({
      callModel({ step }) {
        asked++
        return step > 2 ? {} : CALLS
      },
    })
    started.session.put({ requestId: 'a' })
    await started.handle.signal(promptSignal, { requestId: 'a' })
    await started.session.whenEnded(1)
    await resetBefore(sessions.client, started.sessionId, 'ACTIVITY_TASK_SCHEDULED', 'sessionStartTurn')
    await eventually(
      () => newest(started).query(sessionStateQuery),
      (state) => state.status === 'idle',
    )
    assert.equal(asked, 3)
    assert.equal(started.session.turns.length, 1)
    await nextPrompt(started)
  })
})
