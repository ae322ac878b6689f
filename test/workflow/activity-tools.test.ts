import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { z } from 'zod'
import { activityTool } from '../../src/worker/index.ts'
import { Gate } from '../support/gate.ts'
import { ofType } from '../support/of-type.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'
import type { TestWorker } from '../support/temporal.ts'
import { callingModel, callsOf, resultsOf } from '../support/tool-calls.ts'

// Tools that are activities of the user's own, on a worker of the user's own.

const taskQueue = `own-${randomUUID().slice(0, 8)}`
const any = { inputSchema: { type: 'object' }, taskQueue }
const tools = [
  activityTool({
    name: 'refund',
    description: 'Refunds an order.',
    activity: 'refundOrder',
    taskQueue,
    inputSchema: z.object({ order: z.string(), cents: z.number().default(100) }),
  }),
  activityTool({ name: 'say', activity: 'say', ...any }),
  activityTool({ name: 'repeat', activity: 'repeat', ...any }),
  activityTool({ name: 'fails', activity: 'fails', ...any }),
  activityTool({ name: 'flaky', activity: 'flaky', idempotent: true, ...any }),
  activityTool({ name: 'broken', activity: 'flaky', idempotent: true, retries: 1, ...any }),
  activityTool({ name: 'slow', activity: 'slow', timeoutMs: 1_000, ...any }),
  activityTool({ name: 'waits', activity: 'waits', heartbeatTimeoutMs: 10_000, ...any }),
  activityTool({ name: 'deaf', activity: 'slow', ...any }),
  activityTool({ name: 'missing', activity: 'missing', ...any }),
  activityTool({
    name: 'unserved',
    activity: 'say',
    inputSchema: { type: 'object' },
    taskQueue: `${taskQueue}-nobody`,
    queueTimeoutMs: 1_000,
  }),
]

/** What was called, by session. */
const calls = new Map<string, string[]>()
/** What to do when the activity of a session runs, or is told to stop. */
const begun = new Map<string, () => void>()
const stopped = new Map<string, () => void>()
const called = (name: string, { sessionId }: { sessionId: string }): number => {
  const names = [...(calls.get(sessionId) ?? []), name]
  calls.set(sessionId, names)
  begun.get(sessionId)?.()
  return names.length
}
type Given = { sessionId: string; callId: string; idempotencyKey: string }

const activities = {
  async refundOrder(input: object, context: Given) {
    called('refundOrder', context)
    return { ...input, ...context }
  },
  say: async ({ what }: { what: unknown }) => what,
  repeat: async ({ text, times }: { text: string; times: number }) => text.repeat(times),
  async fails(_input: unknown, context: Given) {
    called('fails', context)
    throw new Error('the card was refused')
  },
  async flaky({ works }: { works: number }, context: Given) {
    const n = called('flaky', context)
    if (n === works) return `try ${n} worked`
    throw ApplicationFailure.create({ message: `try ${n} failed`, nextRetryDelay: '10ms' })
  },
  async slow(_input: unknown, context: Given) {
    called('slow', context)
    await held.wait()
  },
  async waits(_input: unknown, context: Given) {
    called('waits', context)
    const beat = setInterval(() => Context.current().heartbeat(), 100)
    try {
      await Context.current().cancelled
    } finally {
      clearInterval(beat)
      stopped.get(context.sessionId)?.()
    }
  },
}

const held = new Gate()
const model = callingModel()
let real: RealSessions
let own: TestWorker
before(async () => {
  real = await openRealSessions({ scripted: model }, tools)
  own = await real.startWorker({ taskQueue, activities, maxHeartbeatThrottleInterval: '200ms' })
})
after(async () => {
  held.open()
  await own.stop()
  await real.close()
})

const call = async (...asked: readonly (readonly [string, object])[]) => {
  const session = await real.start()
  const turn = await session.prompt(callsOf(asked))
  const { reason, error } = await turn.result({ timeoutMs: 120_000 })
  assert.deepEqual([reason, error], ['completed', undefined])
  const results = await resultsOf(real, session)
  return { session, results, said: results.map(({ text, isError }) => [text, isError]) }
}

