import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  cancelTurnSignal,
  cancelTurnUpdate,
  compactionHistoryQuery,
  promptSignal,
  requestCompactionSignal,
  sessionStateQuery,
} from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import { Gate } from '../support/gate.ts'
import { openSessions, type StartedSession, type TestSessions } from '../support/sessions.ts'

let sessions: TestSessions
before(async () => {
  sessions = await openSessions()
})
after(() => sessions.close())

async function startPrompt(started: StartedSession, requestId = 'a'): Promise<void> {
  started.session.put({ requestId })
  await started.handle.signal(promptSignal, { requestId })
}

const CALLS = {
  calls: [
    { callId: 'c1', timeoutMs: 60_000 },
    { callId: 'c2', timeoutMs: 60_000 },
  ],
}

/** A summary that is made once the gate is open. */
async function hold(gate: Gate): Promise<undefined> {
  await gate.wait()
  return undefined
}

describe('cancelTurn', { concurrency: true }, () => {
  test('ends a running model call within a second, and the session takes the next prompt', async () => {
    const gate = new Gate()
    const started = await sessions.start({
      async callModel({ turn }) {
        if (turn === 1) await gate.wait()
        return {}
      },
    })
    await startPrompt(started)
    await gate.reached
    const cancelledAt = performance.now()
    await started.handle.signal(cancelTurnSignal, { reason: 'wrong question' })
    await started.session.whenEnded(1)
    assert.ok(performance.now() - cancelledAt < 30_000, 'long before any time-out')
    assert.deepEqual(
      [started.session.turns[0]?.end, started.session.turns[0]?.message],
      ['aborted', 'wrong question'],
    )
    await startPrompt(started, 'b')
    await started.session.whenEnded(2)
    assert.equal(started.session.turns[1]?.end, 'completed')
  })

  test('ends running tools', async () => {
    const gate = new Gate()
    const started = await sessions.start({ callModel: () => CALLS, runTool: () => gate.wait() })
    await startPrompt(started)
    await gate.reached
    await started.handle.signal(cancelTurnSignal, { turn: 1 })
    await started.session.whenEnded(1)
    assert.equal(started.session.turns[0]?.end, 'aborted')
    assert.equal(started.session.results.size, 0)
  })

  test('cancels a compaction under pressure: its bracket closes with the reason before the turn ends', async () => {
    const gate = new Gate()
    const started = await sessions.start({
      callModel({ session }) {
        session.limit = 900
        return CALLS
      },
      summarize: () => hold(gate),
    })
    await startPrompt(started)
    await gate.reached
    await started.handle.signal(cancelTurnSignal, { requestId: 'a', reason: 'stop' })
    await started.session.whenEnded(1)
    assert.deepEqual(started.session.log.slice(-2), [
      'compact t1.s2.pressure.0 end cancelled stop',
      'turn 1 end aborted',
    ])
    const [record] = await eventually(
      () => started.handle.query(compactionHistoryQuery),
      (records) => records[0]?.outcome === 'failed',
    )
    assert.equal(record?.errorCode, 'cancelled')
  })

  test('C5 during the recovery from an overflow: no retry, the turn is aborted, not failed', async () => {
    const gate = new Gate()
    let asked = 0
    const started = await sessions.start({
      callModel() {
        asked++
        return 'needs-compaction'
      },
      summarize: () => hold(gate),
    })
    await startPrompt(started)
    await gate.reached
    await started.handle.signal(cancelTurnSignal, {})
    await started.session.whenEnded(1)
    assert.deepEqual([asked, started.session.turns[0]?.end], [1, 'aborted'])
    assert.deepEqual(
      started.session.lines('compact').at(-1),
      'compact t1.s1.overflow.0 end cancelled The compaction was cancelled.',
    )
  })

  test('a compaction that a person asked for finishes first, then the turn ends', async () => {
    const gate = new Gate()
    const tools = new Gate()
    const started = await sessions.start({
      callModel: ({ step }) => (step > 1 ? {} : CALLS),
      summarize: () => hold(gate),
      runTool: () => tools.wait(),
    })
    await startPrompt(started)
    await tools.reached
    await started.handle.signal(requestCompactionSignal, { requestId: 'm' })
    tools.open()
    await gate.reached
    await started.handle.signal(cancelTurnSignal, { reason: 'stop' })
    await eventually(
      () => started.handle.query(sessionStateQuery),
      (state) => state.status === 'compacting',
    )
    assert.equal(started.session.turns[0]?.end, undefined)
    gate.open()
    await started.session.whenEnded(1)
    assert.deepEqual(started.session.log.slice(-2), ['compact manual.m end compacted', 'turn 1 end aborted'])
    assert.deepEqual(started.session.lines('step'), ['step t1.s1'], 'no further request')
  })

  test('names a turn by its number also before the session knows it', async () => {
    const gate = new Gate()
    let asked = 0
    const started = await sessions.start({
      startTurn: () => gate.wait(),
      callModel() {
        asked++
        return {}
      },
    })
    await startPrompt(started)
    await gate.reached
    await started.handle.signal(cancelTurnSignal, { turn: 1, reason: 'early' })
    gate.open()
    await started.session.whenEnded(1)
    assert.deepEqual(
      [asked, started.session.turns[0]?.end, started.session.turns[0]?.message],
      [0, 'aborted', 'early'],
    )
  })

  test('of another turn or prompt changes nothing; of a waiting prompt withdraws it', async () => {
    const gate = new Gate()
    const started = await sessions.start({
      async callModel({ turn }) {
        if (turn === 1) await gate.wait()
        return {}
      },
    })
    await startPrompt(started)
    await gate.reached
    await startPrompt(started, 'b')
    await startPrompt(started, 'c')
    await started.handle.signal(cancelTurnSignal, { turn: 7 })
    await started.handle.signal(cancelTurnSignal, { requestId: 'nowhere' })
    const { stopped, goesOn } = await started.handle.executeUpdate(cancelTurnUpdate, {
      args: [{ requestId: 'a', waitingOnly: true }],
    })
    assert.deepEqual([stopped, goesOn.turn], ['nothing', 1])
    await started.handle.signal(cancelTurnSignal, {
      requestId: 'b',
      waitingOnly: true,
      reason: 'asked twice',
    })
    assert.equal((await started.handle.query(sessionStateQuery)).waitingPrompts, 1)
    gate.open()
    await started.session.whenEnded(2)
    assert.deepEqual(
      started.session.turns.map(({ requestId, end }) => [requestId, end]),
      [
        ['a', 'completed'],
        ['c', 'completed'],
      ],
    )
    assert.deepEqual(started.session.lines('settle'), ['settle b refused Cancelled: asked twice'])
  })
})

