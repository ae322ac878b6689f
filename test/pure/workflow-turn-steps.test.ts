import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApplicationFailure } from '@temporalio/common'
import type { CompactionOutcome, Reading } from '../../src/shared/protocol.ts'
import { type Reply, runSteps, type StartedTurn, type TurnPorts } from '../../src/workflows/turn-steps.ts'

const TURN: StartedTurn = { turn: 3, step: 1, compactionRetries: 1, maxOverflowRetries: 1 }

const reading = (rest: Partial<Reading> = {}): Reading => ({
  headSeq: 10,
  generation: 4,
  tokens: 900,
  limit: 1000,
  pressure: 'none',
  ...rest,
})

const reply = (rest: Partial<Reply> = {}): Reply => ({
  kind: 'reply',
  reading: reading(),
  calls: [],
  stopReason: 'end_turn',
  ended: 'completed',
  ...rest,
})

function withCalls(...callIds: string[]): Reply {
  const { ended: _ended, ...open } = reply({
    stopReason: 'tool_use',
    calls: callIds.map((callId) => ({ callId, timeoutMs: 1000 })),
  })
  return open
}

const outcome = (rest: Partial<CompactionOutcome> = {}): CompactionOutcome => ({
  v: 1,
  compactionId: 'x',
  outcome: 'compacted',
  reading: reading({ generation: 5 }),
  tokensBefore: 900,
  tokensAfter: 300,
  paid: {
    calls: 1,
    reused: 0,
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  },
  ...rest,
})

const NEEDS_COMPACTION = {
  kind: 'needs-compaction',
  reading: reading(),
  message: '1200 tokens do not fit into 1000.',
} as const
const overflow = (generation: number) =>
  ApplicationFailure.nonRetryable('prompt is too long', 'ContextOverflow', { generation })

/** Ports that play lists of answers and write down what was asked of them. */
function played(
  answers: readonly (Awaited<ReturnType<TurnPorts['callModel']>> | Error)[],
  outcomes: readonly CompactionOutcome[] = [],
  rest: Partial<TurnPorts> = {},
) {
  const asked: string[] = []
  const left = { answers: [...answers], outcomes: [...outcomes] }
  let newest = reading()
  const ports: TurnPorts = {
    async boundary(step) {
      asked.push(`boundary ${step}`)
      return 'go-on'
    },
    async callModel(step, shortReply) {
      asked.push(`model ${step}${shortReply ? ' short' : ''}`)
      const answer = left.answers.shift()
      if (answer === undefined) throw new Error('the list of answers is empty')
      if (answer instanceof Error) throw answer
      newest = answer.reading
      return answer
    },
    async runTool(step, { callId }) {
      asked.push(`tool ${step} ${callId}`)
    },
    async compact({ compactionId, cause, focus }) {
      asked.push(`compact ${compactionId} ${cause}${focus === undefined ? '' : ` ${focus}`}`)
      const next = left.outcomes.shift()
      if (next === undefined) throw new Error('the list of outcomes is empty')
      newest = next.reading
      return next
    },
    newestReading: () => newest,
    ...rest,
  }
  return {
    ports,
    asked,
    see(first: Reading) {
      newest = first
    },
  }
}

