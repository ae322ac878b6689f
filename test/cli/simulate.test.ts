import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planOfLog } from '../../src/cli/simulate/plan-of-log.ts'
import { type Simulation, simulate } from '../../src/cli/simulate/simulate.ts'
import { readTranscript } from '../../src/formats/read-transcript.ts'
import { planReplay, type ReplayPlan } from '../../src/formats/replay-plan.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import type { ContentBlock } from '../../src/shared/session/content.ts'
import type { Header, SessionEvent } from '../../src/shared/session/events.ts'
import { priceContent, priceText } from '../../src/shared/tokens/price.ts'

// When a policy would fire on a conversation, what that costs, and where it would not have fitted: held against sums made here.

type Message = { readonly role: 'user' | 'assistant'; readonly content: string | readonly ContentBlock[] }

/** True tokens for one of ours, before anything was learned: what the simulation assumes of this model. */
const RATIO = 1.2
const MODEL = { provider: 'acme', model: 'large' }
const SYSTEM = 'You are of help.'

const planOf = (...messages: Message[]): ReplayPlan => planReplay(readTranscript(JSON.stringify(messages)))

function headerOf(policy: Readonly<Record<string, unknown>>, contextWindow = 200_000): Header {
  const facts = { ...MODEL, contextWindow, maxOutputTokens: null }
  return { ...MODEL, system: SYSTEM, tools: [], sampling: {}, policy: resolvePolicy(policy, facts) }
}

const words = (count: number, word = 'word') => `${word} `.repeat(count).trim()
const user = (content: string): Message => ({ role: 'user', content })
const model = (content: string): Message => ({ role: 'assistant', content })

/** A conversation without tools: prompt and reply, of so many words each. */
const talk = (rounds: number, size: number): Message[] =>
  Array.from({ length: rounds }, (_, round) => [
    user(words(size, `ask${round}`)),
    model(words(size, `say${round}`)),
  ]).flat()

const price = ({ content }: Message): number =>
  priceContent(typeof content === 'string' ? [{ type: 'text', text: content }] : content)
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

/** Our tokens of each request of a conversation without compactions, by number of the reply from 0. */
function requestSizes(messages: readonly Message[]): number[] {
  const overhead = priceText(SYSTEM)
  return messages.flatMap(({ role }, index) =>
    role === 'assistant' ? [overhead + sum(messages.slice(0, index).map(price))] : [],
  )
}

const firingsOf = ({ compactions }: Simulation) => compactions.map(({ beforeReply }) => beforeReply)
const near = (found: number, expected: number, by = 2) =>
  assert.ok(Math.abs(found - expected) <= by, `${found}, expected ${expected}`)

describe('when a policy fires', () => {
  const messages = talk(20, 100)
  const sizes = requestSizes(messages)

  test('never below the threshold', () => {
    const limit = Math.ceil(RATIO * Math.max(...sizes)) + 10
    const found = simulate(planOf(...messages), headerOf({ thresholdTokens: limit, retainTokens: 500 }))
    assert.deepEqual([found.requests, firingsOf(found), found.overflows], [20, [], 0])
    near(found.largestRequest, RATIO * Math.max(...sizes))
  })

  test('before the first request that reaches the threshold', () => {
    for (const thresholdTokens of [1_200, 2_000, 3_500]) {
      const header = headerOf({
        thresholdTokens,
        retainTokens: 300,
        checkpointTokens: 300,
        userTextTokens: 100,
      })
      const found = simulate(planOf(...messages), header)
      const expected = sizes.findIndex((size) => RATIO * size >= thresholdTokens) + 1
      assert.equal(firingsOf(found)[0], expected, `threshold ${thresholdTokens}`)
      near(found.compactions[0]?.tokensBefore ?? 0, RATIO * (sizes[expected - 1] ?? 0))
    }
  })

  test('again and again, each time at the threshold and to less; no request is far above it', () => {
    const thresholdTokens = 2_000
    const header = headerOf({
      thresholdTokens,
      retainTokens: 300,
      checkpointTokens: 300,
      userTextTokens: 100,
    })
    const { compactions, largestRequest } = simulate(planOf(...talk(60, 100)), header)
    assert.ok(compactions.length >= 5, `${compactions.length} compactions`)
    for (const { tokensBefore, tokensAfter, outcome, messages: taken } of compactions) {
      assert.equal(outcome, 'compacted')
      assert.ok(
        tokensBefore >= thresholdTokens && tokensAfter < thresholdTokens,
        `${tokensBefore} → ${tokensAfter}`,
      )
      assert.ok(taken > 1)
    }
    assert.ok(largestRequest < thresholdTokens, `the largest request has ${largestRequest}`)
  })

  test('a lower threshold fires more often; `auto: false` never', () => {
    const plan = planOf(...talk(60, 100))
    const count = (policy: Readonly<Record<string, unknown>>) =>
      simulate(plan, headerOf({ retainTokens: 300, checkpointTokens: 300, userTextTokens: 100, ...policy }))
        .compactions.length
    const counts = [1_500, 3_000, 6_000].map((thresholdTokens) => count({ thresholdTokens }))
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => b - a),
    )
    assert.ok((counts[0] ?? 0) > (counts[2] ?? 0))
    assert.equal(count({ auto: false }), 0)
  })
})

