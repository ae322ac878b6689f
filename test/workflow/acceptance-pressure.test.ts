import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { breakerStateSchema } from '../../src/shared/compaction/breaker.ts'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import { text } from '../../src/shared/session/content.ts'
import type { ScriptedReply } from '../../src/worker/index.ts'
import { countEvents, runHistory } from '../support/history.ts'
import {
  assertRequests,
  calls,
  lastText,
  openPlayedSessions,
  type PlayedSession,
  type PlayedSessions,
  SUMMARY,
  sizeOf,
  textOf,
} from '../support/played-sessions.ts'
import { lastReading } from '../support/real-sessions.ts'

// Pressure, case by case, on the real workflow, store and activities. The window is 16,000 tokens; `word ` is one token.

let played: PlayedSessions
before(async () => {
  played = await openPlayedSessions()
})
after(() => played.close())

const WINDOW = 16_000
/** A threshold, a tail of one result, and nothing that shortens results beside the summary. */
const PRESSED = { thresholdTokens: 6_000, retainTokens: 1_500, prune: false, micro: false } as const

/** The replies of a session, by their index: these calls, then `Done.` */
const steps =
  (replies: readonly ScriptedReply[]) =>
  ({ index }: ModelRequest): ScriptedReply =>
    replies[index] ?? 'Done.'
const results = (count: number, words: number, from = 1) =>
  Array.from({ length: count }, (_, i) => calls([`r${i + from}`, words]))

const attempts = async (one: PlayedSession) => played.real.store.attempts({ sessionId: one.session.id })
const breakerOf = async (one: PlayedSession) =>
  breakerStateSchema.parse(((await played.real.store.meter(one.session.id)) as { breaker: unknown }).breaker)

