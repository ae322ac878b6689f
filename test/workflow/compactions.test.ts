import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ApplicationFailure } from '@temporalio/common'
import type { CompactionRequest } from '../../src/shared/protocol.ts'
import {
  cancelCompactionSignal,
  compactionHistoryQuery,
  promptSignal,
  requestCompactionSignal,
  sessionStateQuery,
  submitCompactionUpdate,
} from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import { Gate } from '../support/gate.ts'
import { openSessions, type StartedSession, type TestSessions } from '../support/sessions.ts'

let sessions: TestSessions
before(async () => {
  sessions = await openSessions()
})
after(() => sessions.close())

const ask = ({ handle }: StartedSession, request: CompactionRequest) =>
  handle.executeUpdate(submitCompactionUpdate, { args: [request] })

const historyOf = ({ handle }: StartedSession) => handle.query(compactionHistoryQuery)

const whenCompacted = ({ session }: StartedSession, ends: number) =>
  eventually(
    () => session.log.filter((line) => / end /.test(line) && line.startsWith('compact')),
    (lines) => lines.length >= ends,
  )

const child = ({ sessionId }: StartedSession, compactionId: string) =>
  sessions.client.workflow.getHandle(`${sessionId}/compact/${compactionId}`)

describe('compactions that a person asked for', { concurrency: true }, () => {
  test('D1 of an idle session belong to no turn', async () => {
    const started = await sessions.start()
    assert.deepEqual(await ask(started, { requestId: 'r1', focus: 'the API' }), {
      requestId: 'r1',
      status: 'queued',
      stored: false,
    })
    await whenCompacted(started, 1)
    assert.deepEqual(started.session.lines('compact'), [
      'compact manual.r1 start manual turn=null',
      'compact manual.r1 summary',
      'compact manual.r1 end compacted',
    ])
    const [record] = await eventually(
      () => historyOf(started),
      (records) => records[0]?.outcome === 'compacted',
    )
    assert.equal(record?.compactionId, 'manual.r1')
    assert.equal(record?.focus, 'the API')
    assert.equal(record?.turn, null)
    assert.equal(record?.paidCalls, 1)
    assert.ok(record?.endedAt !== undefined && record.endedAt >= record.startedAt)
    assert.equal(started.session.rows.get('r1')?.state, 'done')
  })

  test('a signal with nothing but a focus is enough', async () => {
    const started = await sessions.start()
    await started.handle.signal(requestCompactionSignal, { focus: 'the API' })
    await whenCompacted(started, 1)
    assert.match(
      started.session.lines('compact')[0] ?? '',
      /^compact manual\.auto-[0-9a-f]{8}-1-[0-9a-f]{8} start manual turn=null$/,
    )
  })

  test('D5 a running turn: busy for those who asked so, the next step boundary for the others', async () => {
    const gate = new Gate()
    const started = await sessions.start({
      async callModel({ step }) {
        if (step > 1) return {}
        await gate.wait()
        return { calls: [{ callId: 'c', timeoutMs: 1000 }] }
      },
    })
    await started.handle.signal(promptSignal, { requestId: 'a', content: 'go' })
    await gate.reached
    assert.equal((await ask(started, { requestId: 'now' })).status, 'busy')
    assert.equal((await ask(started, { requestId: 'later', whenBusy: 'wait' })).status, 'queued')
    await started.handle.signal(requestCompactionSignal, {
      requestId: 'never',
      focus: 'x',
      whenBusy: 'refuse',
    })
    gate.open()
    await started.session.whenEnded(1)
    assert.deepEqual(started.session.lines('compact manual')[0], 'compact manual.later start manual turn=1')
    const at = (line: string) => started.session.log.findIndex((each) => each.startsWith(line))
    assert.ok(
      at('tool t1.s1') < at('compact manual.later start') &&
        at('compact manual.later end') < at('step t1.s2'),
    )
    assert.deepEqual(started.session.lines('settle'), [
      'settle now refused Busy',
      'settle never refused Busy',
    ])
    assert.equal(started.session.lines('compact').length, 3, 'the refused ones ran nothing')
  })

  test('D12 fifty requests at once open one bracket, and all get its outcome', async () => {
    const gate = new Gate()
    const started = await sessions.start({ summarize: async () => void (await gate.wait()) })
    const first = await ask(started, { requestId: 'r0' })
    await gate.reached
    const receipts = [first]
    // The server takes ten updates of a workflow at a time, and a client tries for less than a minute to be among them.
    for (let from = 1; from < 50; from += 7)
      receipts.push(
        ...(await Promise.all(
          Array.from({ length: 7 }, (_, i) => ask(started, { requestId: `r${from + i}` })),
        )),
      )
    gate.open()
    assert.deepEqual(
      receipts.map((receipt) => receipt.status),
      ['queued', ...Array.from({ length: 49 }, () => 'joined')],
    )
    const settled = await eventually(
      () => started.session.lines('settle'),
      (lines) => lines.length === 49,
    )
    assert.ok(settled.every((line) => line.endsWith('done manual.r0')))
    assert.equal(started.session.rows.get('r0')?.note, 'compacted')
    assert.deepEqual(started.session.lines('compact').length, 3)
  })

  test('D12 another focus waits its turn, or is busy', async () => {
    const gate = new Gate()
    const started = await sessions.start({ summarize: async () => void (await gate.wait()) })
    await ask(started, { requestId: 'a', focus: 'x' })
    await gate.reached
    assert.equal((await ask(started, { requestId: 'b', focus: 'y' })).status, 'busy')
    assert.equal((await ask(started, { requestId: 'c', focus: 'y', whenBusy: 'wait' })).status, 'queued')
    assert.equal((await ask(started, { requestId: 'a', focus: 'x' })).status, 'known')
    gate.open()
    await whenCompacted(started, 2)
    assert.deepEqual(
      started.session.lines('compact').filter((line) => line.includes('start')),
      ['compact manual.a start manual turn=null', 'compact manual.c start manual turn=null'],
    )
  })

  test('D15 the same request id after its end gets the first outcome and opens nothing', async () => {
    const started = await sessions.start()
    await ask(started, { requestId: 'a' })
    await whenCompacted(started, 1)
    await eventually(
      () => historyOf(started),
      (records) => records[0]?.outcome === 'compacted',
    )
    await ask(started, { requestId: 'a' })
    await eventually(
      () => historyOf(started),
      (records) => records.length === 2 && records[0]?.outcome === 'compacted',
    )
    assert.deepEqual(started.session.lines('compact').length, 3)
  })

  test('E2 a region that cannot be compacted is refused with its sentence, and opens nothing', async () => {
    const started = await sessions.start({
      prepare({ span }) {
        throw ApplicationFailure.nonRetryable(
          `span ${span?.start}:${span?.end} is not on the surface`,
          'InvalidSpan',
        )
      },
    })
    await ask(started, { requestId: 'a', span: { start: 7, end: 3 } })
    const settled = await eventually(
      () => started.session.lines('settle'),
      (lines) => lines.length === 1,
    )
    assert.deepEqual(settled, ['settle a refused InvalidSpan: span 7:3 is not on the surface'])
    assert.deepEqual(started.session.lines('compact'), [])
    await eventually(
      () => started.handle.query(sessionStateQuery),
      ({ status }) => status === 'idle',
    )
    const [record] = await historyOf(started)
    assert.deepEqual([record?.compactionId, record?.cause, record?.outcome], ['region.a', 'region', 'failed'])
    assert.match(record?.errorMessage ?? '', /span 7:3/)
  })

  test('D10 the last caller’s cancel ends the attempt with its reason; an earlier one only takes itself back', async () => {
    const gate = new Gate()
    const started = await sessions.start({ summarize: async () => void (await gate.wait()) })
    await ask(started, { requestId: 'a' })
    await gate.reached
    await ask(started, { requestId: 'b' })
    await started.handle.signal(cancelCompactionSignal, { requestId: 'a', reason: 'mine' })
    await started.handle.signal(cancelCompactionSignal, { requestId: 'b', reason: 'no longer needed' })
    await whenCompacted(started, 1)
    assert.deepEqual(started.session.lines('compact'), [
      'compact manual.a start manual turn=null',
      'compact manual.a end cancelled no longer needed',
    ])
    const [record] = await eventually(
      () => historyOf(started),
      (records) => records[0]?.outcome === 'failed',
    )
    assert.deepEqual([record?.errorCode, record?.errorMessage], ['cancelled', 'no longer needed'])
    await eventually(
      () => started.session.lines('settle a'),
      (lines) => lines[0] === 'settle a refused Cancelled: mine',
    )
  })

  test('a waiting request that is taken back never runs', async () => {
    const gate = new Gate()
    const started = await sessions.start({ summarize: async () => void (await gate.wait()) })
    await ask(started, { requestId: 'a', focus: 'x' })
    await gate.reached
    await ask(started, { requestId: 'b', focus: 'y', whenBusy: 'wait' })
    await started.handle.signal(cancelCompactionSignal, { requestId: 'b' })
    gate.open()
    await eventually(
      () => started.session.lines('settle b'),
      (lines) => lines.length === 1,
    )
    assert.deepEqual(started.session.lines('settle b'), ['settle b refused Cancelled'])
    assert.equal(started.session.lines('compact manual.b').length, 0)
  })
})

