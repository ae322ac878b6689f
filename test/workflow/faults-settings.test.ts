import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Reading } from '../../src/shared/protocol.ts'
import { text } from '../../src/shared/session/content.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import {
  call,
  endings,
  type FaultModel,
  type FaultSession,
  type FaultSessions,
  ofType,
  openFaultSessions,
  words,
} from '../support/fault-sessions.ts'
import { whenIdle } from '../support/real-sessions.ts'

// Themes M and Q: settings and windows.

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions()
})
after(() => faults.close())

const rounds = (count: number, tokens: number) =>
  Array.from({ length: count }, (_, n) => [`Question ${n}.`, [text(`Answer ${n}. ${words(tokens)}`)]]).flat()
const surfaceOf = async ({ session }: FaultSession) => (await faults.store.surface(session.id)).nodes
const headerOf = async ({ session }: FaultSession) => {
  const { header } = (await faults.store.session(session.id)) ?? assert.fail('it is not stored')
  return [header.provider, header.model]
}
/** What a person is shown of a session at rest. */
const shown = async ({ session }: FaultSession): Promise<Reading> => {
  await whenIdle(session)
  return (await session.contextReading()) ?? assert.fail('nothing was measured')
}

interface Turns {
  /** What was shown after each turn; the last one compacted before its request. */
  readonly readings: readonly Reading[]
  readonly tokensBefore: number
}

async function untilCompacted(fault: FaultSession, promptTokens: number): Promise<Turns> {
  const readings: Reading[] = []
  for (;;) {
    assert.equal((await fault.say(words(promptTokens))).reason, 'completed')
    readings.push(await shown(fault))
    const [record] = await fault.session.compactions()
    if (record !== undefined) return { readings, tokensBefore: record.tokensBefore ?? 0 }
  }
}

/** It was compacted in the first turn in which what was shown, and the prompt since, reached the limit. */
function assertTrigger({ readings, tokensBefore }: Turns, limit: number, promptTokens: number): void {
  const sizes = readings.map(({ tokens }) => tokens).slice(0, -1)
  const said = `shown ${sizes.join(', ')}, compacted at ${tokensBefore}, limit ${limit}`
  const isBelow = sizes.slice(0, -1).every((size) => size + promptTokens < limit)
  const since = tokensBefore - (sizes.at(-1) ?? 0)
  assert.ok(isBelow, said)
  assert.ok(tokensBefore >= limit, said)
  assert.ok(since >= promptTokens && since < promptTokens + 50, said)
}

