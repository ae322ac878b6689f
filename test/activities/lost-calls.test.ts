import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ModelCallContext, ModelClient, ModelReply } from '../../src/shared/ports/model.ts'
import { text } from '../../src/shared/session/content.ts'
import type { Usage } from '../../src/shared/session/events.ts'
import { linesOf } from '../../src/store/contract/usage-tests.ts'
import { type ActivityStage, openStage, RUN_1, RUN_2, SESSION } from '../support/activity-stage.ts'
import { Gate } from '../support/gate.ts'

// Calls of a turn that were paid and left no reply.

const usage = (outputTokens: number): Usage => ({
  inputTokens: 900,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
})
const reply = (words: string): ModelReply => ({
  content: [text(words)],
  stopReason: 'end_turn',
  usage: usage(10),
})

type Generate = (context: ModelCallContext, call: number) => Promise<ModelReply>

async function openTurn(generate: Generate): Promise<ActivityStage> {
  let calls = 0
  const model: ModelClient = {
    capacity: async () => ({ contextWindow: 100_000, maxOutputTokens: null }),
    generate: (_, context) => generate(context, calls++),
  }
  const stage = await openStage({ model })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'p1', message: 'Go.' })
  return stage
}

const callModel = (stage: ActivityStage, attempt = 1) =>
  stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 }, attempt)
const endTurn = (stage: ActivityStage) => stage.run(RUN_1, 'sessionEndTurn', { turn: 1, reason: 'aborted' })

/** Purpose, model, requests, requests of unknown tokens, input and output. */
const ledger = async ({ store }: ActivityStage) => linesOf((await store.session(SESSION))?.usage)
const lostOf = async ({ store }: ActivityStage) =>
  (await store.events(SESSION, { types: ['assistant/lost'] })).map((event) =>
    event.type === 'assistant/lost' ? [event.turn, event.data.why] : [],
  )

const broken = Object.assign(new TypeError('terminated'), { cause: new Error('other side closed') })

describe('fault R02: a call that fails on its way', () => {
  test('is counted with what the provider had told, once for each attempt that called', async () => {
    const stage = await openTurn(async ({ onDelta, onUsage }) => {
      onUsage?.(usage(1))
      onDelta?.({ text: 'It was' })
      onUsage?.(usage(5_000))
      throw broken
    })
    for (const attempt of [1, 2]) await assert.rejects(callModel(stage, attempt))
    assert.deepEqual(await ledger(stage), ['discarded x 2/0 1800/10000'])
    assert.deepEqual(await lostOf(stage), [
      [1, 'failed'],
      [1, 'failed'],
    ])
  })

  test('is a request of unknown tokens when the provider had told none', async () => {
    const stage = await openTurn(async ({ onDelta }) => {
      onDelta?.({ text: 'It was' })
      throw broken
    })
    await assert.rejects(callModel(stage))
    assert.deepEqual(await ledger(stage), ['discarded x 1/1 0/0'])
  })

  test('is not counted when the provider refused it', async () => {
    const stage = await openTurn(() =>
      Promise.reject(Object.assign(new Error('Slow down'), { status: 429, headers: new Headers() })),
    )
    await assert.rejects(callModel(stage))
    assert.deepEqual(await ledger(stage), [])
  })

  test('is counted when its answer is no reply', async () => {
    const stage = await openTurn(async () => ({ ...reply('x'), content: 'x' as never }))
    await assert.rejects(callModel(stage))
    assert.deepEqual(await ledger(stage), ['discarded x 1/0 900/10'])
  })

  test('fails as it failed, also when it cannot be written down', async () => {
    const stage = await openTurn(async ({ onUsage }) => {
      onUsage?.(usage(1))
      stage.server.setCurrent(RUN_2)
      await stage.run(RUN_2, 'sessionEndTurn', { turn: 1, reason: 'aborted' })
      throw broken
    })
    await assert.rejects(callModel(stage), (error: { type?: string }) => error.type === 'ModelFailed')
    assert.deepEqual(await ledger(stage), [], 'a run that is no longer the owner writes nothing')
  })
})

describe('fault R02: a cancelled call', () => {
  const cancelled = async (beforeItsEnd: (stage: ActivityStage) => Promise<unknown>) => {
    const gate = new Gate()
    const stage = await openTurn(async ({ onUsage }) => {
      onUsage?.(usage(5_000))
      await gate.wait()
      return reply('too late')
    })
    const { result, cancel } = stage.start(RUN_1, 'sessionCallModel', { turn: 1, step: 1 })
    const failed = assert.rejects(result)
    await gate.reached
    await beforeItsEnd(stage)
    cancel()
    await failed
    gate.open()
    assert.deepEqual(await ledger(stage), ['discarded x 1/0 900/5000'])
    return lostOf(stage)
  }

  test('is counted with what it had used, in its turn', async () => {
    assert.deepEqual(await cancelled(async () => undefined), [[1, 'cancelled']])
  })

  test('is counted when its turn has ended meanwhile, in none', async () => {
    assert.deepEqual(await cancelled(endTurn), [[null, 'cancelled']])
  })
})

describe('a reply that comes too late', () => {
  test('after the end of its turn: paid for nothing, and said so', async () => {
    const gate = new Gate()
    const stage = await openTurn(async () => {
      await gate.wait()
      return reply('late')
    })
    const calling = callModel(stage)
    await gate.reached
    await endTurn(stage)
    gate.open()
    await assert.rejects(calling, (error: { type?: string }) => error.type === 'TurnClosed')
    assert.deepEqual(await ledger(stage), ['discarded x 1/0 900/10'])
    assert.deepEqual(await lostOf(stage), [[null, 'late']])
  })

  test('to a step that has one: the first stands, the second is discarded', async () => {
    const gate = new Gate()
    const stage = await openTurn(async (_, call) => {
      if (call === 0) await gate.wait()
      return reply(`answer ${call}`)
    })
    const frozen = callModel(stage, 1)
    await gate.reached
    const first = await callModel(stage, 2)
    gate.open()
    const second = await frozen
    assert.deepEqual(
      [first, second].map((result) => result.kind),
      ['reply', 'reply'],
    )
    assert.deepEqual(await ledger(stage), ['discarded x 1/0 900/10', 'turn x 1/0 900/10'])
    const [answer] = await stage.store.events(SESSION, { types: ['assistant/message'] })
    assert.deepEqual(answer?.type === 'assistant/message' && answer.data.content, [text('answer 1')])
  })
})
