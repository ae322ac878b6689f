import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import { eventually } from '../support/eventually.ts'
import {
  endings,
  type FaultModel,
  type FaultSession,
  type FaultSessions,
  ofType,
  openFaultSessions,
  requestsFor,
  rounds,
  saidIn,
  words,
} from '../support/fault-sessions.ts'
import { whenIdle } from '../support/real-sessions.ts'

// What compactions may cost a session: real activities and store on a real server.

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions()
})
after(() => faults.close())

const talker: FaultModel = { window: 100_000, reply: () => words(3_000) }
const PRESSING = { thresholdTokens: 8_000, retainTokens: 500, micro: false, prune: false } as const

const blockedOf = async ({ session }: FaultSession) => (await whenIdle(session)).blocked?.reason ?? null
const paidBy = async ({ session }: FaultSession) =>
  (await faults.store.attemptUsage(session.id)).map(({ compactionId }) => compactionId)

describe('what compactions may cost a session', { concurrency: true }, () => {
  test('fault B14: two compactions are paid for, then none by itself, said once; a person still compacts; a larger budget releases it', async () => {
    const policy = { ...PRESSING, compactionBudget: { count: 2 } }
    const fault = await faults.open(talker, { policy })
    for (let n = 0; n < 12; n++) assert.equal((await fault.say(`Talk ${n}.`)).reason, 'completed')
    assert.equal((await paidBy(fault)).length, 2)
    const [notice, ...others] = ofType(await fault.sound(), 'session/notice')
    assert.deepEqual([notice?.data.code, others.length], ['budget-spent', 0])
    assert.match(
      notice?.data.message ?? '',
      /used up \(2 of 2 compactions, \d+ tokens\).*Raise it by configure/,
    )
    const { reading, blocked } = await whenIdle(fault.session)
    assert.deepEqual([reading?.pressure, blocked?.reason], ['held', 'budget-spent'])

    assert.ok((await fault.session.compactNow({ whenBusy: 'wait' })) !== null)
    assert.equal(await blockedOf(fault), 'budget-spent')
    assert.equal((await paidBy(fault)).length, 3)

    await fault.session.configure({ policy: { ...policy, compactionBudget: { count: 10 } } })
    await eventually(
      () => fault.session.state(),
      (state) => state.blocked === null,
    )
    for (let n = 0; n < 4; n++) await fault.say(`Talk again ${n}.`)
    assert.ok((await paidBy(fault)).length > 3)
    await fault.sound()
  })

  test('fault B14: with its tokens used up, a request that does not fit gets a checkpoint by code, which is free', async () => {
    const policy = { compactionBudget: { tokens: 1_000 } }
    const fault = await faults.open({ window: 32_000, reply: () => 'Done.' }, { policy })
    await fault.seed(rounds(10, 1_000))
    assert.ok((await fault.session.compactNow({ whenBusy: 'wait' })) !== null)
    assert.equal(await blockedOf(fault), 'budget-spent')
    await fault.seed(rounds(31, 1_000))
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(endings(events), ['compacted', 'compacted'])
    assert.equal(ofType(events, 'compact/start')[1]?.data.cause, 'context-overflow')
    assert.equal(requestsFor('summary', fault).length, 1)
    const [newest] = await fault.session.compactions({ limit: 1 })
    assert.deepEqual([newest?.cause, newest?.reason], ['context-overflow', 'deterministic'])
  })

  test('fault B14: a policy without checkpoints by code fails then, and says why', async () => {
    const policy = { compactionBudget: { tokens: 1_000 }, summaryFallback: 'never' } as const
    const fault = await faults.open({ window: 32_000, reply: () => 'Done.' }, { policy })
    await fault.seed(rounds(10, 1_000))
    assert.ok((await fault.session.compactNow({ whenBusy: 'wait' })) !== null)
    await fault.seed(rounds(31, 1_000))
    assert.equal((await fault.say('Go on.')).reason, 'error')
    const [newest] = await fault.session.compactions({ limit: 1 })
    assert.deepEqual([newest?.outcome, newest?.errorCode], ['failed', 'summary'])
    assert.match(newest?.errorMessage ?? '', /compactionBudget is used up/)
    assert.equal(requestsFor('summary', fault).length, 1)
    await fault.sound()
  })

  for (const [what, summaryFallback, isShort] of [
    ['the checkpoint by code comes before a shorter reply', 'overflow', false],
    ['a policy without such checkpoints takes the shorter reply', 'never', true],
  ] as const)
    for (const count of [23, 25])
      test(`fault B14: where a shorter reply would fit ${count} rounds, ${what}`, async () => {
        const policy = { compactionBudget: { tokens: 1_000 }, replyMaxTokens: 8_192, summaryFallback }
        const model = { window: 32_000, maxOutputTokens: 10_000, reply: () => 'Done.' }
        const fault = await faults.open(model, { policy })
        await fault.seed(rounds(10, 1_000))
        assert.ok((await fault.session.compactNow({ whenBusy: 'wait' })) !== null)
        await fault.seed(rounds(count, 1_000))
        for (let n = 0; n < 3; n++) assert.equal((await fault.say(`Go on ${n}.`)).reason, 'completed')
        const events = await fault.sound()
        assert.deepEqual(endings(events), isShort ? ['compacted'] : ['compacted', 'compacted'])
        for (const { maxTokens } of requestsFor('turn', fault)) assert.equal(maxTokens < 8_192, isShort)
        assert.equal(requestsFor('summary', fault).length, 1)
      })

  test('fault B14: the model that asks for a compaction is told', async () => {
    const compact = (id: string): ContentBlock => ({ type: 'tool_use', id, name: 'compact', input: {} })
    const model: FaultModel = {
      window: 100_000,
      reply: ({ index }) => (index === 0 ? { content: [text('Too much.'), compact('c0')] } : 'Done.'),
    }
    const fault = await faults.open(model, { policy: { compactionBudget: { count: 1 } } })
    await fault.seed(rounds(10, 1_000))
    assert.ok((await fault.session.compactNow({ whenBusy: 'wait' })) !== null)
    await fault.seed(rounds(5, 1_000))
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    const [asked] = await fault.session.compactions({ limit: 1 })
    assert.deepEqual([asked?.cause, asked?.outcome, asked?.reason], ['tool', 'nothing', 'budget-spent'])
    const last = requestsFor('turn', fault).at(-1)
    assert.match(saidIn(last ?? assert.fail('no request')), /compactionBudget is used up/)
    await fault.sound()
  })
})
