import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { text } from '../../src/shared/session/content.ts'
import { eventually } from '../support/eventually.ts'
import {
  call,
  endings,
  type FaultSessions,
  ofType,
  openFaultSessions,
  requestsFor,
  rounds,
  type Seed,
  saidIn,
  words,
} from '../support/fault-sessions.ts'
import { Gate } from '../support/gate.ts'

// Theme C: calls and their results. Every request is checked as the model receives it.

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions()
})
after(() => faults.close())

const done = () => 'Done.'

/** A call and its result of about `tokens`. */
const pair = (id: string, tokens: number): Seed[] => [
  [text(`Calling ${id}.`), call(id)],
  { resultOf: id, content: `result of ${id}: ${words(tokens)}` },
]

describe('calls and their results', { concurrency: 3 }, () => {
  test('fault C03: what must go goes in whole rounds, oldest first', async () => {
    // The tail has room for the result of b, and not for its call.
    const policy = { thresholdTokens: 8_000, retainTokens: 4_200, prune: false }
    const fault = await faults.open({ window: 30_000, reply: done }, { policy })
    const calling = [text(words(600)), call('b')]
    const result = { resultOf: 'b', content: `result of b: ${words(3_900)}` }
    await fault.seed(['First.', ...pair('a', 4_000), 'Second.', calling, result, [text('So far.')]])
    assert.equal((await fault.say('Third.')).reason, 'completed')
    assert.deepEqual(endings(await fault.sound()), ['compacted'])
    const said = saidIn(fault.requests.at(-1) ?? { messages: [] })
    assert.doesNotMatch(
      said,
      /"(?:tool_use_)?id":"[ab]"|"type":"tool_result"/,
      'neither a call nor its result',
    )
    assert.match(said, /So far\./)
  })

  for (const verdict of ['approved', 'denied'] as const) {
    test(`fault C04 fault C15: a compaction is asked for while a call waits to be ${verdict}; the second one, three turns later, finds no mark of the first inside a pair`, async () => {
      const gate = new Gate()
      const reply = ({ index }: { index: number }) =>
        index === 0 ? { content: [call('t1')] } : `Reply ${index}. ${words(700)}`
      const fault = await faults.open(
        { window: 30_000, reply },
        {
          work: async () => {
            await gate.wait()
            return { content: verdict, isError: verdict === 'denied' }
          },
        },
      )
      await fault.seed(rounds(6, 400))
      const turn = await fault.session.prompt('Do it.')
      await gate.reached
      await fault.session.requestCompaction({ requestId: 'early' })
      gate.open()
      assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
      for (let n = 0; n < 3; n++) await fault.say(`Question ${n}.`)
      assert.ok(await fault.session.compactNow())
      await fault.say('One more.')
      const events = await fault.sound()
      assert.deepEqual(endings(events), ['compacted', 'compacted'])
      const [result] = ofType(events, 'tool/result')
      const [start] = ofType(events, 'compact/start')
      assert.ok((result?.seq ?? 0) < (start?.seq ?? 0), 'the pair is whole before the compaction begins')
      assert.equal(start?.turn, 1)
      assert.match(saidIn(requestsFor('turn', fault)[1] ?? { messages: [] }), new RegExp(verdict))
      const { nodes } = await faults.store.surface(fault.session.id)
      assert.equal(
        nodes.findIndex(({ key }) => key.endsWith('.checkpoint')),
        0,
      )
    })
  }

  test('fault C05: a steering message that comes between a call and its result joins behind the pair, and no cut takes it for a boundary', async () => {
    const gate = new Gate()
    const reply = ({ index }: { index: number }) => (index === 0 ? { content: [call('t1')] } : 'Noted.')
    const policy = { thresholdTokens: 4_000, retainTokens: 50, prune: false }
    const fault = await faults.open(
      { window: 30_000, reply },
      {
        policy,
        work: async () => {
          await gate.wait()
          return words(2_000)
        },
      },
    )
    await fault.seed(rounds(4, 500))
    const turn = await fault.session.prompt('Begin.', { requestId: 'U1' })
    await gate.reached
    await fault.session.prompt('Steer to the left.', { requestId: 'U2', delivery: 'next-step' })
    gate.open()
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    await fault.say('And then?')
    const events = await fault.sound()
    assert.ok(endings(events).includes('compacted'))
    const place = (find: (event: (typeof events)[number]) => boolean) => events.findIndex(find)
    const result = place((event) => event.type === 'tool/result')
    const steer = place((event) => event.type === 'user/message' && event.data.requestId === 'U2')
    assert.ok(result < steer)
    const first = requestsFor('turn', fault)[1]
    assert.deepEqual(first?.messages.at(-1)?.content.at(-1), text('Steer to the left.'))
  })

  test('fault C08 fault C09: a cancelled call has one result, whatever its tool says later, and no memory of it stays beside the log', async () => {
    const gate = new Gate()
    let late = false
    const reply = ({ index }: { index: number }) =>
      index === 0
        ? { content: [call('a'), call('b')] }
        : index === 1
          ? { content: [call('t2')] }
          : `Reply ${index}. ${words(900)}`
    const fault = await faults.open(
      { window: 30_000, reply },
      {
        async work(_input, { callId }) {
          if (callId !== 'b') return `result of ${callId}`
          await gate.wait()
          late = true
          return 'the late result'
        },
      },
    )
    await fault.seed(rounds(4, 600))
    const turn = await fault.session.prompt('Run both.')
    await gate.reached
    await eventually(
      async () => ofType(await faults.log(fault.session), 'tool/result').length,
      (results) => results === 1,
    )
    await fault.session.cancelTurn({ reason: 'changed my mind' })
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'aborted')
    gate.open()
    await eventually(
      () => late,
      (isLate) => isLate,
    )
    await fault.say('Go on.')
    assert.ok(await fault.session.compactNow())
    await fault.say('And on.')
    const events = await fault.sound()
    const results = ofType(events, 'tool/result').map(({ data }) => [data.callId, data.isError])
    assert.deepEqual(results, [
      ['a', false],
      ['b', true],
      ['t2', false],
    ])
    assert.doesNotMatch(JSON.stringify(events), /the late result/)
    assert.deepEqual(fault.ran.toSorted(), ['a', 'b', 't2'], 'each call ran once')
  })

  test('fault C10: the gauge is above the limit right after a compaction: the second has a plan of its own, and a third waits for the model', async () => {
    const policy = { thresholdTokens: 4_000, retainTokens: 1_500, compactionRetries: 1, minGainRatio: 0.01 }
    const reply = ({ index }: { index: number }) => (index < 6 ? { content: [call(`c${index}`)] } : 'Done.')
    const fault = await faults.open(
      { window: 30_000, reply },
      { policy, system: words(2_600), work: async () => words(900) },
    )
    await fault.seed(rounds(5, 500))
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    const events = await fault.sound()
    const perStep = new Map<string, number>()
    for (const { data } of ofType(events, 'compact/start')) {
      const step = data.compactionId.replace(/\.\d+$/, '')
      perStep.set(step, (perStep.get(step) ?? 0) + 1)
    }
    assert.ok(perStep.size > 0)
    assert.ok([...perStep.values()].every((attempts) => attempts <= 2))
    for (const { data } of ofType(events, 'compact/summary')) assert.ok(data.shadowedSeqs.length > 1)
  })

  test('fault C13: the summary is refused as too long, again and again; no smaller part separates a pair', async () => {
    const fault = await faults.open({ window: 60_000, realWindow: 16_000, reply: done })
    // Its half is in the middle of a pair.
    const history = Array.from({ length: 13 }, (_, n): Seed[] => [
      [text(words(750)), call(`p${n}`)],
      { resultOf: `p${n}`, content: words(800) },
    ]).flat()
    await fault.seed(['Begin.', ...history, [text('So far.')]])
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    assert.deepEqual(endings(await fault.sound()), ['compacted'])
    const parts = requestsFor('summary', fault)
    assert.ok(parts.length >= 3)
    for (let n = 0; n < 13; n++) {
      const holding = parts.filter((part) => saidIn(part).includes(`"tool_use_id":"p${n}"`))
      assert.ok(holding.length >= 1, `the summarizer reads the result of p${n}`)
    }
  })

  test('fault C14: a call that never got a result neither stops a compaction nor the next request', async () => {
    const fault = await faults.open({ window: 30_000, reply: done })
    await fault.seed([...rounds(5, 500), 'Now this.', [text('Calling.'), call('dangling')]])
    assert.ok(await fault.session.compactNow())
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    await fault.seed(rounds(3, 700))
    assert.ok(await fault.session.compactNow(), 'also when the call is old')
    assert.equal((await fault.say('Still there?')).reason, 'completed')
    await fault.sound()
    const said = saidIn(requestsFor('turn', fault)[0] ?? { messages: [] })
    assert.match(said, /"tool_use_id":"dangling","content":\[\{"type":"text","text":"Interrupted/)
  })

  test('fault C16: a reply that its limit cut off inside a call: the call is answered, never run, and the turn ends', async () => {
    const fault = await faults.open({
      window: 30_000,
      reply: ({ index }) =>
        index === 0 ? { content: [text('Now I'), call('cut')], stopReason: 'max_tokens' } : 'Done.',
    })
    assert.equal((await fault.say('Write it all.')).reason, 'max-tokens')
    assert.equal(fault.requests.length, 1, 'nobody asks again by himself')
    assert.equal((await fault.say('In smaller pieces.')).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(fault.ran, [])
    const results = ofType(events, 'tool/result').map(({ data }) => [data.callId, data.isError])
    assert.deepEqual(results, [['cut', true]])
    assert.match(
      saidIn(fault.requests[1] ?? { messages: [] }),
      /cut off by the limit of the reply and was not run/,
    )
  })

  test('fault C19: a history that begins with a result without its call is compacted and goes on', async () => {
    const fault = await faults.open({ window: 30_000, reply: done })
    await fault.seed([{ resultOf: 'lost', content: 'of a call that nobody knows' }, ...rounds(5, 500)])
    assert.equal((await fault.say('What was that?')).reason, 'completed')
    assert.match(saidIn(fault.requests[0] ?? { messages: [] }), /no longer shown: work, lost/)
    assert.ok(await fault.session.compactNow())
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    await fault.sound()
  })
})
