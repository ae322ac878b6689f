import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ManualCompactionError } from '../../src/shared/errors.ts'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import { openWire, type Wire } from '../support/anthropic/wire.ts'
import {
  call,
  endings,
  type FaultSession,
  type FaultSessions,
  ofType,
  openFaultSessions,
  requestsFor,
  rounds,
  type Seed,
  saidIn,
  sizeOf,
  words,
} from '../support/fault-sessions.ts'
import { png } from '../support/png.ts'
import { whenIdle } from '../support/real-sessions.ts'

// Themes B and F on the real workflow: what triggers the next compaction, and the shape of the requests after one.

let wire: Wire
let faults: FaultSessions
before(async () => {
  wire = await openWire({ future: ['anything'] })
  faults = await openFaultSessions([], wire)
})
after(async () => {
  await faults.close()
  wire.close()
})

const surfaceOf = async ({ session }: FaultSession) => (await faults.store.surface(session.id)).nodes
const lastMessage = (request: ModelRequest | undefined) => request?.messages.at(-1)
const completes = async (fault: FaultSession, prompt: string | readonly ContentBlock[]) =>
  assert.equal((await fault.say(prompt)).reason, 'completed')

describe('what triggers the next compaction', { concurrency: true }, () => {
  test('fault B04: a tail and a system prompt that leave no room beside the reply are refused; with less the tail gives way', async () => {
    const [window, system, replyMaxTokens] = [16_384, words(3_250), 8_000]
    const model = {
      window,
      maxOutputTokens: 10_000,
      reply: ({ index }: ModelRequest) => (index < 12 ? { content: [call(`c${index}`)] } : 'Done.'),
    }
    const policy = { replyMaxTokens, retainTokens: 6_000 }
    const fault = await faults.open(model, { system, policy, work: async () => words(150) })
    await assert.rejects(
      fault.session.configure({ policy: { replyMaxTokens, retainTokens: 7_500 } }),
      /retainTokens must be below the pressure limit of 6336 tokens, got 7500/,
    )
    await fault.seed(rounds(6, 1_000))
    await completes(fault, 'Work.')
    await fault.sound()
    const attempts = await fault.session.compactions()
    assert.ok(
      attempts.every(({ cause, outcome }) => cause === 'pressure' && outcome === 'compacted'),
      JSON.stringify(attempts),
    )
    assert.ok(attempts.length >= 1 && attempts.length <= 4, `${attempts.length} in 13 steps`)
    assert.equal(fault.ran.length, 12)
    const kinds = fault.requests.map(({ purpose }) => purpose)
    for (const [at, request] of fault.requests.entries())
      if (kinds[at - 1] === 'summary' && kinds[at] === 'turn')
        assert.ok(sizeOf(request) < 0.9 * 6_336, `${sizeOf(request)} right after a compaction`)
  })

  test('fault B07: after a compaction, by pressure or by a person, short messages compact nothing', async () => {
    const fault = await faults.open({ window: 16_000, reply: () => 'Fine.' })
    const attempts = async () => (await fault.session.compactions()).length
    await fault.seed(rounds(9, 1_000))
    await completes(fault, 'Measured just below the limit.')
    assert.equal(await attempts(), 0)
    await completes(fault, words(1_500))
    assert.deepEqual(endings(await fault.sound()), ['compacted'])
    for (const prompt of ['a', 'b', 'c']) await completes(fault, prompt)
    assert.equal(await attempts(), 1)
    await fault.seed(rounds(6, 1_000))
    await completes(fault, 'Measured again.')
    await whenIdle(fault.session)
    const result = await fault.session.compactNow()
    await whenIdle(fault.session)
    const reading = await fault.session.contextReading()
    assert.equal(reading?.tokens, result?.tokensAfter)
    assert.ok((reading?.tokens ?? 0) < (result?.tokensBefore ?? 0) / 2)
    for (const prompt of ['d', 'e', 'f']) await completes(fault, prompt)
    assert.equal(await attempts(), 2)
    await fault.sound()
  })

  test('fault B13: a summary’s own usage fills the window, and the turn goes on to its end', async () => {
    const usage = { inputTokens: 15_200, outputTokens: 300, cacheReadTokens: 0, cacheWriteTokens: 0 }
    const fault = await faults.open(
      {
        window: 16_000,
        reply: ({ index }) => (index < 8 ? { content: [call(`c${index}`)] } : 'All is done.'),
        summary: { content: [text('Work is half done. Next: the other half.')], usage },
      },
      { work: async () => words(1_600), policy: { prune: false, micro: false } },
    )
    const { reason, message } = await fault.say('Do all of it.')
    assert.deepEqual([reason, message], ['completed', [text('All is done.')]])
    const ends = endings(await fault.sound())
    assert.ok(ends.length <= 2 && ends.every((end) => end === 'compacted'), ends.join())
    assert.equal(fault.ran.length, 8)
    await whenIdle(fault.session)
    const reading = await fault.session.contextReading()
    assert.ok(reading?.pressure === 'none' && reading.tokens < 10_000)
  })
})