describe('what it costs', () => {
  const messages = talk(6, 200)
  const prices = messages.map(price)
  const overhead = priceText(SYSTEM)

  test('without a compaction every message is written to the cache once and read ever after', () => {
    const { billed } = simulate(planOf(...messages), headerOf({}))
    const sizes = requestSizes(messages)
    const read = sum(sizes.slice(0, -1))
    const written = sizes.at(-1) ?? 0
    near(billed.cacheReadTokens, RATIO * read, 6)
    near(billed.cacheWriteTokens, RATIO * written, 6)
    near(billed.outputTokens, RATIO * sum(prices.filter((_, index) => index % 2 === 1)), 6)
    assert.equal(billed.inputTokens, 0)
    assert.ok(written > overhead)
  })

  test('a compaction loses the cache of all but the system, and a model’s summary is paid', () => {
    const settings = { thresholdTokens: 2_000, retainTokens: 300, checkpointTokens: 300, userTextTokens: 100 }
    const plan = planOf(...talk(12, 100))
    const summarized = simulate(plan, headerOf(settings))
    const byCode = simulate(plan, headerOf({ ...settings, summarizer: 'deterministic' }))
    const times = byCode.compactions.length
    assert.ok(times > 0)
    assert.deepEqual(firingsOf(summarized), firingsOf(byCode))
    const paid = summarized.billed.outputTokens - byCode.billed.outputTokens
    assert.ok(paid > 0 && paid < times * RATIO * settings.checkpointTokens, `${paid} in ${times} summaries`)

    const plain = simulate(plan, headerOf({ auto: false }))
    const input = ({ billed }: Simulation) => billed.cacheReadTokens + billed.cacheWriteTokens
    assert.ok(input(byCode) < input(plain), 'smaller requests')
    assert.ok(byCode.billed.cacheWriteTokens > plain.billed.cacheWriteTokens, 'what stays is written anew')
  })
})