describe('steps of a turn', () => {
  test('request, tools, request, until a reply ends the turn', async () => {
    const { ports, asked } = played([withCalls('a', 'b'), reply()])
    assert.equal(await runSteps(ports, TURN), 'ended')
    assert.deepEqual(asked, ['boundary 1', 'model 1', 'tool 1 a', 'tool 1 b', 'boundary 2', 'model 2'])
  })

  test('a resumed turn begins with its step', async () => {
    const { ports, asked } = played([reply()])
    await runSteps(ports, { ...TURN, step: 7 })
    assert.deepEqual(asked, ['boundary 7', 'model 7'])
  })

  test('a boundary may roll over before the request', async () => {
    const { ports, asked } = played([])
    ports.boundary = async () => 'roll-over'
    assert.equal(await runSteps(ports, TURN), 'rolled-over')
    assert.deepEqual(asked, [])
  })

  test('B1 below the limit nothing is asked of the compaction', async () => {
    for (const pressure of ['none', 'held', 'overhead'] as const) {
      const { ports, asked, see } = played([reply()])
      see(reading({ pressure }))
      await runSteps(ports, TURN)
      assert.deepEqual(asked, ['boundary 1', 'model 1'])
    }
  })

  test('B2 pressure is relieved before the request', async () => {
    const { ports, asked, see } = played([reply()], [outcome()])
    see(reading({ pressure: 'over' }))
    await runSteps(ports, TURN)
    assert.deepEqual(asked, ['boundary 1', 'compact t3.s1.pressure.0 pressure', 'model 1'])
  })

  test('B12 a further pass only after an effective one that is still above, within the count', async () => {
    const above = outcome({ reading: reading({ pressure: 'over', generation: 5 }) })
    const { ports, asked, see } = played([reply()], [above, above])
    see(reading({ pressure: 'over' }))
    await runSteps(ports, TURN)
    assert.deepEqual(asked.slice(1), [
      'compact t3.s1.pressure.0 pressure',
      'compact t3.s1.pressure.1 pressure',
      'model 1',
    ])
  })

  test('B11 a pass without effect is not repeated in its step', async () => {
    for (const pass of [
      outcome({ outcome: 'nothing' }),
      outcome({ outcome: 'failed' }),
      outcome({ tokensAfter: 900 }),
    ]) {
      const { ports, asked, see } = played([reply()], [{ ...pass, reading: reading({ pressure: 'over' }) }])
      see(reading({ pressure: 'over' }))
      await runSteps(ports, TURN)
      assert.deepEqual(asked.slice(1), ['compact t3.s1.pressure.0 pressure', 'model 1'])
    }
  })

  test('C1 a refused request is made again in the same step after a compaction', async () => {
    for (const refusal of [overflow(4), NEEDS_COMPACTION]) {
      const { ports, asked } = played([refusal, reply()], [outcome()])
      assert.equal(await runSteps(ports, TURN), 'ended')
      assert.deepEqual(asked, [
        'boundary 1',
        'model 1',
        'compact t3.s1.overflow.0 context-overflow',
        'model 1 short',
      ])
    }
  })

  test('fault A08 the last request may have a shorter reply: after a compaction that did not help, or without one', async () => {
    const refusal = { ...NEEDS_COMPACTION, fitsShorter: true } as const
    const vain = outcome({ outcome: 'failed', reading: reading() })
    const { ports, asked } = played([refusal, reply()], [vain])
    assert.equal(await runSteps(ports, TURN), 'ended')
    assert.deepEqual(asked.slice(1), [
      'model 1',
      'compact t3.s1.overflow.0 context-overflow',
      'model 1 short',
    ])
    const again = played([refusal, NEEDS_COMPACTION], [vain])
    await assert.rejects(runSteps(again.ports, TURN), { type: 'ContextTooLarge' })
    const off = played([reply()])
    await runSteps(off.ports, { ...TURN, maxOverflowRetries: 0 })
    assert.deepEqual(off.asked.slice(1), ['model 1 short'])
  })

  test('C4 no retry when the generation did not rise: the provider’s own error, unchanged', async () => {
    const failure = overflow(5)
    const { ports, asked } = played([failure], [outcome()])
    await assert.rejects(runSteps(ports, TURN), failure)
    assert.equal(asked.at(-1), 'compact t3.s1.overflow.0 context-overflow')
  })

  test('C4 a request that was never sent ends as ContextTooLarge with its numbers', async () => {
    const { ports } = played([NEEDS_COMPACTION], [outcome({ outcome: 'nothing', reading: reading() })])
    await assert.rejects(runSteps(ports, TURN), {
      type: 'ContextTooLarge',
      message: NEEDS_COMPACTION.message,
    })
  })

  test('C6 recovery is bounded in each step, and 0 turns it off', async () => {
    const risen = [outcome(), outcome({ reading: reading({ generation: 6 }) })]
    const twice = played([overflow(4), overflow(5)], risen)
    await assert.rejects(runSteps(twice.ports, TURN), { type: 'ContextOverflow' })
    assert.deepEqual(twice.asked.slice(1), [
      'model 1',
      'compact t3.s1.overflow.0 context-overflow',
      'model 1 short',
    ])
    const off = played([overflow(4)])
    await assert.rejects(runSteps(off.ports, { ...TURN, maxOverflowRetries: 0 }), { type: 'ContextOverflow' })
    const more = played([overflow(4), overflow(5), reply()], risen)
    await runSteps(more.ports, { ...TURN, maxOverflowRetries: 2 })
    assert.deepEqual(more.asked.filter((line) => line.startsWith('compact')).length, 2)
  })

  test('another failure of the model is not recovered from', async () => {
    const failure = ApplicationFailure.nonRetryable('no credit', 'ModelFailed')
    await assert.rejects(runSteps(played([failure]).ports, TURN), failure)
  })

  test('the compact tool runs after all pairs of its step are whole, and the turn goes on', async () => {
    const asking = { ...withCalls('a', 'b'), compact: { callId: 'c 1', focus: 'the plan' } }
    const { ports, asked } = played([asking, reply()], [outcome({ outcome: 'failed' })])
    assert.equal(await runSteps(ports, TURN), 'ended')
    const compact = asked.findIndex((line) => line.startsWith('compact t3.s1.tool.h.'))
    assert.match(asked[compact] ?? '', / tool the plan$/)
    assert.ok(compact > asked.indexOf('tool 1 b'))
    assert.equal(asked[compact + 1], 'boundary 2')
  })

  test('at most 16 tools run at once, and all of them run', async () => {
    const callIds = Array.from({ length: 50 }, (_, i) => `c${i}`)
    const ran: string[] = []
    let [now, most] = [0, 0]
    const { ports } = played([withCalls(...callIds), reply()], [], {
      async runTool(_step, { callId }) {
        most = Math.max(most, ++now)
        await new Promise((resolve) => setTimeout(resolve, 1))
        ran.push(callId)
        now--
      },
    })
    await runSteps(ports, TURN)
    assert.equal(most, 16)
    assert.deepEqual(ran.sort(), callIds.sort())
  })

  test('after a tool’s failure nothing new begins, and what runs is waited for', async () => {
    const done: string[] = []
    const { ports } = played([withCalls(...Array.from({ length: 20 }, (_, i) => `c${i}`))], [], {
      async runTool(_step, { callId }) {
        if (callId === 'c0') throw ApplicationFailure.nonRetryable('store away', 'StoreUnavailable')
        await new Promise((resolve) => setTimeout(resolve, 5))
        done.push(callId)
      },
    })
    await assert.rejects(runSteps(ports, TURN), { type: 'StoreUnavailable' })
    assert.equal(done.length, 15)
  })
})