describe('what happens to a compaction workflow', { concurrency: true }, () => {
  test('I2 terminated: the parent closes the bracket and goes on', async () => {
    const gate = new Gate()
    const started = await sessions.start({ summarize: async () => void (await gate.wait()) })
    await ask(started, { requestId: 'a' })
    await gate.reached
    await child(started, 'manual.a').terminate()
    await whenCompacted(started, 1)
    assert.equal(
      started.session.lines('compact').at(-1),
      'compact manual.a end interrupted The compaction workflow was terminated.',
    )
    const [record] = await eventually(
      () => historyOf(started),
      (records) => records[0]?.outcome === 'failed',
    )
    assert.equal(record?.errorCode, 'interrupted')
    gate.open()
    await ask(started, { requestId: 'b' })
    await whenCompacted(started, 2)
    assert.equal(started.session.lines('compact manual.b').at(-1), 'compact manual.b end compacted')
  })

  test('I2 cancelled from outside: it closes its own bracket', async () => {
    const gate = new Gate()
    const started = await sessions.start({ summarize: async () => void (await gate.wait()) })
    await ask(started, { requestId: 'a' })
    await gate.reached
    await child(started, 'manual.a').cancel()
    await whenCompacted(started, 1)
    assert.equal(
      started.session.lines('compact').at(-1),
      'compact manual.a end cancelled The compaction was cancelled.',
    )
    const outcome = (await child(started, 'manual.a').result()) as { outcome: string }
    assert.equal(outcome.outcome, 'failed')
  })

  test('D8 a failed summary ends the bracket with its error; the outcome is returned, not thrown', async () => {
    const started = await sessions.start({
      summarize: () => ({ code: 'summary', stage: 'summarize', message: 'not smaller' }),
    })
    await ask(started, { requestId: 'a' })
    await whenCompacted(started, 1)
    assert.equal(started.session.lines('compact').at(-1), 'compact manual.a end summary not smaller')
    assert.equal(((await child(started, 'manual.a').result()) as { outcome: string }).outcome, 'failed')
  })

  test('D9 a commit that is refused ends the bracket as commit', async () => {
    const started = await sessions.start({
      commit() {
        throw ApplicationFailure.nonRetryable('the log refuses the event', 'LogRejected')
      },
    })
    await ask(started, { requestId: 'a' })
    await whenCompacted(started, 1)
    assert.equal(
      started.session.lines('compact').at(-1),
      'compact manual.a end commit the log refuses the event',
    )
  })

  test('a commit whose answer was lost counts as made: the recorded end wins', async () => {
    const started = await sessions.start({
      commit({ compactionId }, session) {
        if (session.attempts.get(compactionId)?.state === 'ended') return
        session.end(compactionId)
        throw ApplicationFailure.nonRetryable('no answer', 'StoreUnavailable')
      },
    })
    await ask(started, { requestId: 'a' })
    const [record] = await eventually(
      () => historyOf(started),
      (records) => records[0]?.endedAt !== undefined,
    )
    assert.equal(record?.outcome, 'compacted')
  })

  test('without a parent it is refused', async () => {
    const running = sessions.client.workflow.execute('sessionCompaction', {
      taskQueue: sessions.worker.taskQueue,
      workflowId: `${sessions.fakes.newId()}/compact/x`,
      args: [{ v: 1, sessionId: 's', compactionId: 'x', turn: null, cause: 'manual' }],
    })
    await assert.rejects(running, (error: Error) => {
      assert.match(String((error.cause as Error).message), /must run as a child/)
      return true
    })
  })
})
