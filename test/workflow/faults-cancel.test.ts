import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'libsql'
import type { CancelReceipt } from '../../src/client/index.ts'
import { ManualCompactionError } from '../../src/shared/errors.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { eventually } from '../support/eventually.ts'
import {
  call,
  endings,
  type FaultSession,
  type FaultSessions,
  ofType,
  openFaultSessions,
  requestsFor,
  rounds,
  saidIn,
  words,
} from '../support/fault-sessions.ts'
import { Gate } from '../support/gate.ts'
import { whenIdle } from '../support/real-sessions.ts'

// Theme K and the interrupt of a turn on the real workflow: what a cancel stops, what it leaves, and what it says of it.

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions()
})
after(() => faults.close())

const SUMMARY = 'Questions were answered. Next: nothing.'
const TURN_MS = { timeoutMs: 120_000 }
const NOTHING: CancelReceipt = {
  stopped: 'nothing',
  turn: null,
  compactionId: null,
  goesOn: { turn: null, compactionId: null },
}

/** A session with something to compact, whose first summary is held. */
async function held(afterwards: () => string = () => SUMMARY) {
  const gate = new Gate()
  let asked = 0
  const fault = await faults.open({
    window: 64_000,
    reply: () => 'Fine.',
    summary: async () => {
      if (asked++ > 0) return SUMMARY
      await gate.wait()
      return afterwards()
    },
  })
  await fault.seed(rounds(4, 600))
  return { fault, gate }
}

/** A session whose turn is in its second step, in a compaction under pressure whose summary is held. */
async function underPressure(late: () => string = () => SUMMARY) {
  const gate = new Gate()
  const fault = await faults.open(
    {
      window: 16_000,
      reply: ({ index }) => (index === 0 ? { content: [call('c0')] } : 'Fine.'),
      summary: async () => {
        await gate.wait()
        return late()
      },
    },
    { policy: { thresholdTokens: 5_000, prune: false }, work: async () => words(2_000) },
  )
  await fault.seed(rounds(4, 900))
  const turn = await fault.session.prompt('Work.')
  await gate.reached
  return { fault, gate, turn }
}

const isCancelled = (error: unknown) => error instanceof ManualCompactionError && error.code === 'cancelled'

/** All that the database holds of a session, by table, apart from the attempt `manual.m` itself: its row, its events, the request for it. */
function sideState(sessionId: string): Record<string, string[]> {
  const db = new Database(join(faults.folder, 'sessions.db'))
  try {
    const { id } = db.prepare('SELECT id FROM session WHERE session_id = ?').get(sessionId) as { id: number }
    const isOfAttempt = (row: object) => /"(compact\.)?manual\.m|"m"/.test(JSON.stringify(row))
    return Object.fromEntries(
      ['life', 'run', 'event', 'delta', 'reading', 'inbox'].map((table) => [
        table,
        (db.prepare(`SELECT * FROM ${table} WHERE session = ?`).all(id) as object[])
          .filter((row) => !isOfAttempt(row))
          .map((row) => JSON.stringify(row)),
      ]),
    )
  } finally {
    db.close()
  }
}

