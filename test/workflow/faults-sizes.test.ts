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
  sizeOf,
  TIGHT_BYTES,
  words,
} from '../support/fault-sessions.ts'
import { png } from '../support/png.ts'
import { lastReading } from '../support/real-sessions.ts'

// Theme G: tokens and bytes, of texts and media, as the session counts them and as a provider does.

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions()
})
after(() => faults.close())

const done = () => 'Done.'

const pdf = (title: string) => ({
  type: 'document',
  title,
  source: {
    type: 'base64',
    media_type: 'application/pdf',
    data: Buffer.from(`%PDF-1.4\n${'/Type /Page \n'.repeat(3)}%%EOF`).toString('base64'),
  },
})

describe('sizes', { concurrency: 3 }, () => {
  test('fault G05: a large picture in the first message is seen by the model, and counts by its pixels', async () => {
    const fault = await faults.open({ window: 262_000, reply: done })
    const picture = png(1_600, 1_200, 2_700_000)
    assert.equal((await fault.say([text('What is this?'), picture])).reason, 'completed')
    assert.equal((await fault.say('And now?')).reason, 'completed')
    assert.deepEqual(endings(await fault.sound()), [])
    assert.deepEqual(fault.requests[0]?.messages[0]?.content[1], picture)
    assert.ok(((await lastReading(fault.session))?.tokens ?? 0) < 8_000)
  })

  test('fault G06: many small pictures exceed the bytes of a request long before its tokens', async () => {
    const reply = ({ index }: { index: number }) =>
      index < 9 ? { content: [0, 1, 2, 3, 4].map((n) => call(`c${index}-${n}`)) } : 'Done.'
    const fault = await faults.open(
      { window: 200_000, provider: 'tight', reply },
      {
        work: async (_input, { callId }) => ({
          content: [text(`shot of ${callId}`), png(800, 600, 100_000)],
        }),
      },
    )
    assert.equal((await fault.say('Take all shots.')).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(endings(events), [], 'old pictures leave without a compaction')
    assert.equal(fault.ran.length, 45)
    assert.ok(fault.requests.every((request) => saidIn(request).length <= TIGHT_BYTES))
    assert.ok(fault.requests.every((request) => sizeOf(request) < 100_000))
  })

  test('fault G06: one message of more bytes than any request takes ends its turn with both numbers, and no later one', async () => {
    const fault = await faults.open({ window: 200_000, provider: 'tight', reply: done })
    const { reason, error = '' } = await fault.say([text('Look.'), png(800, 600, 3_500_000)])
    assert.equal(reason, 'error')
    assert.match(error, /\d{7} bytes, \d{7} of them in its newest message; .* takes 4000000/)
    assert.deepEqual(fault.requests, [])
    await fault.seed(rounds(2, 100))
    assert.equal((await fault.say('Then without it.')).reason, 'completed')
    await fault.sound()
  })

  for (const [script, line] of [
    ['Chinese', '我们今天讨论如何压缩很长的对话而不丢失任何重要的细节。'.repeat(14)],
    ['family emoji and flags', '👨‍👩‍👧‍👦🇯🇵👩🏽‍🚀🏳️‍🌈'.repeat(12)],
  ] as const) {
    test(`fault G07: a long history in ${script}, and a tokenizer that makes more of it: one compaction, and none right after`, async () => {
      const fault = await faults.open({ window: 32_000, tokensPerOurs: 1.4, firstRatio: 1.2, reply: done })
      const history = Array.from({ length: 30 }, (_, n): Seed[] => [
        `${n} ${line}`,
        [text(`${n} ${line}`)],
      ]).flat()
      await fault.seed(history)
      for (let n = 0; n < 3; n++) assert.equal((await fault.say(`${n} ${line}`)).reason, 'completed')
      assert.deepEqual(endings(await fault.sound()), ['compacted'])
      const turns = requestsFor('turn', fault)
      assert.equal(turns.length, 3, 'none was refused')
      assert.ok(turns.every((request) => sizeOf(request) * 1.4 + request.maxTokens <= 32_000))
    })
  }

  test('fault G08: a provider counts nearly three times what we do: the tail is as long as it allows, in its tokens', async () => {
    const reply = ({ index }: { index: number }) => (index < 24 ? { content: [call(`c${index}`)] } : 'Done.')
    const policy = { retainTokens: 6_000, micro: false, prune: false }
    const fault = await faults.open(
      { window: 32_000, tokensPerOurs: 2.86, firstRatio: 1.2, reply },
      { policy, work: async () => words(400) },
    )
    assert.equal((await fault.say('Work.')).reason, 'completed')
    const events = await fault.sound()
    const summaries = ofType(events, 'compact/summary')
    assert.ok(summaries.length >= 1 && summaries.length <= 8, `${summaries.length} compactions`)
    const turns = requestsFor('turn', fault)
    const first = summaries[0]?.seq ?? 0
    const replies = ofType(events, 'assistant/message').filter(({ seq }) => seq < first).length
    const after = turns[replies]
    assert.ok(after !== undefined)
    const calls = saidIn(after).match(/"type":"tool_use"/g)?.length ?? 0
    assert.ok(calls >= 2 && calls <= 6, `${calls} rounds were kept`)
  })

  test('fault G11: system, tools and messages together are above the limit on the very first call', async () => {
    const policy = { thresholdTokens: 14_000, replyMaxTokens: 2_000 }
    const fault = await faults.open({ window: 18_000, reply: done }, { policy, system: words(7_000) })
    await fault.seed(rounds(8, 1_000))
    assert.equal((await fault.say('Go.')).reason, 'completed')
    assert.deepEqual(endings(await fault.sound()), ['compacted'])
    assert.equal(requestsFor('turn', fault).length, 1)
  })

  test('fault G12: documents that were summarized count no more', async () => {
    const fault = await faults.open({ window: 40_000, reply: done })
    for (const title of ['one', 'two', 'three']) await fault.say([text(`Read ${title}.`), pdf(title)])
    const tokens = async () => (await lastReading(fault.session))?.tokens ?? 0
    const before = await eventually(tokens, (found) => found > 9_000)
    assert.ok(await fault.session.compactNow())
    assert.equal((await fault.say('hi')).reason, 'completed')
    assert.deepEqual(endings(await fault.sound()), ['compacted'])
    const after = await eventually(tokens, (found) => found < before - 2 * 2_000)
    assert.ok(sizeOf(fault.requests.at(-1) ?? assert.fail()) <= after)
  })

  test('fault G13: no usage was ever reported: before and after are estimates of the same thing', async () => {
    const fault = await faults.open({
      window: 40_000,
      reply: () => ({ content: [text('Done.')], usage: null }),
      summary: { content: [text('Work was done. Next: go on.')], usage: null },
    })
    await fault.seed(rounds(8, 900))
    await fault.say('Go.')
    const before = await lastReading(fault.session)
    const result = await fault.session.compactNow()
    assert.equal(result?.tokensBefore, before?.tokens)
    await eventually(
      () => fault.session.contextReading(),
      (after) => after?.tokens === result?.tokensAfter,
    )
    assert.ok((result?.tokensBefore ?? 0) > 7_200 && (result?.tokensAfter ?? 0) < 3_000)
    const [called] = ofType(await fault.sound(), 'compact/call')
    assert.equal(called?.data.usage, undefined, 'unknown stays unknown')
  })
})