describe('settings and windows', { concurrency: true }, () => {
  test('fault M02: compaction is off and the history three times the window: refused, nothing is dropped', async () => {
    const policy = { auto: false }
    const fault = await faults.open({ window: 16_000, reply: () => 'Done.' }, { policy })
    await fault.seed(rounds(24, 2_000))
    const before = await surfaceOf(fault)
    const { reason, error = '' } = await fault.say('Go on.')
    assert.deepEqual([reason, fault.requests.length], ['error', 0])
    assert.match(error, /16000/)
    assert.deepEqual((await surfaceOf(fault)).slice(0, before.length), before)
    await fault.sound()
  })

  test('fault M02: compaction is off and nobody knows the window: each message and each result is in each request', async () => {
    const model: FaultModel = {
      window: null,
      reply: ({ index }) => (index < 4 ? { content: [call(`a${index}`), call(`b${index}`)] } : 'Done.'),
    }
    const work = async (_: unknown, { callId }: { callId: string }) => `${callId} ${words(4_000)}`
    const fault = await faults.open(model, { policy: { auto: false }, work })
    await fault.seed(rounds(24, 2_000))
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    const events = await fault.sound()
    assert.ok(events.every(({ surfaceOp }) => surfaceOp === undefined || surfaceOp === 'append'))
    const nodes = await surfaceOf(fault)
    assert.deepEqual(fault.requests.at(-1)?.messages, deriveMessages(nodes.slice(0, -1)))
    const whole = JSON.stringify(fault.requests.at(-1)?.messages)
    for (const { data } of [...ofType(events, 'tool/result'), ...ofType(events, 'user/message')])
      assert.ok(data.content.every((block) => whole.includes(JSON.stringify(block))))
    assert.equal(ofType(events, 'tool/result').length, 8)
  })

  for (const [what, policy, limit] of [
    ['half of the window', { thresholdRatio: 0.5 }, 12_000],
    ['nearly all of it, more than by default', { thresholdRatio: 0.95, replyMaxTokens: 1_000 }, 20_952],
  ] as const)
    test(`fault M03: a threshold of ${what} is shown, and holds`, async () => {
      const reply = () => words(1_500)
      const fault = await faults.open({ window: 24_000, reply }, { policy: { ...policy, micro: false } })
      const turns = await untilCompacted(fault, 500)
      assertTrigger(turns, limit, 500)
      assert.deepEqual([...new Set(turns.readings.map((reading) => reading.limit))], [limit])
    })

  test('fault M03: a threshold that is none is refused before there is a session', async () => {
    const { session } = await faults.open({ window: 24_000, reply: () => 'Done.' })
    const model = `scripted/${(await session.stored())?.header.model}`
    for (const thresholdRatio of [0, 1.5, -1, Number.NaN, '60'])
      await assert.rejects(
        faults.start({ model, policy: { thresholdRatio } }),
        /policy\.thresholdRatio must be/,
        String(thresholdRatio),
      )
  })

  test('fault M04: nobody knows the window: no guess, a reading says so, and the first refusal is recovered from', async () => {
    const fault = await faults.open({ window: null, realWindow: 14_000, reply: () => 'Done.' })
    await fault.seed(rounds(20, 300))
    assert.equal((await fault.say('Go on.')).reason, 'completed')
    const { limit, off } = await shown(fault)
    assert.deepEqual([limit, off], [null, 'window-unknown'])
    assert.deepEqual(endings(await faults.log(fault.session)), [])
    await fault.seed(rounds(20, 400))
    assert.equal((await fault.say('Go on with more.')).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(
      ofType(events, 'compact/start').map(({ data }) => data.cause),
      ['context-overflow'],
    )
    assert.deepEqual(
      ofType(events, 'session/notice').map(({ data }) => data.code),
      ['window-unknown'],
      'said once',
    )
  })

  test('fault M06: what is shown is what triggers, whatever a provider tells of its usage', async () => {
    const inputTokens = 0
    const adapters: Record<string, object> = {
      counts: {},
      'counts nothing': { usage: null },
      'tells zeros': { usage: { inputTokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 } },
    }
    const triggers = await Promise.all(
      Object.values(adapters).map(async (metadata) => {
        const reply = () => words(1_000)
        const policy = { micro: false }
        const fault = await faults.open({ window: 16_000, reply, metadata }, { policy })
        const turns = await untilCompacted(fault, 100)
        assertTrigger(turns, turns.readings[0]?.limit ?? 0, 100)
        await fault.sound()
        return turns.readings.length
      }),
    )
    assert.equal(new Set(triggers).size, 1, `turns until the compaction: ${triggers}`)
  })

  test('fault Q02: a summarizer of a million tokens, a session of 64,000: the tail is for the session, the request for the summarizer', async () => {
    const large = await faults.open({ window: 1_000_000, reply: () => 'Done.' })
    const [provider, model] = await headerOf(large)
    const policy = { summarizer: { provider, model }, micro: false, compactTool: false, historyTool: false }
    const fault = await faults.open(
      { window: 64_000, reply: () => 'Done.' },
      { system: words(20_000), policy },
    )
    await fault.seed(rounds(90, 1_000))
    for (const prompt of ['Go on.', 'And on.', 'And on again.'])
      assert.equal((await fault.say(prompt)).reason, 'completed')
    const events = await fault.sound()
    const calls = ofType(events, 'compact/call')
    assert.deepEqual(
      calls.map(({ data }) => [data.purpose, data.model]),
      [['summary', model]],
      'all of it in one request, which no model of the session could take, and once',
    )
    const tail = (await surfaceOf(fault)).filter(({ key }) => key.startsWith('seed.'))
    const tailTokens = tail.reduce((sum, { tokens }) => sum + tokens, 0)
    assert.ok(tailTokens > 5_000 && tailTokens <= 0.16 * 64_000 + 2_000, `${tailTokens} tokens were kept`)
    assert.equal((await shown(fault)).pressure, 'none')
  })
})
