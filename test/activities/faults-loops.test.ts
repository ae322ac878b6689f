import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isCompactCheckpointSource } from '../../src/shared/checkpoint-source.ts'
import { ContextOverflowError, type ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { isText } from '../../src/shared/session/content.ts'
import { SESSION } from '../support/activity-stage.ts'
import { ofType } from '../support/of-type.ts'
import { openStagedSession, type StagedSession } from '../support/staged-session.ts'

// Theme B: loops without progress. Hundreds of steps, so without a server.

const W = 16_000
/** Of the window's 0.15. */
const LARGEST_RESULT = 2_400

const words = (tokens: number): string => 'word '.repeat(tokens).trim()

/** Answers with so many tokens as its call says. */
const load: Tool = {
  name: 'load',
  description: 'Loads.',
  input: { jsonSchema: { type: 'object' } },
  run: async (input) => words((input as { tokens: number }).tokens),
}

const call = (index: number, tokens: number) => ({
  content: [{ type: 'tool_use', id: `c${index}`, name: 'load', input: { tokens } }],
})

const ended = ({ outcomes }: StagedSession) =>
  outcomes.map(({ cause, outcome, reason, error }) =>
    [cause, outcome, error?.code ?? reason].filter((part) => part !== undefined).join(' '),
  )
const compacted = ({ outcomes }: StagedSession) => outcomes.filter(({ outcome }) => outcome === 'compacted')
const summaries = ({ requests }: StagedSession) => requests.filter(({ purpose }) => purpose === 'summary')
const surfaceOf = async ({ stage }: StagedSession) => (await stage.store.surface(SESSION)).nodes
const breakerOf = async ({ stage }: StagedSession) =>
  (await stage.store.meter(SESSION)) as { breaker: { ineffective: number } } | null
const saidIn = ({ messages }: ModelRequest) =>
  messages.flatMap(({ content }) => content.filter(isText).map((block) => block.text)).join('\n')

/** Numbers from 0 to 1, always the same ones. */
function random(): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('fault B14: results of any size up to six tenths of the window, 200 steps: at most one compaction in three of them, and each does its work', async () => {
  const next = random()
  const session = await openStagedSession({
    window: W,
    tools: [load],
    reply: ({ index }) => (index % 50 < 49 ? call(index, Math.floor(next() * 0.6 * W)) : 'Done.'),
  })
  for (let turn = 0; turn < 4; turn++) assert.equal((await session.say('Go on.')).reason, 'completed')
  const events = await session.sound()
  const most = 200 / 3
  assert.ok(compacted(session).length > 3 && compacted(session).length <= most, ended(session).join())
  assert.equal(ofType(events, 'assistant/message').length, 200)
  assert.equal(ofType(events, 'tool/claim').length, 196, 'each call ran once')
  assert.equal((await breakerOf(session))?.breaker.ineffective, 0)
})

describe('fault B06: large results in every turn', () => {
  test('are cut when they come, and the guard does not trip on the small prompt behind them', async () => {
    const session = await openStagedSession({
      window: W,
      tools: [load],
      reply: ({ index }) => (index % 2 === 0 && index < 20 ? call(index, 0.4 * W) : 'Done.'),
    })
    for (let turn = 0; turn < 10; turn++) assert.equal((await session.say('Load it.')).reason, 'completed')
    const results = ofType(await session.sound(), 'tool/result').filter(({ data }) => data.full !== undefined)
    assert.ok(results.every(({ tokens }) => tokens <= LARGEST_RESULT))
    assert.ok(session.outcomes.every(({ tokensAfter, reading }) => tokensAfter < (reading.limit ?? 0)))
    assert.ok(compacted(session).length <= 3, ended(session).join())
    const before = session.outcomes.length
    assert.equal((await session.say('hi')).reason, 'completed')
    assert.equal(session.outcomes.length, before)
    assert.match(JSON.stringify(session.requests.at(-1)?.messages.at(-1)), /"hi"/)
    await session.sound()
  })

  test('a guard that tripped forgets it once a person has compacted', async () => {
    let sizes: number[] = []
    let summary = ''
    const session = await openStagedSession({
      window: W,
      tools: [load],
      policy: { thresholdTokens: 6_000, prune: false, micro: false },
      summary: () => summary,
      reply: ({ index }) => {
        const size = sizes.shift()
        return size === undefined ? 'Done.' : call(index, size)
      },
    })
    const turn = async (...loaded: number[]) => {
      sizes = loaded
      assert.equal((await session.say('Load.')).reason, 'completed')
    }
    await turn(2_000, 2_000, 2_000, ...Array.from({ length: 16 }, () => 50))
    const failed = 'pressure failed summary'
    assert.deepEqual(ended(session), [failed, failed, failed], 'three, and the turn did all of its steps')
    await turn(50, 50, 50)
    assert.equal(session.outcomes.length, 3, 'held')
    summary = 'Words were loaded. Next: load more.'
    await session.compact()
    await turn(50)
    assert.deepEqual(ended(session).slice(3), ['manual compacted'], 'nothing is held, nothing is needed')
    await turn(2_000, 2_000, 2_000)
    assert.deepEqual(ended(session).slice(4), ['pressure compacted'])
    await session.sound()
  })
})

describe('fault B08: what would not become smaller', () => {
  /** Ten exchanges of twenty tokens together. */
  const small = async (session: StagedSession) => {
    for (let n = 0; n < 10; n++) await session.say('Small.')
  }

  test('the newest message is nine tenths of the window: the rest is not worth a call, and it is said so', async () => {
    const session = await openStagedSession({ window: W, reply: () => 'Done.' })
    await small(session)
    const before = (await surfaceOf(session)).map(({ seq }) => seq)
    assert.equal((await session.say(words(10_500))).reason, 'completed')
    assert.deepEqual(ended(session), ['pressure nothing too-small'])
    assert.equal(summaries(session).length, 0)
    assert.deepEqual((await surfaceOf(session)).map(({ seq }) => seq).slice(0, before.length), before)
    await session.sound()
  })

  test('a summary larger than what it stands for is refused twice, and every byte stays', async () => {
    let reply = 'Done.'
    const summary = words(5_000)
    const session = await openStagedSession({ window: W, reply: () => reply, summary })
    await small(session)
    reply = words(3_000)
    await session.say('Say a lot.')
    reply = 'Done.'
    await session.say('Thanks.')
    const before = JSON.stringify(await surfaceOf(session))
    await session.compact()
    assert.deepEqual(ended(session), ['manual failed summary'])
    assert.equal(JSON.stringify(await surfaceOf(session)), before)
    const calls = ofType(await session.sound(), 'compact/call').map(({ data }) => data.refusedBecause)
    assert.deepEqual(calls, ['not-smaller', 'not-smaller'])
  })

  // Smaller by less than a tenth is kept, as it was paid for and is true; it is the repetition that must not happen.
  test('a gain of less than a tenth is not tried again in the next steps', async () => {
    const sizes = [20, 20, 20]
    const session = await openStagedSession({
      window: W,
      tools: [load],
      reply: ({ index }) => {
        if (index < 2) return words(420)
        const size = index < 3 ? undefined : sizes.shift()
        return size === undefined ? 'Done.' : call(index, size)
      },
    })
    await session.say('Say something.')
    await session.say('Say more.')
    await session.say('Short.')
    await session.say(words(9_600))
    const [first] = session.outcomes
    assert.ok((first?.tokensBefore ?? 0) - (first?.tokensAfter ?? 0) < 1_000)
    assert.deepEqual(ended(session), ['pressure compacted', 'pressure nothing only-checkpoint'])
    assert.equal(session.requests.at(-1)?.index, 6, 'three steps came after it')
    await session.sound()
  })
})

test('fault B10: ten compactions by a summarizer that repeats all that it reads: one checkpoint, no other inside it, within its bounds', async () => {
  /** Every other time as much as the instruction allows of what it reads, else all of it and more. */
  let asked = 0
  const echo = (request: ModelRequest) => {
    const heard = saidIn(request)
    const allowed = Number(/at most (\d+) tokens/.exec(heard)?.[1])
    return asked++ % 3 === 0 ? heard.slice(0, allowed * 4) : `${heard}\n${words(1_000)}`
  }
  const session = await openStagedSession({
    window: W,
    policy: { summaryFallback: 'always' },
    reply: () => words(1_000),
    summary: echo,
  })
  const sizes: number[] = []
  for (let round = 0; round < 10; round++) {
    await session.say(`Say a thousand words, part ${round} a.`)
    await session.say(`Say a thousand words, part ${round} b.`)
    assert.equal((await session.compact()).outcome, 'compacted')
    const checkpoints = (await surfaceOf(session)).filter(
      (node) => node.type === 'user/message' && isCompactCheckpointSource(node.data.source),
    )
    assert.equal(checkpoints.length, 1)
    const [checkpoint] = checkpoints
    const page = JSON.stringify(checkpoint?.data)
    assert.equal(page.split(/\\n\[Checkpoint written by code|"\[Checkpoint written by code/).length, 2)
    sizes.push(checkpoint?.tokens ?? 0)
  }
  const limit = (await session.stage.store.session(SESSION))?.header.policy.checkpointLimitTokens ?? 0
  assert.ok(
    sizes.every((size) => size <= limit),
    `${sizes} of ${limit}`,
  )
  const written = ofType(await session.sound(), 'compact/summary').map(({ data }) => data.provider)
  assert.deepEqual([...new Set(written)].sort(), ['durable-compaction', 'scripted'], 'both kinds')
})

test('fault B03: a provider that refuses every request as too long: each turn ends by its words after one compaction, and nothing is paid for twice', async () => {
  let isFull = false
  const session = await openStagedSession({
    window: W,
    summary: words(200),
    reply: () => {
      if (isFull) throw new ContextOverflowError('prompt is too long: 20000 tokens > 16000 maximum')
      return words(700)
    },
  })
  for (let n = 0; n < 6; n++) await session.say(`Part ${n}.`)
  isFull = true
  for (let n = 0; n < 10; n++) {
    const { reason, code, message } = await session.say(`Again, ${n}.`)
    assert.deepEqual([reason, code], ['error', 'ContextOverflow'])
    assert.match(message ?? '', /20000 tokens > 16000/)
  }
  assert.equal(compacted(session).length, 1, ended(session).join())
  const turns = session.requests.length - summaries(session).length
  assert.equal(turns, 6 + 11, 'each turn asks once, the first one again after its compaction')
  const bodies = session.requests.map(({ messages }) => JSON.stringify(messages))
  assert.equal(new Set(bodies).size, bodies.length, 'never the same twice')
  isFull = false
  assert.equal((await session.say('And now?')).reason, 'completed')
  await session.sound()
})
