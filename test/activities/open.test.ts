import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actor } from '../../src/shared/ports/store.ts'
import { text } from '../../src/shared/session/content.ts'
import { openStage, RUN_1, RUN_2, SESSION } from '../support/activity-stage.ts'

// The first activity of every run: which life it is, what waits, and what is refused.

const START = { model: 'scripted/x', system: '', tools: [] }
const LIFE_2: Actor = { workflowId: SESSION, runId: 'run-9' }

describe('sessionOpen', () => {
  test('again by the same run: the same answer, nothing written', async () => {
    const stage = await openStage()
    const before = await stage.store.events(SESSION)
    const opened = await stage.run(RUN_1, 'sessionOpen', { start: START }, 2)
    assert.equal(opened.life, 1)
    assert.deepEqual(await stage.store.events(SESSION), before)
  })

  test('by the next run of the chain: the same life, its open turn, and the prompts that wait but the quiet ones', async () => {
    const stage = await openStage()
    await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'a', message: 'Go.' })
    for (const [requestId, delivery] of [
      ['b', 'next-turn'],
      ['c', 'no-wake'],
      ['d', 'next-step'],
    ] as const)
      await stage.store.putInbox({
        sessionId: SESSION,
        requestId,
        kind: 'prompt',
        body: [text(requestId)],
        delivery,
      })
    stage.server.setCurrent(RUN_2)
    const opened = await stage.run(RUN_2, 'sessionOpen', {})
    assert.deepEqual([opened.life, opened.openTurn], [1, { turn: 1, requestId: 'a' }])
    assert.deepEqual(opened.waiting, [
      { requestId: 'b', delivery: 'next-turn' },
      { requestId: 'd', delivery: 'next-step' },
    ])
  })

  test('by a new chain: a new life; the open turn ends as interrupted, its call is answered', async () => {
    const stage = await openStage()
    await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'a', message: 'Go.' })
    stage.server.setCurrent(LIFE_2, { firstRunId: LIFE_2.runId })
    const opened = await stage.run(LIFE_2, 'sessionOpen', {})
    assert.deepEqual([opened.life, opened.openTurn], [2, null])
    const types = (await stage.store.events(SESSION)).slice(-2)
    assert.deepEqual(
      types.map((event) => event.type),
      ['turn/end', 'session/end-seed'],
    )
    assert.equal(types[0]?.type === 'turn/end' && types[0].data.reason, 'interrupted')
  })

  test('with other settings in a new life: one new header; with the same none', async () => {
    const stage = await openStage()
    const headers = async () => await stage.store.countEvents(SESSION, 'request/header')
    const lives = [LIFE_2, { workflowId: SESSION, runId: 'run-10' }, { workflowId: SESSION, runId: 'run-11' }]
    const systems = ['', 'You help.', 'You help.']
    const counts: number[] = []
    for (const [n, actor] of lives.entries()) {
      stage.server.setCurrent(actor, { firstRunId: actor.runId })
      await stage.run(actor, 'sessionOpen', { start: { ...START, system: systems[n] ?? '' } })
      counts.push(await headers())
    }
    assert.deepEqual(counts, [1, 2, 2])
    assert.equal((await stage.store.session(SESSION))?.header.system, 'You help.')
  })

  test('back to the settings of before in the same life: they hold again', async () => {
    const stage = await openStage()
    const held: string[] = []
    for (const system of ['You help.', '', 'You help.', '']) {
      await stage.run(RUN_1, 'sessionOpen', { start: { ...START, system } })
      held.push((await stage.store.session(SESSION))?.header.system ?? 'none')
    }
    assert.deepEqual(held, ['You help.', '', 'You help.', ''])
  })

  test('woken by a message: a session that is closed stays closed, an unknown one is not made', async () => {
    const stage = await openStage()
    await stage.run(RUN_1, 'sessionClose', { requestId: 'bye' })
    stage.server.setCurrent(LIFE_2, { firstRunId: LIFE_2.runId })
    const before = await stage.store.session(SESSION)
    await assert.rejects(
      stage.run(LIFE_2, 'sessionOpen', {}),
      (error: { type?: string }) => error.type === 'SessionClosed',
    )
    assert.deepEqual(await stage.store.session(SESSION), before)
    const stranger: Actor = { workflowId: 'stranger', runId: 'r' }
    stage.server.setCurrent(stranger)
    await assert.rejects(
      stage.run(stranger, 'sessionOpen', { sessionId: 'stranger' } as object),
      (error: { type?: string }) => error.type === 'SessionNotFound',
    )
    assert.equal((await stage.run(LIFE_2, 'sessionOpen', { start: START })).life, 2)
  })

  test('what is refused is refused for good, and opens nothing', async () => {
    const stage = await openStage()
    stage.server.setCurrent(LIFE_2, { firstRunId: LIFE_2.runId })
    const before = await stage.store.session(SESSION)
    const refusals: [object, string][] = [
      [{ model: 'acme/x' }, 'UnknownModel'],
      [{ tools: ['rm_rf'] }, 'UnknownTool'],
      [{ policy: { thresholdToken: 1 } }, 'InvalidPolicy'],
      [{ preset: 'leen' }, 'InvalidPolicy'],
      [{ model: 'x' }, 'InvalidInput'],
    ]
    for (const [settings, expected] of refusals) {
      await assert.rejects(
        stage.run(LIFE_2, 'sessionOpen', { start: { ...START, ...settings } }),
        ({ type, nonRetryable }: { type?: string; nonRetryable?: boolean }) =>
          type === expected && nonRetryable === true,
      )
    }
    assert.deepEqual(await stage.store.session(SESSION), before)
  })

  test('a thinking budget that fills the whole reply is refused at the start, with both numbers; one below is not', async () => {
    const stage = await openStage()
    stage.server.setCurrent(LIFE_2, { firstRunId: LIFE_2.runId })
    const opened = (budget: number, sampling = {}) => {
      const thinking = { type: 'enabled', budget_tokens: budget }
      const start = { ...START, policy: { replyMaxTokens: 2_000 }, sampling: { thinking, ...sampling } }
      return stage.run(LIFE_2, 'sessionOpen', { start })
    }
    await assert.rejects(
      opened(2_000),
      ({ type, message }: { type?: string; message: string }) =>
        type === 'InvalidPolicy' &&
        /must be above sampling.thinking.budget_tokens 2000, .* got 2000: raise policy.replyMaxTokens/.test(
          message,
        ),
    )
    await opened(1_999)
    await opened(9_000, { betas: ['interleaved-thinking-2025-05-14'] })
  })
})