describe('pressure', { concurrency: true }, () => {
  test('B1 below the threshold: no summary, nothing in the workflow’s history, nothing in the log', async () => {
    const one = await played.start({ turn: steps(results(2, 500)) }, { policy: { ...PRESSED, micro: {} } })
    assert.equal((await one.ask('Go.')).reason, 'completed')
    assert.equal(one.summaries.length, 0)
    assert.deepEqual(
      (await one.events()).filter(({ type }) => type.startsWith('compact/')),
      [],
    )
    const history = await runHistory(played.real.client, one.session.id)
    assert.equal(countEvents(history, 'START_CHILD_WORKFLOW_EXECUTION_INITIATED'), 0)
    assert.equal(countEvents(history, 'MARKER_RECORDED'), 0)
    assert.deepEqual(await attempts(one), [])
  })

  test('B2 above it: the oldest whole units are replaced, the tail stays word for word, the model answers', async () => {
    const one = await played.start({ turn: steps(results(6, 1_200)) }, { policy: PRESSED })
    const { reason, message } = await one.ask('Go.')
    assert.deepEqual([reason, message], ['completed', [text('Done.')]])
    const [summary] = await one.of('compact/summary')
    assert.ok(summary, 'nothing was summarized')
    const full = await one.of('tool/result')
    const shadowed = new Set(summary.data.shadowedSeqs)
    assert.ok(
      full.some(({ seq }) => shadowed.has(seq)),
      'no result was replaced',
    )
    const next = one.requests.find((request) => textOf(request).includes(SUMMARY)) as ModelRequest
    const kept = full.filter(({ seq }) => !shadowed.has(seq) && seq < summary.seq)
    assert.ok(kept.length > 0, 'no result was kept')
    for (const { data } of kept)
      assert.ok(textOf(next).includes(JSON.stringify(data.content)), `${data.callId} is not word for word`)
    for (const { data, seq } of full)
      if (shadowed.has(seq))
        assert.ok(!textOf(next).includes(JSON.stringify(data.content)), `${data.callId} is still there`)
    assertRequests([...one.requests, ...one.summaries], WINDOW)
  })

  test('B3 system prompt and tools count, though they are not on the surface', async () => {
    const turn = steps(results(3, 1_200))
    const small = await played.start({ turn }, { policy: PRESSED })
    const large = await played.start({ turn }, { policy: PRESSED, system: 'rule '.repeat(2_000) })
    await Promise.all([small.ask('Go.'), large.ask('Go.')])
    assert.equal(small.summaries.length, 0)
    assert.notEqual(large.summaries.length, 0)
  })

  test('B4 a waiting prompt that would not fit is compacted for before its request, and stands in it whole', async () => {
    const policy = { ...PRESSED, thresholdTokens: 9_000 }
    const one = await played.start({ turn: steps(results(4, 1_200)) }, { policy })
    await one.ask('Go.')
    assert.equal(one.summaries.length, 0)
    const before = one.requests.length
    const prompt = `${'please '.repeat(5_000)}answer.`
    assert.equal((await one.ask(prompt)).reason, 'completed')
    const [start] = await one.of('compact/start')
    assert.equal(start?.data.cause, 'pressure')
    assert.equal(one.requests.length, before + 1)
    const request = one.requests[before] as ModelRequest
    assert.equal(lastText(request), prompt)
    assert.match(textOf(request), new RegExp(SUMMARY))
    const step = (await one.of('step/start')).find(({ turn }) => turn === 2)
    assert.ok((start?.seq ?? 0) < (step?.seq ?? 0), 'the step began before the compaction')
    assertRequests(one.requests, WINDOW)
  })

  test('B5 the room for the reply counts once: a reply of more than half the window does not thrash', async () => {
    const policy = { replyMaxTokens: 9_000, retainTokens: 800, prune: false, micro: false }
    const one = await played.start({ turn: steps(results(10, 600)) }, { policy })
    const header = (await one.session.stored())?.header
    assert.equal(header?.policy.pressureTokens, WINDOW - 9_000 - 2_048)
    assert.equal((await one.ask('Go.')).reason, 'completed')
    const made = (await one.of('compact/summary')).length
    assert.ok(made >= 1 && made <= 4, `${made} compactions in 11 steps`)
    assertRequests(one.requests, WINDOW)
  })

  test('B6 after a usage the newest message is not counted again', async () => {
    const one = await played.start({ turn: () => 'word '.repeat(900) })
    const { usage } = await one.ask('Talk.')
    assert.equal((await lastReading(one.session))?.tokens, usage.inputTokens + usage.outputTokens)
  })

  test('B7 the window of the next model decides: reopened with a smaller one, it compacts before its first request', async () => {
    const one = await played.start({ turn: steps(results(6, 1_200)) }, { model: 'scripted/w64000' })
    await one.ask('Go.')
    assert.equal(one.summaries.length, 0)
    const before = one.requests.length
    await played.reopen(one, { model: 'scripted/w9000', policy: { prune: false, micro: false } })
    assert.equal((await one.ask('And now?')).reason, 'completed')
    const [start] = await one.of('compact/start')
    assert.equal(start?.data.cause, 'pressure')
    assert.equal(one.requests.length, before + 1)
    assert.equal(one.requests[before]?.model, 'w9000')
    assertRequests(one.requests.slice(before), 9_000)
    assertRequests(one.summaries, 9_000)
  })

  test('B8 pruning was enough: outcome pruned, no summary, the generation rose by what was pruned', async () => {
    const policy = { thresholdTokens: 6_000, retainTokens: 700, micro: false }
    const one = await played.start({ turn: steps([...results(3, 1_900), ...results(1, 400, 4)]) }, { policy })
    assert.equal((await one.ask('Go.')).reason, 'completed')
    assert.equal(one.summaries.length, 0)
    const [attempt] = await attempts(one)
    assert.equal(attempt?.outcome?.outcome, 'pruned')
    const prunes = await one.of('compact/prune')
    assert.ok(prunes.length >= 2, `${prunes.length} pruned`)
    assert.equal((await played.real.store.surface(one.session.id)).generation, prunes.length)
    assert.deepEqual(await one.of('compact/start'), [])
    assert.deepEqual(await breakerOf(one), { ineffective: 0, last: null, announced: false })
  })

  test('B9 pruning was not enough: the summarizer reads the pruned text', async () => {
    const policy = { thresholdTokens: 6_000, retainTokens: 700, micro: false, summaryFallback: 'never' }
    const one = await played.start({ turn: steps([calls(['big', 1_900]), ...results(8, 900)]) }, { policy })
    assert.equal((await one.ask('Go.')).reason, 'completed')
    const [summary] = one.summaries
    assert.ok(summary, 'nothing was summarized')
    const [pruned] = await one.of('compact/prune')
    assert.match(
      textOf(summary),
      new RegExp(`characters left out; [^…]*\\b${pruned?.data.shadowedSeqs[0]}\\b`),
    )
    assert.ok(textOf(summary).includes('end-of-big'), 'head and tail stay')
    assert.ok(!textOf(summary).includes('word '.repeat(1_800)), 'the whole is in the request')
  })

  test('B10 what the model has not seen is neither pruned nor cleared; above the intake limit it was cut when it came', async () => {
    const policy = { thresholdTokens: 4_500, retainTokens: 700, micro: { keepLast: 0, minReclaimTokens: 0 } }
    const one = await played.start(
      { turn: steps([calls(['a', 900]), calls(['b', 900]), calls(['huge', 9_000], ['c', 1_700])]) },
      { policy },
    )
    assert.equal((await one.ask('Go.')).reason, 'completed')
    const reading = one.requests.find((request) => textOf(request).includes('end-of-c')) as ModelRequest
    assert.ok(textOf(reading).includes('word '.repeat(1_700)), 'the unseen result is whole')
    const stored = (await one.of('tool/output')).find(({ data }) => data.callId === 'call-huge')
    assert.ok(JSON.stringify(stored?.data ?? '').includes('word '.repeat(9_000)), 'the whole is not kept')
    const cut = (await one.of('tool/result')).find(({ data }) => data.callId === 'call-huge')
    assert.equal(cut?.data.full, stored?.seq)
    assert.ok((cut?.tokens ?? 0) <= (await limitOf(one)) + 100, `${cut?.tokens} tokens at intake`)
    assert.equal((await attempts(one))[0]?.cause, 'pressure')
    assertRequests(one.requests, WINDOW)
  })

  test('B11 nothing to take: `nothing` with its reason, one attempt, and the turn goes on', async () => {
    const one = await played.start({ turn: steps([]) }, { policy: PRESSED })
    assert.equal((await one.ask('please '.repeat(7_000))).reason, 'completed')
    const found = await attempts(one)
    assert.deepEqual(
      found.map(({ state, outcome }) => [state, outcome?.outcome, outcome?.reason]),
      [['void', 'nothing', 'only-tail']],
    )
    assert.equal(one.summaries.length, 0)
    assert.equal(one.requests.length, 1)
  })

  test('B12 B13 the checkpoint keeps it above: the retry never takes only the checkpoint, the breaker counts, the turn goes on', async () => {
    const policy = { ...PRESSED, retainTokens: 0 }
    const one = await played.start(
      {
        turn: steps([...results(2, 1_000), calls(['x', 2_300], ['y', 2_300], ['z', 600])]),
        summary: () => 'point '.repeat(450),
      },
      { policy },
    )
    assert.equal((await one.ask('Go.')).reason, 'completed')
    const found = await attempts(one)
    assert.deepEqual(
      found.map(({ compactionId, outcome }) => [compactionId, outcome?.outcome, outcome?.reason]).toSorted(),
      [
        ['t1.s4.pressure.0', 'compacted', undefined],
        ['t1.s4.pressure.1', 'nothing', 'only-checkpoint'],
      ],
    )
    assert.notEqual((await breakerOf(one)).ineffective, 0)
    for (const { data } of await one.of('compact/summary')) assert.notEqual(data.shadowedSeqs.length, 1)
  })

  test('B14 a unit larger than the tail is pruned when it has been seen; the tail does not grow', async () => {
    const policy = { thresholdTokens: 6_000, retainTokens: 1_000, micro: false, toolResultMaxTokens: 2_300 }
    const many = calls(['p', 1_900], ['q', 1_900])
    const one = await played.start({ turn: steps([many, ...results(8, 500)]) }, { policy })
    assert.equal((await one.ask('Go.')).reason, 'completed')
    const pruned = new Set((await one.of('compact/prune')).flatMap(({ data }) => data.shadowedSeqs))
    const big = (await one.of('tool/result')).filter(({ data }) => /call-[pq]/.test(data.callId))
    assert.deepEqual(
      big.slice(0, 2).map(({ seq }) => pruned.has(seq)),
      [true, true],
    )
    for (const request of one.requests.slice(-4)) assert.ok(sizeOf(request) < 6_000, `${sizeOf(request)}`)
    assertRequests(one.requests, WINDOW)
  })

  test('B15 B16 a surface that cannot shrink: each failure recorded, three paid attempts in twelve steps, then held; every step runs', async () => {
    const one = await played.start(
      { turn: steps(results(11, 800)), summary: () => '   ' },
      { policy: { ...PRESSED, thresholdTokens: 2_200, retainTokens: 500, summaryFallback: 'never' } },
    )
    assert.equal((await one.ask('Go.')).reason, 'completed')
    assert.equal((await one.of('step/start')).length, 12)
    const ends = await one.of('compact/end')
    assert.equal(ends.length, 3)
    for (const { data } of ends)
      assert.deepEqual([data.error?.code, data.error?.stage], ['summary', 'summarize'])
    assert.equal((await attempts(one)).length, 3)
    assert.equal((await lastReading(one.session))?.pressure, 'held')
    const shown = await one.session.compactionHistory()
    assert.deepEqual(
      shown.map(({ outcome, errorCode }) => [outcome, errorCode]),
      Array.from({ length: 3 }, () => ['failed', 'summary']),
    )
  })

  test('B15 system and tools alone above the limit: `overhead`, no attempt', async () => {
    const one = await played.start(
      { turn: steps(results(2, 300)) },
      { policy: PRESSED, system: 'rule '.repeat(6_200) },
    )
    assert.equal((await one.ask('Go.')).reason, 'completed')
    assert.equal((await lastReading(one.session))?.pressure, 'overhead')
    assert.deepEqual(await attempts(one), [])
  })
})

const limitOf = async (one: PlayedSession): Promise<number> =>
  (await one.session.stored())?.header.policy.toolResultMaxTokens ?? 0