describe('the shape of the request after a compaction', { concurrency: true }, () => {
  test('fault F01: in the middle of a tool loop it ends with the results, after answers alone with the prompt', async () => {
    const looping = await faults.open(
      {
        window: 16_000,
        reply: ({ index }) => (index < 7 ? { content: [text('Next.'), call(`c${index}`)] } : 'Done.'),
      },
      { work: async () => words(1_800), policy: { retainTokens: 0, prune: false } },
    )
    await completes(looping, 'Loop.')
    assert.ok(endings(await looping.sound()).length >= 1)
    const kinds = looping.requests.map(({ purpose }) => purpose)
    const next = lastMessage(looping.requests[kinds.lastIndexOf('summary') + 1])
    assert.deepEqual([next?.role, next?.content.map(({ type }) => type)], ['user', ['tool_result']])

    const answers = await faults.open({ window: 32_000, reply: () => 'Fine.' })
    await answers.seed(['Question.', ...[0, 1, 2, 3].map((n): Seed => [text(`Answer ${n} ${words(500)}`)])])
    await answers.session.compactNow()
    assert.deepEqual(
      (await surfaceOf(answers)).map(({ type }) => type),
      ['user/message', 'assistant/message'],
    )
    await completes(answers, 'Go on.')
    assert.deepEqual(lastMessage(answers.requests.at(-1)), { role: 'user', content: [text('Go on.')] })
    await answers.sound()
  })

  test('fault F03: a compaction block without content, and blank texts, as replies and as summaries', async () => {
    const empty: ContentBlock = { type: 'compaction', content: null }
    const replies = [[empty, text('Fine.')], [text('')], [empty]]
    let summary = [empty]
    const fault = await faults.open({
      window: 32_000,
      reply: ({ index }) => ({ content: replies[index] ?? [text('Fine.')] }),
      summary: () => ({ content: summary }),
    })
    await fault.seed(rounds(4, 600))
    for (const prompt of ['One.', 'Two.', 'Three.', 'Four.']) await completes(fault, prompt)
    for (const request of fault.requests) assert.doesNotMatch(saidIn(request), /"compaction"|"text":""/)
    const before = JSON.stringify(await surfaceOf(fault))
    for (const content of [[empty], [text('')], [text(' \n')], []]) {
      summary = content
      await assert.rejects(
        fault.session.compactNow(),
        (error) => error instanceof ManualCompactionError && error.code === 'summary',
      )
    }
    assert.equal(JSON.stringify(await surfaceOf(fault)), before)
    summary = [text('Questions were answered. Next: nothing.')]
    assert.notEqual(await fault.session.compactNow(), null)
    await completes(fault, 'Five.')
    await fault.sound()
  })

  for (const [whose, from, to] of [
    ['the assistant’s', 0, 4],
    ['the user’s', 0, 5],
    ['the user’s, before and behind the checkpoint', 1, 5],
  ] as const) {
    test(`fault F06: what is kept begins with a message of ${whose}`, async () => {
      const fault = await faults.open({ window: 32_000, reply: () => 'Fine.' })
      await fault.seed(rounds(4, 600))
      const nodes = await surfaceOf(fault)
      const [start, end] = [nodes[from]?.seq ?? -1, nodes[to]?.seq ?? -1]
      assert.notEqual(await fault.session.compactRegion(start, end), null)
      await completes(fault, 'Go on.')
      const roles = fault.requests.at(-1)?.messages.map(({ role }) => role) ?? []
      assert.ok(roles.every((role, at) => role === (at % 2 === 0 ? 'user' : 'assistant')))
      assert.equal(roles.at(-1), 'user')
      await fault.sound()
    })
  }

  // Headers belong to the client that a worker gives for a provider: there is one, and both kinds of call go through it.
  test('fault F07: whatever settings the session has, the summary’s request has, too', async () => {
    const sampling = {
      temperature: 0.3,
      metadata: { user_id: 'tenant-7' },
      betas: ['context-1m'],
      anything: [1],
    }
    const fault = await faults.open(
      { window: 32_000, reply: () => 'Fine.' },
      { sampling, system: 'Be kind.' },
    )
    await fault.seed(rounds(4, 600))
    await completes(fault, 'Go on.')
    await fault.session.compactNow()
    await completes(fault, 'Go on.')
    assert.equal(requestsFor('summary', fault).length, 1)
    for (const { sampling: sent, system, tools, provider, model } of fault.requests) {
      assert.deepEqual(sent, sampling)
      const [first] = fault.requests
      assert.deepEqual(
        [system, tools, provider, model],
        [first?.system, first?.tools, first?.provider, first?.model],
      )
    }
    await fault.sound()
  })

  test('faults F08 and I05: three compactions with pictures and documents between them; the rules stand in every request', async () => {
    const data = Buffer.from(`%PDF-1.4\n${'0 obj\n'.repeat(50)}`).toString('base64')
    const pdf: ContentBlock = {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data },
      title: 'spec.pdf',
    }
    const system = 'RULE-7: indent with tabs.'
    const fault = await faults.open({ window: 64_000, reply: () => `Seen. ${words(300)}` }, { system })
    await fault.seed(rounds(4, 600))
    for (let round = 0; round < 3; round++) {
      await completes(fault, [text(`Look, ${round}.`), png(640, 480, 50_000), pdf])
      await completes(fault, 'And?')
      assert.notEqual(await fault.session.compactNow(), null)
      await fault.sound()
    }
    await completes(fault, [png(640, 480, 50_000), text('The last one.')])
    assert.equal(ofType(await fault.sound(), 'compact/summary').length, 3)
    const said = saidIn(fault.requests.at(-1) as ModelRequest)
    for (let round = 0; round < 3; round++) assert.ok(said.includes(`Look, ${round}.`))
    assert.ok(fault.requests.every((request) => request.system === system && request.tools.length > 0))
  })
})
