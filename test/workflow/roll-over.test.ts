import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  cancelTurnSignal,
  compactionHistoryQuery,
  pinSignal,
  promptSignal,
  requestCompactionSignal,
  sessionStateQuery,
  submitCompactionUpdate,
  submitPromptUpdate,
} from '../../src/workflows/messages.ts'
import { SessionState } from '../../src/workflows/session-state.ts'
import { eventually } from '../support/eventually.ts'
import { Gate } from '../support/gate.ts'
import { countEvents, runHistory, runIds } from '../support/history.ts'
import { openSessions, type TestSessions } from '../support/sessions.ts'

let sessions: TestSessions
before(async () => {
  sessions = await openSessions()
})
after(() => sessions.close())

const CALLS = { calls: [{ callId: 'c', timeoutMs: 60_000 }] }

const whenRuns = (sessionId: string, isRight: (runs: number) => boolean) =>
  eventually(async () => (await runIds(sessions.client, sessionId)).length, isRight, 120_000)

/** Without a pause it is the server's speed, under whatever load, that decides when a run can end. */
const STEADY_MS = 20

describe('continue-as-new', { concurrency: true }, () => {
  test('between turns: prompts that wait go on in their order', async () => {
    const { handle, session, sessionId } = await sessions.start({}, { rollOver: { events: 30 } })
    const ids = Array.from({ length: 12 }, (_, i) => `p${i}`)
    for (const requestId of ids)
      await handle.signal(promptSignal, { requestId, content: `text of ${requestId}` })
    await session.whenEnded(ids.length)
    assert.deepEqual(
      session.turns.map(({ requestId }) => requestId),
      ids,
    )
    assert.deepEqual(session.lines('life'), ['life 1'], 'one life, however many runs')
    await whenRuns(sessionId, (runs) => runs > 2)
  })

  test('between steps: the turn goes on with its next step, and no step runs twice', async () => {
    const { handle, session, sessionId } = await sessions.start(
      { callModel: ({ step }) => (step < 9 ? CALLS : {}) },
      { rollOver: { events: 40 } },
    )
    await handle.signal(promptSignal, { requestId: 'a', content: 'go' })
    await session.whenEnded(1)
    assert.deepEqual(
      session.lines('step'),
      Array.from({ length: 9 }, (_, i) => `step t1.s${i + 1}`),
    )
    assert.equal(session.turns.length, 1)
    await whenRuns(sessionId, (runs) => runs > 1)
    assert.equal(
      (
        await eventually(
          () => handle.query(sessionStateQuery),
          (state) => state.status === 'idle',
        )
      ).life,
      1,
    )
  })

  test('never while a compaction runs; history, counts and joined requests are carried', async () => {
    const gate = new Gate()
    const { handle, session, sessionId } = await sessions.start(
      {
        callModel: ({ step }) => (step < 3 ? CALLS : {}),
        async summarize({ compactionId }) {
          if (compactionId === 'manual.first') await gate.wait()
          return undefined
        },
      },
      { rollOver: { messages: 5 } },
    )
    await handle.executeUpdate(submitCompactionUpdate, { args: [{ requestId: 'first' }] })
    await gate.reached
    for (let i = 0; i < 8; i++)
      await handle.signal(requestCompactionSignal, {
        requestId: `joined${i}`,
        ...(i % 2 === 0 ? {} : { focus: 'x' }),
      })
    await eventually(
      () => handle.query(sessionStateQuery),
      (state) => state.waitingCompactions === 1,
    )
    assert.equal((await runIds(sessions.client, sessionId)).length, 1)
    gate.open()
    await eventually(
      () => session.lines('compact').filter((line) => line.includes(' end ')),
      (ends) => ends.length === 2,
    )
    await whenRuns(sessionId, (runs) => runs === 2)
    const records = await eventually(
      () => handle.query(compactionHistoryQuery),
      (found) => found.length === 2 && found[0]?.outcome === 'compacted',
    )
    assert.deepEqual(
      records.map(({ compactionId }) => compactionId),
      ['manual.joined1', 'manual.first'],
    )
    const settled = session.lines('settle').sort()
    assert.deepEqual(
      settled,
      ['joined0', 'joined2', 'joined4', 'joined6'].map((id) => `settle ${id} done manual.first`),
    )
    for (const id of ['joined1', 'joined3', 'joined5', 'joined7'])
      assert.equal(session.rows.get(id)?.state, 'done')
  })

  test('an inline body is stored before the roll-over, and only ids are carried', async () => {
    const gate = new Gate()
    const { handle, session, sessionId } = await sessions.start(
      {
        async callModel({ step, turn }) {
          if (turn > 1 || step > 1) return {}
          await gate.wait()
          return CALLS
        },
      },
      { rollOver: { messages: 3 } },
    )
    for (const requestId of ['a', 'b', 'c', 'd'])
      await handle.signal(promptSignal, { requestId, content: 'x'.repeat(50_000) })
    await gate.reached
    gate.open()
    await session.whenEnded(4)
    await whenRuns(sessionId, (runs) => runs > 1)
    const [, second] = await runIds(sessions.client, sessionId)
    const started = await sessions.client.workflow.getHandle(sessionId, second).fetchHistory()
    const input = started.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data
    assert.ok((input?.length ?? 0) > 0 && (input?.length ?? 0) < 2000, `${input?.length} bytes are carried`)
  })

  test('300 signals over many runs: each is handled once', async () => {
    const { handle, session, sessionId } = await sessions.start({}, { rollOver: { messages: 40 } })
    const ids = Array.from({ length: 300 }, (_, i) => `p${i}`)
    for (let at = 0; at < ids.length; at += 20) {
      await Promise.all(
        ids
          .slice(at, at + 20)
          .map((requestId) => handle.signal(promptSignal, { requestId, content: `text of ${requestId}` })),
      )
      await session.whenEnded(Math.max(0, at - 40))
    }
    await session.whenEnded(300)
    assert.deepEqual(session.turns.map(({ requestId }) => requestId).sort(), [...ids].sort())
    assert.equal((await handle.query(sessionStateQuery)).refusedMessages, 0)
    await whenRuns(sessionId, (runs) => runs >= 5)
  })

  test('updates under load: none is lost, and a run that rolls over refuses none', async () => {
    const { handle, session } = await sessions.start({}, { rollOver: { messages: 15 } })
    const ids = Array.from({ length: 60 }, (_, i) => `u${i}`)
    const lanes = Array.from({ length: 5 }, async (_, lane) => {
      for (const requestId of ids.filter((_id, i) => i % 5 === lane)) {
        await handle.executeUpdate(submitPromptUpdate, { args: [{ requestId, content: requestId }] })
      }
    })
    await Promise.all(lanes)
    await session.whenEnded(60)
    assert.deepEqual(session.turns.map(({ requestId }) => requestId).sort(), [...ids].sort())
  })

  test('a limit below what one run needs still makes progress', async () => {
    const { handle, session } = await sessions.start(
      { callModel: ({ step }) => (step < 3 ? CALLS : {}) },
      { rollOver: { events: 1, messages: 1 } },
    )
    for (const requestId of ['a', 'b']) await handle.signal(promptSignal, { requestId, content: 'go' })
    await session.whenEnded(2)
    assert.deepEqual(
      session.lines('step'),
      ['t1.s1', 't1.s2', 't1.s3', 't2.s1', 't2.s2', 't2.s3'].map((at) => `step ${at}`),
    )
  })

  test('a field that a newer release carried does not end the session', async () => {
    const { handle, session } = await sessions.start(
      {},
      { carried: { ...new SessionState('s').carry(), future: true } as never },
    )
    await handle.signal(promptSignal, { requestId: 'a', content: 'go' })
    await session.whenEnded(1)
  })

  test('a prompt that is cancelled while it rolls over stays cancelled', async () => {
    const [step, boundary, last] = [new Gate(), new Gate(), new Gate()]
    const { handle, session, sessionId } = await sessions.start(
      {
        async callModel({ step: n }) {
          if (n === 1) await step.wait()
          return n === 1 ? CALLS : {}
        },
        control: ([requestId]) => (requestId === 'first' ? boundary : last).wait(),
      },
      { rollOver: { messages: 2 } },
    )
    await handle.signal(promptSignal, { requestId: 'a', content: 'go' })
    await step.reached
    await handle.signal(promptSignal, { requestId: 'b', content: 'not this' })
    await handle.signal(pinSignal, { requestId: 'first', text: 'one' })
    step.open()
    await boundary.reached
    await handle.signal(pinSignal, { requestId: 'second', text: 'two' })
    boundary.open()
    await last.reached
    await handle.signal(cancelTurnSignal, { requestId: 'b' })
    last.open()
    await whenRuns(sessionId, (runs) => runs > 1)
    await session.whenEnded(1)
    await handle.signal(promptSignal, { requestId: 'c', content: 'go' })
    await session.whenEnded(2)
    assert.deepEqual(
      session.turns.map(({ requestId }) => requestId),
      ['a', 'c'],
    )
    assert.deepEqual(session.lines('settle'), ['settle b refused Cancelled'])
  })

  test('steady signals do not starve it', async () => {
    const { handle, sessionId } = await sessions.start({}, { rollOver: { messages: 50 } })
    const stop = new AbortController()
    let sent = 0
    const sending = (async () => {
      while (!stop.signal.aborted) {
        await handle.signal(promptSignal, { requestId: `quiet${sent++}`, delivery: 'no-wake' })
        await sleep(STEADY_MS)
      }
    })()
    try {
      await whenRuns(sessionId, (runs) => runs >= 4)
    } finally {
      stop.abort()
      await sending
    }
    assert.ok(sent >= 150)
    const [first] = await runIds(sessions.client, sessionId)
    const run = await runHistory(sessions.client, sessionId, first)
    const signals = countEvents(run, 'WORKFLOW_EXECUTION_SIGNALED')
    assert.ok(signals < 1_000, `a run of at most 50 messages took ${signals}`)
  })
})
