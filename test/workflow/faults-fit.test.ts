import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import { text } from '../../src/shared/session/content.ts'
import {
  call,
  endings,
  type FaultModel,
  type FaultSessions,
  ofType,
  openFaultSessions,
  requestsFor,
  rounds,
  saidIn,
  sizeOf,
  words,
} from '../support/fault-sessions.ts'
import { png } from '../support/png.ts'
import { lastReading } from '../support/real-sessions.ts'

// Theme A: the compaction's own request does not fit.

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions()
})
after(() => faults.close())

const done = () => 'Done.'

const bodyOf = ({ system, tools, messages }: ModelRequest) => JSON.stringify([system, tools, messages])

describe('what does not fit', { concurrency: 3 }, () => {
  test('fault A01: the session moves to a model with a window far below its history', async () => {
    const large: FaultModel = { window: 100_000, reply: done }
    const small: FaultModel = { window: 16_000, reply: done }
    const fault = await faults.open(large)
    await fault.seed(rounds(28, 2_400))
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    assert.ok(sizeOf(fault.requests[0] as ModelRequest) > 60_000)
    await fault.reopen(small)
    assert.equal((await fault.say('Go on with less.')).reason, 'completed')
    const events = await fault.sound()
    assert.equal(endings(events)[0], 'compacted')
    const parts = requestsFor('summary', fault)
    assert.ok(parts.length > 5, 'in parts')
    assert.ok(parts.every((request) => sizeOf(request) + request.maxTokens <= 16_000))
    assert.ok(
      fault.requests.slice(1).every((request) => sizeOf(request) < 16_000),
      'nothing larger was sent',
    )
  })

  const W = 14_000
  for (const [what, size] of [
    ['one token below the window', W - 1],
    ['one token above the window', W + 1],
    ['three times the window', 3 * W],
  ] as const) {
    test(`fault A02: a person compacts a session of ${what}`, async () => {
      const fault = await faults.open({ window: W, reply: done }, { policy: { auto: false } })
      await fault.say('Begin.')
      const before = (await lastReading(fault.session))?.tokens ?? 0
      const history = rounds(9, Math.floor((size - before) / 10) - 12)
      await fault.seed(history)
      const { nodes } = await faults.store.surface(fault.session.id)
      const seeded = nodes.reduce((sum, { tokens }) => sum + tokens, 0)
      const [first] = fault.requests
      const overhead = sizeOf({ ...(first as ModelRequest), messages: [] })
      await fault.seed([[text(words(size - overhead - seeded - 4))]])
      const { nodes: all } = await faults.store.surface(fault.session.id)
      assert.equal(
        all.reduce((sum, { tokens }) => sum + tokens, overhead),
        size,
      )
      const refused = await fault.say('Does not fit.')
      assert.equal(refused.reason, 'error')
      assert.equal(fault.requests.length, 1, 'what is known not to fit was not sent')
      const result = await fault.session.compactNow()
      assert.ok(result !== null && result.tokensAfter < W / 2)
      assert.equal((await fault.say('Fits.')).reason, 'completed')
      await fault.sound()
    })
  }

  test('fault A05: forty turns without any tool, and a provider that takes less than it says: after the refused request everything is smaller', async () => {
    const fault = await faults.open({ window: 32_000, realWindow: 16_000, reply: done })
    await fault.seed(rounds(40, 480))
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(endings(events), ['compacted'])
    const refused = fault.requests.filter((request) => sizeOf(request) + request.maxTokens > 16_000)
    assert.deepEqual(
      refused.map(({ purpose }) => purpose),
      ['turn'],
      'the summary begins below what was refused',
    )
    assert.equal(
      new Set(fault.requests.map(bodyOf)).size,
      fault.requests.length,
      'never the same bytes twice',
    )
  })

  test('fault A05: what cannot shrink is named, with its sizes', async () => {
    const fault = await faults.open({ window: 16_000, reply: done }, { system: words(1_000) })
    const { reason, error = '' } = await fault.say(words(15_000))
    assert.equal(reason, 'error')
    assert.deepEqual(fault.requests, [], 'nothing was sent')
    for (const named of [
      /system prompt 10\d\d/,
      /tools \d+/,
      /newest messages from #\d+ on 150\d\d/,
      /4000 for/,
      /16000/,
    ])
      assert.match(error, named)
    assert.equal((await fault.say('Something short.')).reason, 'completed')
    await fault.sound()
  })

  test('fault A07: thirty pictures in tool results are priced by their pixels; a summarizer that takes none gets labels beside their text', async () => {
    const model: FaultModel = {
      window: 64_000,
      acceptsMedia: false,
      reply: ({ index }) =>
        index < 10 ? { content: [0, 1, 2].map((n) => call(`c${index}-${n}`)) } : 'Seen.',
    }
    const fault = await faults.open(model, {
      work: async (_input, { callId }) => ({
        content: [png(800, 600, 200_000), text(`picture of ${callId}`)],
      }),
    })
    assert.equal((await fault.say('Look at all of them.')).reason, 'completed')
    const last = fault.requests.at(-1) as ModelRequest
    assert.ok(bodyOf(last).length > 30 * 200_000, 'the model sees the pictures')
    assert.ok(sizeOf(last) < 30_000, 'and nobody counts their base64')
    assert.equal(requestsFor('summary', fault).length, 0)
    await fault.session.compactNow()
    const [summary] = requestsFor('summary', fault)
    const said = saidIn(summary as ModelRequest)
    assert.ok(said.length < 60_000)
    for (const id of ofType(await faults.log(fault.session), 'tool/result').map(({ data }) => data.callId))
      assert.ok(said.includes(`picture of ${id}`), id)
    await fault.sound()
  })

  test('fault A08: the reply needs more than the input leaves: compacted for before the request', async () => {
    const policy = { replyMaxTokens: 8_192 }
    const fault = await faults.open({ window: 32_000, maxOutputTokens: 10_000, reply: done }, { policy })
    await fault.seed(rounds(27, 1_000))
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    assert.deepEqual(endings(await fault.sound()), ['compacted'])
    assert.equal(fault.requests.filter(({ purpose }) => purpose === 'turn').length, 1)
    assert.equal(fault.requests.at(-1)?.maxTokens, 8_192, 'the reply keeps its room')
  })

  const LARGE = { window: 100_000, maxOutputTokens: 40_000, reply: done }

  test('fault A08: with automatic compaction off the reply is shorter, which is recorded and told once a turn; below the least reply nothing is sent', async () => {
    const policy = { replyMaxTokens: 40_000, auto: false }
    const model: FaultModel = {
      ...LARGE,
      reply: ({ index }) => (index === 0 ? { content: [call('c0')] } : 'Done.'),
    }
    const fault = await faults.open(model, { policy })
    await fault.seed(rounds(66, 1_000))
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    const events = await fault.sound()
    const sent = fault.requests.map(({ maxTokens }) => maxTokens)
    assert.equal(sent.length, 2)
    assert.ok(sent.every((maxTokens) => maxTokens >= 10_000 && maxTokens < 40_000))
    const replies = ofType(events, 'assistant/message').filter(({ turn }) => turn !== null)
    assert.deepEqual(
      replies.map(({ data }) => data.maxTokens),
      sent,
    )
    const [notice, ...others] = ofType(events, 'session/notice')
    assert.deepEqual([notice?.data.code, others.length], ['short-reply', 0])
    assert.match(
      notice?.data.message ?? '',
      new RegExp(`window of 100000, .* ${sent[0]} tokens instead of 40000`),
    )
    await fault.seed(rounds(26, 1_000))
    const { reason, error = '' } = await fault.say('And on.')
    assert.deepEqual([reason, fault.requests.length], ['error', 2])
    assert.match(error, /40000 for the reply/)
    await fault.sound()
  })

  test('fault A08: a compaction comes first, and a shorter reply when it failed; while the breaker holds, at once', async () => {
    const policy = { replyMaxTokens: 40_000, summaryFallback: 'never' }
    const fault = await faults.open({ ...LARGE, summary: '' }, { policy })
    await fault.seed(rounds(66, 1_000))
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    const turns = () => requestsFor('turn', fault).map(({ maxTokens }) => maxTokens < 40_000)
    assert.deepEqual(turns(), [true])
    const causes = async () => ofType(await fault.sound(), 'compact/start').map(({ data }) => data.cause)
    assert.deepEqual(await causes(), ['pressure', 'context-overflow'])
    assert.equal((await fault.say('And on.')).reason, 'completed')
    assert.deepEqual(turns(), [true, true])
    assert.equal((await causes()).length, 2, 'nothing was paid for while the breaker holds')
  })

  test('fault A09: what a provider tells beside its messages goes into no request', async () => {
    const fault = await faults.open({
      window: 32_000,
      reply: ({ index }) => `Short reply ${index}.`,
      metadata: { logprobs: 'logprob '.repeat(2_500), system_fingerprint: 'fp_secret' },
    })
    for (let n = 0; n < 6; n++) await fault.say(`Short question ${n}.`)
    await fault.seed(rounds(10, 200))
    await fault.session.compactNow()
    const [summary] = requestsFor('summary', fault)
    assert.ok(sizeOf(summary as ModelRequest) < 6_000)
    for (const request of fault.requests) assert.doesNotMatch(bodyOf(request), /logprob|fp_secret|usage/)
    await fault.sound()
  })
})