describe('cancel of the workflow', { concurrency: true }, () => {
  test('D11 ends turn and bracket, keeps what was accepted, then the workflow is cancelled', async () => {
    const gate = new Gate()
    const started = await sessions.start({
      callModel({ session }) {
        session.limit = 900
        return CALLS
      },
      summarize: () => hold(gate),
    })
    await startPrompt(started)
    await gate.reached
    await started.handle.signal(promptSignal, { requestId: 'next', content: 'later' })
    await started.handle.signal(requestCompactionSignal, { requestId: 'm' })
    await started.handle.cancel()
    await assert.rejects(started.handle.result(), /cancelled/)
    assert.equal((await started.handle.describe()).status.name, 'CANCELLED')
    const { session } = started
    const at = (line: string) => session.log.findIndex((each) => each.startsWith(line))
    assert.ok(at('compact t1.s2.pressure.0 end cancelled') < at('turn 1 end aborted'))
    assert.ok(at('turn 1 end aborted') > 0)
    assert.equal(session.rows.get('next')?.state, 'waiting', 'stored, and waits for the next life')
    assert.deepEqual(session.lines('settle'), ['settle m refused Cancelled'])
  })

  test('of an idle session ends at once', async () => {
    const { handle } = await sessions.start()
    await eventually(
      () => handle.query(sessionStateQuery),
      (state) => state.status === 'idle',
    )
    await handle.cancel()
    await assert.rejects(handle.result(), /cancelled/)
  })

  test('ends also a compaction that a person asked for', async () => {
    const gate = new Gate()
    const { handle, session } = await sessions.start({ summarize: () => hold(gate) })
    await handle.signal(requestCompactionSignal, { requestId: 'm' })
    await gate.reached
    await handle.cancel()
    await assert.rejects(handle.result(), /cancelled/)
    assert.deepEqual(
      session.lines('compact').at(-1),
      'compact manual.m end cancelled The compaction was cancelled.',
    )
  })

  test('terminated: the child is cancelled and closes its own bracket', async () => {
    const gate = new Gate()
    const { handle, session } = await sessions.start({ summarize: () => hold(gate) })
    await handle.signal(requestCompactionSignal, { requestId: 'm' })
    await gate.reached
    await handle.terminate()
    const lines = await eventually(
      () => session.lines('compact manual.m end'),
      (found) => found.length === 1,
    )
    assert.deepEqual(lines, ['compact manual.m end cancelled The compaction was cancelled.'])
  })
})
