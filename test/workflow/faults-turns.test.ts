import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { text } from '../../src/shared/session/content.ts'
import {
  call,
  endings,
  type FaultSessions,
  ofType,
  openFaultSessions,
  requestsFor,
  rounds,
  saidIn,
  sizeOf,
  words,
} from '../support/fault-sessions.ts'
import { Gate } from '../support/gate.ts'

// Theme D: compaction in the middle of a turn.

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions()
})
after(() => faults.close())

describe('in the middle of a turn', { concurrency: 3 }, () => {
  test('fault D01: the usage of a reply that calls a tool crosses the threshold: reply and result are written, then it is compacted', async () => {
    const usage = { inputTokens: 12_500, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 }
    const reply = ({ index }: { index: number }) =>
      index === 0 ? { content: [text('Looking.'), call('t1')], usage } : 'Done.'
    const policy = { thresholdTokens: 12_000, retainTokens: 1_000 }
    const fault = await faults.open(
      { window: 40_000, reply },
      { policy, work: async () => 'the result of t1' },
    )
    await fault.seed(rounds(8, 700))
    assert.equal((await fault.say('Go.')).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(endings(events), ['compacted'])
    const seqOf = (type: (typeof events)[number]['type']) =>
      events.find((event) => event.type === type)?.seq ?? 0
    assert.ok(seqOf('tool/result') < seqOf('compact/start'))
    const [, second] = requestsFor('turn', fault)
    assert.match(saidIn(second ?? { messages: [] }), /Looking\..*"id":"t1".*the result of t1/)
    assert.equal(requestsFor('turn', fault).length, 2)
  })

  test('fault D02: three results of nearly a third of the window each: cut with a pointer, read once, and only then summarized', async () => {
    const reply = ({ index }: { index: number }) =>
      index === 0 ? { content: [call('a'), call('b'), call('c')] } : 'Done.'
    const policy = { toolResultMaxTokens: 9_000, retainTokens: 500 }
    const fault = await faults.open(
      { window: 30_000, reply },
      { policy, work: async (_input, { callId }) => `${callId} begins. ${words(9_000)} ${callId} ends.` },
    )
    await fault.seed(rounds(14, 800))
    assert.equal((await fault.say('Run all three.')).reason, 'completed')
    const events = await fault.sound()
    assert.ok(endings(events).includes('compacted'), 'what was there before made room')
    const said = saidIn(requestsFor('turn', fault)[1] ?? { messages: [] })
    for (const id of ['a', 'b', 'c'])
      assert.match(said, new RegExp(`${id} begins.*left out.*history.*${id} ends`))
    const results = new Set(ofType(events, 'tool/result').map(({ seq }) => seq))
    for (const { data } of ofType(events, 'compact/summary'))
      assert.ok(!data.shadowedSeqs.some((seq) => results.has(seq)))
    assert.equal(ofType(events, 'tool/output').length, 3, 'the whole of each is in the log')
  })

  test('fault D03 fault D05: one prompt and forty rounds of tools, each result as large as the tail, one of them huge', async () => {
    const reply = ({ index }: { index: number }) => (index < 40 ? { content: [call(`c${index}`)] } : 'Done.')
    const policy = { retainTokens: 1_500, micro: false, prune: false }
    const fault = await faults.open(
      { window: 16_000, reply },
      { policy, work: async (_input, { callId }) => words(callId === 'c3' ? 200_000 : 1_600) },
    )
    assert.equal((await fault.say('Work.')).reason, 'completed')
    const events = await fault.sound()
    const summaries = ofType(events, 'compact/summary')
    assert.ok(summaries.length >= 5 && summaries.length <= 14, `${summaries.length} compactions`)
    assert.ok(endings(events).every((ending) => ending === 'compacted'))
    assert.ok(ofType(events, 'compact/start').every(({ data }) => data.cause === 'pressure'))
    assert.ok(
      summaries.every(({ data }) => data.shadowedTokenCount > 3_000),
      'no plan is empty',
    )
    const turns = requestsFor('turn', fault)
    assert.equal(turns.length, 41, 'no request was refused')
    assert.ok(turns.every((request) => sizeOf(request) + request.maxTokens <= 16_000))
  })

  for (const where of ['the model streams', 'a tool runs', 'a call waits for approval'] as const) {
    test(`fault D06: a compaction is asked for while ${where}: the turn runs on, and it comes at the next step`, async () => {
      const gate = new Gate()
      const isModel = where === 'the model streams'
      const reply = async ({ index }: { index: number }) => {
        if (isModel && index === 0) await gate.wait()
        return index === 0 ? { content: [call('t1')] } : 'Done.'
      }
      const work = async () => {
        if (!isModel) await gate.wait()
        return 'worked'
      }
      const fault = await faults.open({ window: 40_000, reply }, { work })
      await fault.seed(rounds(6, 600))
      const turn = await fault.session.prompt('Go.')
      await gate.reached
      await assert.rejects(fault.session.compactNow(), { code: 'busy' })
      await fault.session.requestCompaction({ requestId: 'later' })
      gate.open()
      assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
      const events = await fault.sound()
      assert.deepEqual(endings(events), ['compacted'])
      assert.deepEqual(fault.ran, ['t1'])
      const order = events.flatMap((event) =>
        /^(?:assistant\/message|tool\/result|compact\/start)$/.test(event.type) && event.turn === 1
          ? [event.type]
          : [],
      )
      assert.deepEqual(order, ['assistant/message', 'tool/result', 'compact/start', 'assistant/message'])
    })
  }

  test('fault D06: a compaction of an idle session starts at once and belongs to no turn', async () => {
    const fault = await faults.open({ window: 40_000, reply: () => 'Done.' })
    await fault.seed(rounds(6, 600))
    assert.equal((await fault.session.compactNow())?.turn, null)
    await fault.sound()
  })
})