describe('an activity of the user’s own is a tool', { concurrency: true }, () => {
  test('it gets the checked input and the names of its call; its JSON is the result; the model is given its schema', async () => {
    const { session, results } = await call(['refund', { order: '4711' }])
    const idempotencyKey = `${session.id}.t1.s1.tool.c0`
    const context = { sessionId: session.id, callId: 'c0', idempotencyKey }
    assert.deepEqual(JSON.parse(results[0]?.text ?? ''), { order: '4711', cents: 100, ...context })
    const offered = (await real.store.session(session.id))?.header.tools.find(({ name }) => name === 'refund')
    assert.equal(offered?.description, 'Refunds an order.')
    assert.deepEqual(offered?.inputSchema['required'], ['order'])
    assert.deepEqual(
      ofType(await real.log(session), 'tool/claim').map(({ data }) => data.handed),
      [true],
    )
  })

  test('text, blocks with isError, nothing, and an object that only looks like blocks', async () => {
    const given = [
      'done',
      { content: [{ type: 'text', text: 'no funds' }], isError: true },
      null,
      { content: 'a page', url: 'x' },
      { content: [{ type: 'tool_use', id: 'x', name: 'y', input: {} }] },
    ]
    const { said } = await call(...given.map((what) => ['say', { what }] as const))
    assert.deepEqual(said.slice(0, 4), [
      ['done', false],
      ['no funds', true],
      ['(no output)', false],
      ['{"content":"a page","url":"x"}', false],
    ])
    assert.deepEqual(said[4], ['{"type":"tool_use","id":"x","name":"y","input":{}}', false])
  })

  test('an input that does not fit, or is too large for a history, does not reach it', async () => {
    const { session, said } = await call(['refund', { cents: 1 }], ['say', { what: 'x'.repeat(70_000) }])
    assert.match(String(said[0]?.[0]), /^The input of refund is not valid: .*at order/s)
    assert.match(String(said[1]?.[0]), /^The input of say has 700\d\d bytes as JSON, allowed are 65536/)
    assert.deepEqual([said[0]?.[1], said[1]?.[1], calls.get(session.id)], [true, true, undefined])
  })

  test('a failure is a result that the model reads; it has run once', async () => {
    const { session, said } = await call(['fails', {}])
    assert.deepEqual(said, [['fails failed: the card was refused', true]])
    assert.deepEqual(calls.get(session.id), ['fails'])
  })

  test('one that is idempotent is run again after a failure, as often as its rule says', async () => {
    const healed = await call(['flaky', { works: 3 }])
    assert.deepEqual(healed.said, [['try 3 worked', false]])
    const broken = await call(['broken', { works: 3 }])
    assert.deepEqual(broken.said, [['broken failed: try 2 failed', true]])
  })

  test('at its time-out the model reads that the outcome is unknown; it has run once', async () => {
    const { session, said } = await call(['slow', {}])
    assert.match(
      String(said[0]?.[0]),
      /^Outcome unknown: slow may have done its work, but it gave no answer within 1000 ms.*Check what it did/,
    )
    assert.ok((calls.get(session.id) ?? []).length <= 1)
  })

  test('without a worker, or without the activity on it, the model reads that it was not run', async () => {
    const { said } = await call(['unserved', {}], ['missing', {}])
    assert.match(
      String(said[0]?.[0]),
      /^unserved was not run: no worker of task queue ".*-nobody" took it within 1000 ms/,
    )
    assert.match(String(said[1]?.[0]), /^missing failed: .*missing is not registered/)
  })

  test('of a large result 128 KiB are kept, the rest is counted; one above 2 MiB is lost, and said to be', async () => {
    const { session, said } = await call(
      ['repeat', { text: '\n"', times: 150_000 }],
      ['repeat', { text: 'x', times: 3_000_000 }],
    )
    const [output] = ofType(await real.log(session), 'tool/output')
    const kept = JSON.stringify(output?.data.content)
    assert.ok(kept.length > 100_000 && kept.length < 132_000, `${kept.length} bytes`)
    assert.match(kept, /more bytes were not kept/)
    assert.match(
      String(said[1]?.[0]),
      /^repeat ran, but its result is larger than Temporal takes and is lost/,
    )
    assert.equal(said[1]?.[1], true)
  })

  test('a step whose results would fill the history hands out no more: the model reads which calls were not run', async () => {
    const repeat = ['repeat', { text: 'x', times: 1_900_000 }] as const
    const { said } = await call(...Array.from({ length: 24 }, () => repeat))
    const notRun = said.filter(([text]) => /^repeat was not run: .*Call it again/.test(String(text)))
    // How many fit depends on how many results are under way at once: at least four, at most twenty-one.
    assert.ok(notRun.length > 0 && notRun.length < 24, `${notRun.length} of 24 were not run`)
    assert.ok(said.every(([text]) => String(text).startsWith('xxx') || String(text).startsWith('repeat was')))
  })

  for (const [name, hears] of [
    ['waits', true],
    ['deaf', false],
  ] as const) {
    test(`a cancelled turn ends at once; ${hears ? 'what beats is told to stop' : 'what does not beat is left alone'}`, async () => {
      const session = await real.start()
      const runs = new Promise<void>((resolve) => begun.set(session.id, resolve))
      const stops = new Promise<void>((resolve) => stopped.set(session.id, resolve))
      const turn = await session.prompt(callsOf([[name, {}]]))
      await runs
      await session.cancelTurn({ reason: 'enough' })
      assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'aborted')
      if (hears) await stops
      const next = await session.prompt('Go on.')
      assert.equal((await next.result({ timeoutMs: 120_000 })).reason, 'completed')
      assert.deepEqual(calls.get(session.id), [hears ? 'waits' : 'slow'], 'once')
    })
  }
})
