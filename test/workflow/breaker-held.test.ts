import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ContextOverflowError } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'
import { ofType } from '../support/of-type.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'

// Automatic compaction that does not help, and what people are told of it: real activities and store on a real server.

const STEPS = 12
const words: Tool = {
  name: 'words',
  description: 'Some words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'word '.repeat(400),
}
/** Calls a tool in each step of the first turn; answers the others at once. */
const replyTo = ({ index }: { readonly index: number }) =>
  index < STEPS ? { content: [{ type: 'tool_use', id: `c${index}`, name: 'words', input: {} }] } : 'Done.'

/** Sessions whose summarizer works. */
const healed = new Set<string>()
const paid = new Map<string, number>()
const model = scriptedModel(replyTo, {
  capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
  summaries: ({ sessionId }) => {
    paid.set(sessionId, (paid.get(sessionId) ?? 0) + 1)
    return healed.has(sessionId) ? 'Words were read. Next: go on.' : ''
  },
})
/** A model whose window nobody knows, and which refuses one request. */
let refusals = 0
const unknown = scriptedModel(
  (request) => {
    if (request.index === 2 && refusals++ === 0) throw new ContextOverflowError('prompt is too long')
    return request.index < 2 ? replyTo(request) : 'Done.'
  },
  { summaries: 'Words were read.' },
)

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model, mystery: unknown }, [words])
})
after(() => real.close())

const PRESSING = {
  thresholdTokens: 2_400,
  retainTokens: 300,
  summaryFallback: 'never',
  micro: false,
  prune: false,
}

describe('automatic compaction that does not help', { concurrency: true }, () => {
  test('B15 B16 fault B14 twelve steps above the limit: at most three paid attempts, two and four steps apart, then held; said once; a person’s compaction releases it', async () => {
    const session = await real.start({ policy: PRESSING })
    const turn = await session.prompt('Read the words.')
    assert.equal((await turn.result({ timeoutMs: 90_000 })).reason, 'completed')
    const events = await real.log(session)
    const starts = ofType(events, 'compact/start')
    const steps = starts.map(({ data }) => Number(/\.s(\d+)\./.exec(data.compactionId)?.[1]))
    assert.ok(starts.length <= 3 && starts.length >= 2, `${steps}`)
    assert.ok((paid.get(session.id) ?? 0) <= 6, 'each attempt asks once more at most')
    assert.equal(ofType(events, 'assistant/message').length, STEPS + 1, 'every step went on')
    const attempts = await real.store.attempts({ sessionId: session.id })
    const at = attempts.map(({ compactionId }) => Number(/\.s(\d+)\./.exec(compactionId)?.[1])).reverse()
    assert.deepEqual([(at[1] ?? 0) - (at[0] ?? 0), (at[2] ?? 0) - (at[1] ?? 0)], [3, 5])
    assert.equal(at.length, 3)
    const notices = ofType(events, 'session/notice')
    assert.deepEqual(
      notices.map(({ data }) => data.code),
      ['held'],
    )
    assert.match(
      notices[0]?.data.message ?? '',
      /3 in a row did not help\. The context has about \d+ tokens, the limit is 2400/,
    )
    const state = await whenIdle(session)
    assert.deepEqual([state.reading?.pressure, state.blocked?.reason], ['held', 'held'])
    assert.match(state.blocked?.message ?? '', /failed \(summary\)/)
    assert.equal(state.lastFailure?.errorCode, 'summary')
    assert.match(state.lastFailure?.errorMessage ?? '', /No acceptable summary/)
    const [newest] = await session.compactionHistory({ limit: 1 })
    assert.deepEqual([newest?.cause, newest?.outcome, newest?.errorCode], ['pressure', 'failed', 'summary'])
    assert.deepEqual(
      (await session.compactions()).map(({ compactionId }) => compactionId),
      attempts.map(({ compactionId }) => compactionId),
    )
    const { memo } = await session.workflow.describe()
    assert.equal(JSON.parse(JSON.stringify(memo ?? {})).durableCompaction.blocked, 'held')

    healed.add(session.id)
    assert.ok((await session.compactNow({ whenBusy: 'wait' })) !== null)
    const released = await eventually(
      () => session.state(),
      ({ blocked }) => blocked === null,
    )
    assert.notEqual(released.reading?.pressure, 'held')
  })

  test('B15 system and tools alone above the limit: overhead, no attempt, one notice over two turns', async () => {
    const session = await real.start({
      system: 'rule '.repeat(2_000),
      policy: { thresholdTokens: 1_800, retainTokens: 300 },
    })
    for (const text of ['One.', 'Two.']) await (await session.prompt(text)).result({ timeoutMs: 90_000 })
    const events = await real.log(session)
    assert.deepEqual(
      ofType(events, 'session/notice').map(({ data }) => data.code),
      ['overhead'],
    )
    assert.match(
      ofType(events, 'session/notice')[0]?.data.message ?? '',
      /alone have about \d{4} tokens, the limit is 1800/,
    )
    assert.equal((await real.store.attempts({ sessionId: session.id })).length, 0)
    const { blocked, reading } = await whenIdle(session)
    assert.deepEqual([blocked?.reason, reading?.pressure], ['overhead', 'overhead'])
  })

  test('A8 a window that nobody knows: pressure is off and says so once; an overflow is still recovered from', async () => {
    const session = await real.start({ model: 'mystery/one' })
    for (const text of ['One.', 'Two.'])
      assert.equal((await (await session.prompt(text)).result({ timeoutMs: 120_000 })).reason, 'completed')
    const events = await real.log(session)
    const notices = ofType(events, 'session/notice')
    assert.deepEqual(
      notices.map(({ data }) => data.code),
      ['window-unknown'],
    )
    assert.match(
      notices[0]?.data.message ?? '',
      /the window of mystery\/one: .*models\[\]\.contextWindow or thresholdTokens/,
    )
    assert.deepEqual(
      ofType(events, 'compact/start').map(({ data }) => data.cause),
      ['context-overflow'],
    )
    const { blocked, reading } = await whenIdle(session)
    assert.deepEqual(
      [reading?.limit, reading?.off, blocked?.reason],
      [null, 'window-unknown', 'window-unknown'],
    )
    const limited = await real.start({
      model: 'mystery/one',
      policy: { thresholdTokens: 50_000, retainTokens: 1_000 },
    })
    assert.equal((await limited.state()).blocked, null, 'a threshold of its own needs no window')
  })
})
