import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ApplicationFailure } from '@temporalio/common'
import {
  compactionHistoryQuery,
  contextReadingQuery,
  promptSignal,
  sessionStateQuery,
} from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import type { Script } from '../support/fake-session.ts'
import { countEvents, runHistory } from '../support/history.ts'
import { openSessions, type StartedSession, type TestSessions } from '../support/sessions.ts'

let sessions: TestSessions
before(async () => {
  sessions = await openSessions()
})
after(() => sessions.close())

const CALLS = {
  calls: [
    { callId: 'toolu_01A', timeoutMs: 120_000 },
    { callId: 'toolu_01B', timeoutMs: 120_000 },
  ],
}

/** A turn of this many steps, each with two calls but the last. */
const stepsOf = (steps: number): Script => ({ callModel: ({ step }) => (step < steps ? CALLS : {}) })

/** The first step leaves the surface above the limit. */
const PRESSED: Script = {
  callModel({ step, session }) {
    if (step > 1) return {}
    session.limit = 900
    return CALLS
  },
}

async function runTurn(script: Script): Promise<StartedSession> {
  const started = await sessions.start(script)
  started.session.put({ requestId: 'a' })
  await started.handle.signal(promptSignal, { requestId: 'a' })
  await started.session.whenEnded(1)
  // The turn has ended in the store; the workflow's history ends with it once it rests.
  await eventually(
    () => started.handle.query(sessionStateQuery),
    (state) => state.status === 'idle',
  )
  return started
}

describe('what a turn costs in history', () => {
  test('a step of one model call and two tools: at most 18 events and 2.5 KB, and nothing for compaction', async () => {
    const [few, many] = [3, 13]
    const short = await runHistory(sessions.client, (await runTurn(stepsOf(few))).sessionId)
    const long = await runHistory(sessions.client, (await runTurn(stepsOf(many))).sessionId)
    const events = (long.events.length - short.events.length) / (many - few)
    const bytes = (long.bytes - short.bytes) / (many - few)
    assert.ok(events <= 18, `${events} events a step`)
    assert.ok(bytes <= 2560, `${bytes} bytes a step`)
    assert.equal(countEvents(long, 'START_CHILD_WORKFLOW_EXECUTION_INITIATED'), 0)
    assert.ok(countEvents(long, 'TIMER_STARTED') <= 2, 'only the idle timer, before and after the turn')
    assert.ok(
      countEvents(long, 'WORKFLOW_PROPERTIES_MODIFIED') <= 3,
      'the memo changes with turns, not with steps',
    )
  })

  test('a compaction: at most 9 events in the parent, 35 in all', async () => {
    const { sessionId } = await runTurn(PRESSED)
    const parent = await runHistory(sessions.client, sessionId)
    const child = await runHistory(sessions.client, `${sessionId}/compact/t1.s2.pressure.0`)
    const from = parent.events.findIndex(({ type }) => type === 'START_CHILD_WORKFLOW_EXECUTION_INITIATED')
    const to = parent.events.findIndex(({ type, id }) => type === 'ACTIVITY_TASK_SCHEDULED' && id > from + 1)
    assert.ok(from > 0 && to > from)
    assert.ok(
      to - from <= 9,
      parent.events
        .slice(from, to)
        .map(({ type }) => type)
        .join(' '),
    )
    assert.ok(to - from + child.events.length <= 35, `${child.events.length} events in the child`)
  })
})