describe('what does not fit', () => {
  test('requests that exceed the window with their reply are counted', () => {
    const messages = talk(20, 100)
    const header = headerOf({ auto: false, replyMaxTokens: 500 }, 3_000)
    const expected = requestSizes(messages).filter((size) => Math.round(RATIO * size) + 500 > 3_000).length
    assert.ok(expected > 2 && expected < 20)
    assert.equal(simulate(planOf(...messages), header).overflows, expected)
  })

  test('old tool results are cleared or cut before anything is summarized', () => {
    const rounds = Array.from({ length: 8 }, (_, round): Message[] => [
      { role: 'assistant', content: [{ type: 'tool_use', id: `c${round}`, name: 'bash', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: `c${round}`, content: words(600, `line${round}`) }],
      },
    ]).flat()
    const plan = planOf(user('Go on.'), ...rounds, model('Done.'))
    const micro = simulate(plan, headerOf({ micro: { keepLast: 2, minReclaimTokens: 0 } }))
    const off = simulate(plan, headerOf({ micro: false }))
    assert.equal(micro.cleared, 8 - 1 - 2, 'all but the one that was not seen yet, and the newest two')
    assert.deepEqual([off.cleared, micro.compactions, off.compactions], [0, [], []])
    assert.ok(micro.largestRequest < off.largestRequest)
  })

  test('a result is cut at intake, as the session would', () => {
    const call = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'c', name: 'bash', input: {} }],
    } as const
    const result = {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'c', content: words(20_000) }],
    } as const
    const plan = planOf(user('Go on.'), call, result, model('Done.'))
    const { largestRequest } = simulate(plan, headerOf({ toolResultMaxTokens: 1_000 }))
    assert.ok(largestRequest < RATIO * 1_200, `${largestRequest}`)
  })
})

describe('a session’s own log', () => {
  const common = { turn: 1, step: 1, time: 0, tokens: 1 }
  const said = (seq: number, text: string, source: 'prompt' | 'notice'): SessionEvent => ({
    ...common,
    seq,
    key: `p${seq}`,
    type: 'user/message',
    data: { content: [{ type: 'text', text }], source },
    surfaceOp: 'append',
  })
  const replied = (seq: number, content: ContentBlock[], stopReason: string): SessionEvent => ({
    ...common,
    seq,
    key: `a${seq}`,
    type: 'assistant/message',
    data: { content, usage: null, stopReason, ...MODEL },
    surfaceOp: 'append',
  })
  const returned = (seq: number, text: string, surfaceOp: SessionEvent['surfaceOp']): SessionEvent => ({
    ...common,
    seq,
    key: `r${seq}`,
    type: 'tool/result',
    data: { callId: 'c', name: 'bash', content: [{ type: 'text', text }], isError: true },
    ...(surfaceOp === undefined ? {} : { surfaceOp }),
  })
  const call: ContentBlock = { type: 'tool_use', id: 'c', name: 'bash', input: { command: 'make' } }
  const checkpoint: SessionEvent = {
    ...common,
    seq: 8,
    key: 'compact.x.checkpoint',
    type: 'user/message',
    data: { content: [{ type: 'text', text: 'checkpoint' }], source: 'durable-compaction/checkpoint' },
    surfaceOp: { op: 'replace', start: 0, end: 1 },
  }
  const output: SessionEvent = {
    ...common,
    seq: 3,
    key: 'o',
    type: 'tool/output',
    data: {
      callId: 'c',
      name: 'bash',
      content: [{ type: 'text', text: 'the whole output' }],
      droppedBytes: 0,
    },
  }

  test('is the conversation as it was: results whole, without checkpoints, cleared copies and notices', () => {
    const plan = planOfLog(
      [
        said(0, 'Build it.', 'prompt'),
        replied(1, [call], 'tool_use'),
        output,
        returned(4, 'the whole …', 'append'),
        returned(6, '[Previous: used bash]', { op: 'replace', start: 4, end: 4 }),
        said(7, 'compaction failed', 'notice'),
        checkpoint,
        said(9, 'And?', 'prompt'),
        replied(10, [{ type: 'text', text: 'It fails.' }], 'end_turn'),
      ],
      headerOf({}),
    )
    assert.deepEqual(
      plan.prompts.map(({ message, beforeReply }) => [message.content[0]?.['text'], beforeReply]),
      [
        ['Build it.', 0],
        ['And?', 1],
      ],
    )
    assert.deepEqual(
      plan.replies.map(({ stopReason }) => stopReason),
      ['tool_use', 'end_turn'],
    )
    assert.deepEqual(
      [...plan.results],
      [['c', { content: [{ type: 'text', text: 'the whole output' }], isError: true }]],
    )
    assert.deepEqual([plan.system, plan.ends], [SYSTEM, 'answered'])
    assert.equal(simulate(plan, headerOf({})).requests, 2)
  })
})