describe('cancelTurn', { concurrency: true }, () => {
  test('keeps what the model had said: an interrupted message that the next request holds, in a valid log', async () => {
    const spoken = new Gate()
    const fault = await faults.open({
      window: 64_000,
      reply: async ({ index }, { onDelta, signal }) => {
        if (index > 0) return 'I see.'
        onDelta?.({ text: 'The first half. ' })
        onDelta?.({ text: 'The second ha' })
        void spoken.wait()
        return new Promise<never>((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        )
      },
    })
    const turn = await fault.session.prompt('Tell me all.')
    await spoken.reached
    const seen = fault.session.watch({ signal: AbortSignal.timeout(60_000) })
    for await (const each of seen) if (each.kind === 'delta' && each.text.endsWith('The second ha')) break
    const receipt = await fault.session.cancelTurn({ reason: 'enough' })
    assert.deepEqual(receipt, { ...NOTHING, stopped: 'turn', turn: 1 })
    const { reason, error, message } = await turn.result(TURN_MS)
    const said = [text('The first half. The second ha')]
    assert.deepEqual([reason, error, message], ['aborted', 'enough', said])
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    const events = await fault.sound()
    const replies = ofType(events, 'assistant/message').map(({ data }) => [data.interrupted, data.content])
    assert.deepEqual(replies, [
      [true, said],
      [undefined, [text('I see.')]],
    ])
    const [, next] = requestsFor('turn', fault)
    assert.deepEqual(
      next?.messages.map(({ role }) => role),
      ['user', 'assistant', 'user'],
    )
    assert.deepEqual(await faults.store.deltas(fault.session.id, 't1.s1.assistant'), [])
  })

  test('what a model says after the end of its cancelled turn is kept nowhere, and the next answer is whole', async () => {
    const gate = new Gate()
    let isOver = false
    const fault = await faults.open({
      window: 64_000,
      reply: async (_asked, { onDelta }) => {
        if (isOver) return 'Second answer.'
        await gate.wait()
        onDelta?.({ text: 'Too late' })
        await sleep(400) // Live text is written in batches.
        return 'Too late.'
      },
    })
    const { session } = fault
    const turn = await session.prompt('Go.')
    await gate.reached
    await session.cancelTurn()
    assert.equal((await turn.result(TURN_MS)).reason, 'aborted')
    isOver = true
    gate.open()
    // The call is counted once all that it had to say is written or dropped.
    await eventually(
      () => faults.log(session),
      (log) => ofType(log, 'assistant/lost').length === 1,
    )
    assert.deepEqual(await faults.store.deltas(session.id, 't1.s1.assistant'), [])
    assert.equal((await fault.say('Again.')).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(
      ofType(events, 'assistant/message').map(({ data }) => data.content),
      [[text('Second answer.')]],
    )
  })

  test('a waiting prompt that is taken back says so, with the reason', async () => {
    const gate = new Gate()
    const fault = await faults.open({
      window: 64_000,
      reply: async () => {
        await gate.wait()
        return 'Fine.'
      },
    })
    const { session } = fault
    const running = await session.prompt('Go.')
    await gate.reached
    const waiting = await session.prompt('And then?', { requestId: 'w' })
    assert.equal((await session.cancelTurn({ requestId: 'w', reason: 'not now' })).stopped, 'prompt')
    gate.open()
    await assert.rejects(waiting.result(TURN_MS), {
      name: 'Cancelled',
      message: 'Prompt w was cancelled before it began: not now.',
    })
    assert.equal((await running.result(TURN_MS)).reason, 'completed')
    await fault.sound()
  })

  test('a message for the next step enters there, a prompt waits for the end of the turn, also of one that is cancelled', async () => {
    const third = new Gate()
    const fault = await faults.open(
      {
        window: 64_000,
        reply: ({ index }) => (index < 3 ? { content: [call(`c${index}`)] } : 'Done.'),
      },
      {
        work: async (_input, { callId, signal }) => {
          if (callId !== 'c2') return 'done'
          void third.wait()
          return new Promise<never>((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason)),
          )
        },
      },
    )
    const turn = await fault.session.prompt('Work.')
    await third.reached
    await fault.session.prompt('Steer.', { delivery: 'next-step', requestId: 'steer' })
    const waits = await fault.session.prompt('Afterwards.')
    assert.equal((await fault.session.cancelTurn()).stopped, 'turn')
    assert.equal((await turn.result(TURN_MS)).reason, 'aborted')
    assert.equal((await waits.result(TURN_MS)).reason, 'completed')
    const events = await fault.sound()
    const prompts = ofType(events, 'user/message').map(({ data, turn }) => [turn, data.requestId])
    assert.deepEqual(
      prompts.filter(([, id]) => id === 'steer').length,
      1,
      'said once, whatever turn was next',
    )
  })
})

describe('faults of a cancel', { concurrency: true }, () => {
  test('fault K03: while only a compaction runs the receipt says so, the cancel of it stops it, and then there is nothing to cancel', async () => {
    const { fault, gate } = await held()
    const { session } = fault
    const compaction = session.compactNow({ requestId: 'm' })
    const ended = assert.rejects(compaction, isCancelled)
    await gate.reached
    const goesOn = { turn: null, compactionId: 'manual.m' }
    assert.deepEqual(await session.cancelTurn({ reason: 'stop' }), { ...NOTHING, goesOn })
    assert.equal((await session.state()).compactionId, 'manual.m')
    assert.deepEqual(await session.cancelCompaction('other'), { ...NOTHING, goesOn })
    const stopped = { ...NOTHING, stopped: 'compaction', compactionId: 'manual.m' }
    assert.deepEqual(await session.cancelCompaction('m', 'stop'), stopped)
    await ended
    await whenIdle(session)
    assert.deepEqual(await session.cancelTurn(), NOTHING)
    assert.deepEqual(await session.cancelCompaction('m'), NOTHING)
    gate.open()
    assert.deepEqual(endings(await fault.sound()), ['cancelled'])
    await session.close()
    await session.workflow.result()
    assert.deepEqual(await session.cancelTurn(), NOTHING, 'a session that does not run')
  })

  test('fault K03: a turn that compacts: the receipt names both, and both have stopped', async () => {
    const { fault, gate, turn } = await underPressure()
    const receipt = await fault.session.cancelTurn({ reason: 'stop' })
    assert.deepEqual(receipt, { ...NOTHING, stopped: 'turn', turn: 1, compactionId: 't1.s2.pressure.0' })
    assert.equal((await turn.result(TURN_MS)).reason, 'aborted')
    gate.open()
    assert.deepEqual(endings(await fault.sound()), ['cancelled'])
  })

  for (const [exit, end] of [
    ['is made', 'compacted'],
    ['fails', 'summary'],
    ['is cancelled by who asked', 'cancelled'],
    ['is cancelled as a workflow', 'cancelled'],
    ['is terminated', 'interrupted'],
  ] as const) {
    test(`fault K01: a compaction that ${exit} leaves the session free: the message that waited is answered`, async () => {
      const { fault, gate } = await held(() => (exit === 'fails' ? '' : SUMMARY))
      const { session } = fault
      const compaction = session.compactNow({ requestId: 'm' }).catch((error: unknown) => error)
      await gate.reached
      const waiting = await session.prompt('m1', { requestId: 'm1' })
      const child = faults.client.workflow.getHandle(`${session.id}/compact/manual.m`)
      if (exit === 'is cancelled by who asked') await session.cancelCompaction('m')
      else if (exit === 'is cancelled as a workflow') await child.cancel()
      else if (exit === 'is terminated') await child.terminate()
      else gate.open()
      assert.equal((await waiting.result(TURN_MS)).reason, 'completed')
      await compaction
      const { status, compactionId, waitingCompactions } = await whenIdle(session)
      assert.deepEqual([status, compactionId, waitingCompactions], ['idle', null, 0])
      gate.open()
      const endsOf = endings(await fault.sound())
      // The summary that fails is asked for once more, and then is right.
      assert.deepEqual(endsOf, exit === 'fails' ? ['compacted'] : [end])
      assert.equal((await faults.store.session(session.id))?.openCompactionId, null)
      assert.notEqual(await session.compactNow(), null, 'the next one runs')
    })
  }

  test('fault K05: what comes late of a compaction that was cancelled with its turn changes nothing, and nobody is told of it', async () => {
    const { fault, gate, turn } = await underPressure(() => {
      throw new Error('too late to fail')
    })
    const { session } = fault
    await session.cancelTurn()
    assert.equal((await turn.result(TURN_MS)).reason, 'aborted')
    await whenIdle(session)
    // The cancelled call is counted when it ends, which may be later.
    const isCount = ({ type }: SessionEvent) => type === 'compact/call'
    const logged = async () => (await faults.log(session)).filter((event) => !isCount(event))
    const before = await logged()
    gate.open()
    await sleep(500)
    const late = { code: 'summary', stage: 'summarize', message: 'late' } as const
    const compactionId = 't1.s2.pressure.0'
    const row = await faults.store.closeAttempt({ sessionId: session.id, compactionId, error: late })
    assert.equal(row.outcome?.error?.code, 'cancelled', 'the first end stands')
    assert.deepEqual(await logged(), before)
    assert.equal((await session.state()).status, 'idle')
    const told = []
    const watching = { after: before.at(-1)?.seq ?? -1, signal: AbortSignal.timeout(1_500) }
    for await (const seen of session.watch(watching))
      if (seen.kind === 'delta' || !isCount(seen.event)) told.push(seen)
    assert.deepEqual(told, [])
  })

  test('fault K06: a cancel between prepare and commit leaves nothing behind but the record of the attempt', async () => {
    const { fault, gate } = await held()
    const { session } = fault
    await fault.say('Hello.')
    await whenIdle(session)
    const surface = JSON.stringify((await faults.store.surface(session.id)).nodes)
    const before = sideState(session.id)
    const compaction = session.compactNow({ requestId: 'm' })
    const ended = assert.rejects(compaction, isCancelled)
    await gate.reached
    assert.deepEqual(sideState(session.id), before, 'before the commit')
    await session.cancelCompaction('m')
    await ended
    await whenIdle(session)
    assert.deepEqual(sideState(session.id), before, 'after the cancel')
    assert.equal(JSON.stringify((await faults.store.surface(session.id)).nodes), surface)
    gate.open()
    await fault.sound()
  })

  test('fault K07: a compaction asked for in round 3 of 5 waits for the end of the round, and the turn goes on', async () => {
    const inRound3 = new Gate()
    const fault: FaultSession = await faults.open(
      {
        window: 64_000,
        reply: ({ index }) => (index < 5 ? { content: [call(`c${index}`)] } : 'Built.'),
      },
      {
        work: async (_input, { callId }) => {
          if (callId === 'c2') await inRound3.wait()
          return `${callId} ${words(300)}`
        },
      },
    )
    await fault.seed(rounds(4, 600))
    const turn = await fault.session.prompt('Build.')
    await inRound3.reached
    const compaction = fault.session.compactNow({ requestId: 'm', whenBusy: 'wait' })
    await eventually(
      () => fault.session.state(),
      ({ waitingCompactions }) => waitingCompactions === 1,
    )
    assert.deepEqual(
      ofType(await faults.log(fault.session), 'compact/start'),
      [],
      'not before the round has ended',
    )
    inRound3.open()
    assert.equal((await compaction)?.turn, 1)
    const { reason, message } = await turn.result(TURN_MS)
    assert.deepEqual([reason, message], ['completed', [text('Built.')]])
    assert.deepEqual(fault.ran, ['c0', 'c1', 'c2', 'c3', 'c4'])
    const events = await fault.sound()
    const order = events
      .filter(({ type, key }) => type.startsWith('compact/s') || /^t1\.s\d\.(start|tool\.c\d)$/.test(key))
      .map(({ key }) => key)
    const at = order.indexOf('compact.manual.m.start')
    assert.deepEqual([order[at - 1], order.at(at + 1)], ['t1.s3.tool.c2', 'compact.manual.m.summary'])
    assert.equal(ofType(events, 'turn/start').length, 1)
    const next = requestsFor('turn', fault)[3]
    assert.ok(next !== undefined && saidIn(next).includes('c2 word'), 'the round that has just ended is seen')
    const blocks: ContentBlock['type'][] = next.messages.flatMap(({ content }) =>
      content.map(({ type }) => type),
    )
    assert.ok(blocks.includes('tool_result'))
  })
})