describe('a turn', { concurrency: true }, () => {
  test('B2 compacts before a request that is above the limit, and the reading falls', async () => {
    const { handle, session } = await runTurn(PRESSED)
    const steps = session.log.filter((line) => /^(step|reply|compact) /.test(line))
    assert.deepEqual(steps, [
      'step t1.s1',
      'reply t1.s1',
      'compact t1.s2.pressure.0 start pressure turn=1',
      'compact t1.s2.pressure.0 summary',
      'compact t1.s2.pressure.0 end compacted',
      'step t1.s2',
      'reply t1.s2',
    ])
    const reading = await handle.query(contextReadingQuery)
    assert.deepEqual([reading?.tokens, reading?.pressure], [250, 'none'])
  })

  test('C1 an overflow is compacted in its step, which starts once', async () => {
    let refused = 0
    const { session } = await runTurn({
      callModel({ session }) {
        if (session.generation > 0) return {}
        refused++
        throw ApplicationFailure.nonRetryable('prompt is too long', 'ContextOverflow', {
          generation: session.generation,
        })
      },
    })
    assert.equal(refused, 1)
    assert.deepEqual(session.lines('step'), ['step t1.s1'])
    assert.deepEqual(session.lines('compact')[0], 'compact t1.s1.overflow.0 start context-overflow turn=1')
    assert.equal(session.turns[0]?.end, 'completed')
  })

  test('C4 an overflow that nothing helps ends the turn with the provider’s words, and the session goes on', async () => {
    const started = await runTurn({
      callModel({ turn, session }) {
        if (turn > 1) return {}
        throw ApplicationFailure.nonRetryable('prompt is too long: 210000 > 200000', 'ContextOverflow', {
          generation: session.generation,
        })
      },
      prepare: () => ({ reason: 'only-tail' }),
    })
    const { handle, session } = started
    assert.deepEqual(
      [session.turns[0]?.end, session.turns[0]?.message],
      ['error', 'prompt is too long: 210000 > 200000'],
    )
    const [record] = await handle.query(compactionHistoryQuery)
    assert.deepEqual([record?.outcome, record?.reason], ['nothing', 'only-tail'])
    session.put({ requestId: 'b' })
    await handle.signal(promptSignal, { requestId: 'b' })
    await session.whenEnded(2)
    assert.equal(session.turns[1]?.end, 'completed')
  })

  test('C4 a compaction that says it succeeded, and nothing rose beyond the refused request: no retry', async () => {
    let asked = 0
    const { handle, session } = await runTurn({
      callModel({ session }) {
        asked++
        throw ApplicationFailure.nonRetryable('prompt is too long', 'ContextOverflow', {
          generation: session.generation + 1,
        })
      },
    })
    const [record] = await handle.query(compactionHistoryQuery)
    assert.deepEqual([asked, record?.outcome, session.generation], [1, 'compacted', 1])
    assert.deepEqual([session.turns[0]?.end, session.turns[0]?.message], ['error', 'prompt is too long'])
  })

  test('C4 what the preflight refuses ends as its own sentence', async () => {
    const { session } = await runTurn({ callModel: () => 'needs-compaction', prepare: () => ({}) })
    assert.deepEqual([session.turns[0]?.end, session.turns[0]?.message], ['error', '1000 tokens do not fit.'])
  })

  test('B16 a failed automatic compaction is recorded and the step goes on', async () => {
    const { handle, session } = await runTurn({
      ...PRESSED,
      summarize: () => ({ code: 'summary', stage: 'summarize', message: 'empty' }),
    })
    assert.equal(session.turns[0]?.end, 'completed')
    assert.equal(session.lines('compact').filter((line) => line.includes(' start ')).length, 1)
    const [record] = await handle.query(compactionHistoryQuery)
    assert.deepEqual([record?.cause, record?.outcome, record?.errorCode], ['pressure', 'failed', 'summary'])
  })

  test('the compact tool compacts after its step, and the turn goes on', async () => {
    const { session } = await runTurn({
      callModel: ({ step }) =>
        step > 1 ? {} : { ...CALLS, compact: { callId: 'toolu_01C', focus: 'plan' } },
    })
    const at = (line: string) => session.log.findIndex((each) => each.startsWith(line))
    assert.ok(at('tool t1.s1.tool.toolu_01B') < at('compact t1.s1.tool.toolu_01C start tool turn=1'))
    assert.ok(at('compact t1.s1.tool.toolu_01C end') < at('step t1.s2'))
  })

  test('a failure of the model ends the turn as an error, after its retries', async () => {
    let attempts = 0
    const { session } = await runTurn({
      callModel() {
        attempts++
        throw attempts < 3
          ? new Error('connection reset')
          : ApplicationFailure.nonRetryable('no credit', 'ModelFailed')
      },
    })
    assert.equal(attempts, 3)
    assert.deepEqual([session.turns[0]?.end, session.turns[0]?.message], ['error', 'no credit'])
  })

  test('a tool that cannot be recorded ends the turn as an error, after its three attempts', async () => {
    let attempts = 0
    const { session } = await runTurn({
      callModel: () => CALLS,
      runTool(callId) {
        if (callId === 'toolu_01B') return
        attempts++
        throw new Error('store away')
      },
    })
    assert.equal(attempts, 3)
    assert.deepEqual([session.turns[0]?.end, session.turns[0]?.message], ['error', 'store away'])
  })

  test('a call goes to its own queue', async () => {
    const taskQueue = `tools-${sessions.fakes.newId()}`
    const ran: string[] = []
    const worker = await sessions.startWorker({
      taskQueue,
      activities: {
        async sessionRunTool(input: { sessionId: string; callId: string }) {
          ran.push(input.callId)
          return { reading: sessions.fakes.session(input.sessionId).reading(), isError: false }
        },
      },
    })
    await runTurn({
      callModel: ({ step }) =>
        step > 1 ? {} : { calls: [{ callId: 'x', timeoutMs: 1000, queue: taskQueue }] },
    })
    assert.deepEqual(ran, ['x'])
    await worker.stop()
  })

  test('model calls and tools go to the queues of the session', async () => {
    const queues = { models: `models-${sessions.fakes.newId()}`, tools: `tools-${sessions.fakes.newId()}` }
    const { sessionCallModel, sessionSummarize, sessionRunTool } = sessions.fakes.activities
    const workers = await Promise.all([
      sessions.startWorker({ taskQueue: queues.models, activities: { sessionCallModel, sessionSummarize } }),
      sessions.startWorker({ taskQueue: queues.tools, activities: { sessionRunTool } }),
    ])
    const { handle, session, sessionId } = await sessions.start(
      { callModel: ({ step }) => (step > 1 ? {} : { ...CALLS, compact: { callId: 'c' } }) },
      { taskQueues: queues },
    )
    session.put({ requestId: 'a' })
    await handle.signal(promptSignal, { requestId: 'a' })
    await session.whenEnded(1)
    const { events } = (await handle.fetchHistory()) as {
      events: {
        activityTaskScheduledEventAttributes?: {
          activityType?: { name?: string }
          taskQueue?: { name?: string }
        }
      }[]
    }
    const queueOf = (name: string) =>
      events.find((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === name)
        ?.activityTaskScheduledEventAttributes?.taskQueue?.name
    assert.equal(queueOf('sessionCallModel'), queues.models)
    assert.equal(queueOf('sessionRunTool'), queues.tools)
    assert.equal(queueOf('sessionStartTurn'), sessions.worker.taskQueue)
    const child = await runHistory(sessions.client, `${sessionId}/compact/t1.s1.tool.c`)
    assert.equal(countEvents(child, 'ACTIVITY_TASK_COMPLETED'), 3)
    await Promise.all(workers.map((worker) => worker.stop()))
  })
})
