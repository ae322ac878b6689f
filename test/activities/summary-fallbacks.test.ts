import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ModelCallError, type ModelClient } from '../../src/shared/ports/model.ts'
import { FAILURE_KINDS, type FailureKind } from '../../src/shared/refusals/provider-failure.ts'
import { usageReport } from '../../src/shared/usage/report.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { openStage, SESSION } from '../support/activity-stage.ts'
import { eventually } from '../support/eventually.ts'
import { ofType } from '../support/of-type.ts'
import {
  type Answer,
  ATTEMPT,
  answers,
  CHILD,
  commitWritten,
  fails,
  failureOf,
  good,
  ID,
  openWriters,
  summarize,
  type WritersStage,
} from '../support/summary-writers.ts'

// Models that are asked for a summary when the ones before have failed. The activities and the store are real; each provider is a script.

const names = (stage: WritersStage) => stage.asked.map((line) => line[0]).join('')

describe('a failure for good: the next model is asked at once, by its own request', () => {
  const KINDS = (Object.keys(FAILURE_KINDS) as FailureKind[]).filter((kind) => !FAILURE_KINDS[kind].retryable)
  for (const kind of KINDS)
    test(kind, async () => {
      const stage = await openWriters({ answer: { a: fails(kind) } })
      const { outcome, events } = await commitWritten(stage)
      assert.equal(names(stage), 'ab')
      assert.deepEqual(
        [outcome.outcome, outcome.model, outcome.failedModels],
        ['compacted', 'b/b-1', `a/a-1 (${kind})`],
      )
      const [summary] = ofType(events, 'compact/summary')
      assert.deepEqual(
        [summary?.data.provider, summary?.data.model, summary?.data.failed],
        ['b', 'b-1', [{ provider: 'a', model: 'a-1', reason: kind }]],
      )
      const [notice] = ofType(events, 'session/notice').filter(
        ({ data }) => data.code === 'summarizer-failed',
      )
      assert.match(
        notice?.data.message ?? '',
        new RegExp(`^a/a-1 wrote no summary \\(${kind}\\): says ${kind}`),
      )
    })

  for (const [reason, answer, first] of [
    ['blank', '   ', 'aab'],
    ['truncated', { content: [{ type: 'text', text: 'Half of' }], stopReason: 'max_tokens' }, 'aab'],
    ['refusal', { content: [{ type: 'text', text: 'I will not.' }], stopReason: 'refusal' }, 'ab'],
  ] as const)
    test(`an answer refused as ${reason}: after its corrective retry, if it has one; every call is in the ledger`, async () => {
      const stage = await openWriters({ answer: { a: answers(answer) } })
      const { outcome, events } = await commitWritten(stage)
      assert.equal(names(stage), first)
      assert.equal(outcome.failedModels, `a/a-1 (${reason})`)
      const calls = ofType(events, 'compact/call')
      assert.deepEqual(
        calls.map(({ data }) => [data.provider, data.accepted]),
        [...first].map((name) => [name, name === 'b']),
      )
      const prices = { date: '2031-01-01', models: { 'b/b-1': { input: 1, output: 1 } } }
      const row = await stage.store.session(SESSION)
      const { lines } = usageReport(row?.usage ?? [], prices as never)
      assert.deepEqual(
        lines.flatMap(({ provider, purpose, requests }) =>
          provider === 'scripted' ? [] : [[provider, purpose, requests]],
        ),
        [
          ['a', 'discarded', first.length - 1],
          ['b', 'summary', 1],
        ],
      )
    })

  test('a window that neither parts nor their merge fit: the next model’s chunks are those of its own window, and its calls have indexes of their own', async () => {
    const stage = await openWriters({
      answer: {},
      windows: { a: 900 },
      policy: { models: [{ provider: 'b', model: 'b-1', contextWindow: 3_900 }] },
    })
    const { outcome, events } = await commitWritten(stage)
    assert.equal(outcome.failedModels, 'a/a-1 (overflow)')
    assert.match(names(stage), /^a*b+$/)
    const calls = ofType(events, 'compact/call').filter(({ data }) => data.provider === 'b')
    assert.ok(calls.filter(({ data }) => data.purpose === 'chunk').length > 1, 'in parts')
    assert.equal(calls.at(-1)?.data.purpose, 'merge')
    assert.deepEqual(
      stage.asked.filter((line) => line.startsWith('b')),
      calls.map(({ data }) => `b ${data.index}`),
    )
    assert.ok(calls.every(({ data }) => data.index >= 1_000_000_000))
    assert.ok(calls.every(({ data }) => data.usage === undefined || data.usage.inputTokens < 3_900))
    const header = ofType(events, 'request/header').at(-1)
    assert.deepEqual(header?.data.policy.summarizerFallbacks?.[0], {
      provider: 'b',
      model: 'b-1',
      window: 3_900,
    })
  })

  test('in the order of the list, each once', async () => {
    const stage = await openWriters({
      answer: { a: fails('billing'), b: fails('content-filter') },
    })
    const { outcome } = await commitWritten(stage)
    assert.equal(names(stage), 'abc')
    assert.deepEqual(
      [outcome.model, outcome.failedModels],
      ['c/c-1', 'a/a-1 (billing), b/b-1 (content-filter)'],
    )
  })
})

describe('a failure that may pass', () => {
  const KINDS: FailureKind[] = ['rate-limit', 'overloaded', 'server', 'timeout', 'connection', 'circuit-open']
  for (const kind of KINDS)
    test(`${kind}: Temporal tries the same model again twice, then the next one is asked`, async () => {
      const stage = await openWriters({ answer: { a: fails(kind) } })
      for (const attempt of [1, 2]) {
        const failure = await failureOf(summarize(stage, attempt))
        assert.deepEqual([failure.type, failure.nonRetryable], ['ModelFailed', false])
      }
      assert.equal(names(stage), 'aa')
      assert.equal((await summarize(stage, 3)).kind, 'summarized')
      assert.equal(names(stage), 'aaab')
    })

  test('it asks for a wait of more than 30 s: the next one is asked at once', async () => {
    const short = await openWriters({ answer: { a: fails('rate-limit', { retryAfterMs: 30_000 }) } })
    const failure = await failureOf(summarize(short))
    assert.ok(Number(failure.nextRetryDelay) >= 30_000)
    assert.equal(names(short), 'a')
    const long = await openWriters({ answer: { a: fails('rate-limit', { retryAfterMs: 30_001 }) } })
    assert.equal((await summarize(long)).kind, 'summarized')
    assert.equal(names(long), 'ab')
  })

  test('every model is away: Temporal waits the shortest time that was asked for, then all are asked again', async () => {
    const stage = await openWriters({
      answer: {
        a: fails('rate-limit', { retryAfterMs: 90_000 }),
        b: fails('authentication'),
        c: fails('overloaded', { retryAfterMs: 40_000 }),
      },
    })
    const failure = await failureOf(summarize(stage))
    const delayMs = Number(failure.nextRetryDelay)
    assert.ok(delayMs >= 40_000 && delayMs <= 44_001, `${delayMs}`)
    assert.equal(failure.nonRetryable, false)
    for (const said of [/a\/a-1 .*rate-limit/, /b\/b-1 .*authentication/, /c\/c-1 .*overloaded/])
      assert.match(failure.message, said)
    assert.equal(names(stage), 'abc')
    stage.answer = {}
    assert.equal((await summarize(stage, 2)).kind, 'summarized')
    assert.equal(names(stage), 'abca', 'the first that may have recovered')
  })

  test('one that was away is asked again only when the others have failed, too', async () => {
    const stage = await openWriters({
      answer: { a: fails('overloaded', { retryAfterMs: 60_000 }), b: fails('server') },
    })
    await failureOf(summarize(stage))
    assert.equal(names(stage), 'ab', 'the next one is waited for')
    stage.answer = {}
    const { outcome } = await commitWritten(stage)
    assert.equal(names(stage), 'abb')
    assert.deepEqual([outcome.model, outcome.failedModels], ['b/b-1', 'a/a-1 (overloaded)'])
  })
})

describe('every model has failed for good', () => {
  const broken = { a: fails('authentication'), b: answers('  '), c: fails('model-gone') }
  const sentences = [
    /a\/a-1 wrote no summary \(authentication\)/,
    /b\/b-1 wrote no summary \(blank\)/,
    /c\/c-1 wrote no summary \(model-gone\)/,
  ]
  test('the policy decides; the message names each with its reason', async () => {
    const stage = await openWriters({ answer: broken })
    const result = await summarize(stage)
    assert.equal(result.kind, 'failed')
    assert.ok(result.kind === 'failed')
    for (const said of sentences) assert.match(result.error.message, said)
    assert.equal(names(stage), 'abbc')
    const again = await summarize(stage, 2)
    assert.deepEqual([again.kind, names(stage)], ['failed', 'abbc'], 'nobody is asked again')
    for (const said of sentences) assert.match(again.kind === 'failed' ? again.error.message : '', said)
  })

  test('`summaryFallback: always`: code writes the checkpoint, which says who failed', async () => {
    const stage = await openWriters({ answer: broken, policy: { summaryFallback: 'always' } })
    const { outcome, events } = await commitWritten(stage)
    assert.deepEqual(
      [outcome.reason, outcome.model, outcome.failedModels],
      ['deterministic', undefined, 'a/a-1 (authentication), b/b-1 (blank), c/c-1 (model-gone)'],
    )
    const [summary] = ofType(events, 'compact/summary')
    assert.equal(summary?.data.failed?.length, 3)
  })

  test('what may pass counts as failed when Temporal would not wait any more', async () => {
    const stage = await openWriters({
      answer: { a: fails('overloaded'), b: fails('rate-limit'), c: fails('server') },
    })
    const result = await summarize(stage, 8)
    assert.equal(result.kind, 'failed')
    assert.equal(names(stage), 'abc')
  })

  test('attempts that the circuit held back do not count, but Temporal has ten and no more', async () => {
    const away = { a: fails('overloaded'), b: fails('rate-limit'), c: fails('server') }
    for (const attempt of [8, 9]) {
      const stage = await openWriters({ answer: away })
      const failure = await failureOf(summarize(stage, attempt, 0, { details: { unsent: 7, unpaid: 7 } }))
      assert.equal(failure.nonRetryable, false)
    }
    const last = await openWriters({ answer: away })
    const result = await summarize(last, 10, 0, { details: { unsent: 9, unpaid: 9 } })
    assert.equal(result.kind, 'failed', 'the policy decides')
  })

  test('it counts as failed, too, when the longest wait that Temporal may be told goes beyond the activity’s 25 minutes', async () => {
    const MINUTE_MS = 60_000
    const wait = { retryAfterMs: 4 * MINUTE_MS }
    const stage = await openWriters({
      answer: { a: fails('circuit-open', wait) },
      policy: { summarizerFallbacks: [] },
    })
    assert.equal((await summarize(stage, 2, 20 * MINUTE_MS)).kind, 'failed')
    assert.equal((await failureOf(summarize(stage, 2, 18 * MINUTE_MS))).nonRetryable, false)
  })

  test('`overflow` looks at the policy’s own summarizer: further models that fail change nothing', async () => {
    const tooSmall = await openWriters({
      answer: { b: fails('billing'), c: fails('billing') },
      windows: { a: 900 },
    })
    assert.equal(
      (await summarize(tooSmall)).kind,
      'summarized',
      'its request cannot be made to fit: code writes',
    )
    const refused = await openWriters({
      answer: { a: fails('billing'), c: fails('billing') },
      windows: { b: 900 },
    })
    assert.equal((await summarize(refused)).kind, 'failed')
  })
})

describe('a crash', () => {
  /** b answers two parts, then its worker is gone. */
  async function killedInParts() {
    const stage = await openWriters({
      answer: {
        a: answers('  '),
        b: (n) => {
          if (n === 2) throw new Error('killed')
          return good('b')
        },
      },
      windows: { b: 3_900 },
    })
    await failureOf(summarize(stage))
    assert.equal(names(stage), 'aabbb')
    return stage
  }

  test('in the middle of the second model’s parts: it goes on after the last stored call, and nobody is asked or paid again', async () => {
    const stage = await killedInParts()
    const lost = stage.asked.at(-1)
    const { outcome, events } = await commitWritten(stage)
    assert.equal(outcome.model, 'b/b-1')
    const chunks = ofType(events, 'compact/call').filter(({ data }) => data.purpose === 'chunk')
    const places = chunks.map(({ data }) => data.index - 1_000_000_000)
    assert.deepEqual(
      places,
      chunks.map((_, n) => 1_000 * (n + 1) + 2),
      'its own chunks, none of them halved',
    )
    assert.ok(chunks.length > 1)
    assert.deepEqual(stage.asked.slice(5, 6), [lost], 'the call that was not answered')
    assert.ok(stage.asked.slice(5).every((line) => line.startsWith('b')))
    const indexes = ofType(events, 'compact/call').map(({ data }) => `${data.provider} ${data.index}`)
    assert.equal(new Set(indexes).size, indexes.length)
    const paid = stage.asked.toSpliced(4, 1)
    assert.deepEqual(indexes, paid, 'every answer is in the log, once')
    const notices = ofType(events, 'session/notice').filter(({ data }) => data.failed !== undefined)
    assert.equal(notices.length, 1)
  })

  test('between a refused answer and the next model: the stored answers are judged again, not paid', async () => {
    const stage = await openWriters({ answer: { a: answers('  ') } })
    const { append } = stage.store
    let down = true
    Object.assign(stage.store, {
      append: (...given: Parameters<typeof append>) => {
        if (down && given[0].events.some(({ type }) => type === 'session/notice')) throw new Error('killed')
        return append.apply(stage.store, given)
      },
    })
    await failureOf(summarize(stage))
    assert.equal(names(stage), 'aa')
    down = false
    const { outcome } = await commitWritten(stage)
    assert.equal(names(stage), 'aab')
    assert.equal(outcome.failedModels, 'a/a-1 (blank)')
  })
})

test('a cancel ends it while any of the models is asked: no other is, and nothing is written', async () => {
  for (const name of ['a', 'b'] as const) {
    const waits: Answer = (_n, _request, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('the client’s own words of an abort')))
      })
    const stage = await openWriters({ answer: { a: fails('billing'), [name]: waits } })
    const running = stage.start(CHILD, 'sessionSummarize', ATTEMPT)
    running.result.catch(() => undefined)
    await eventually(
      async () => stage.asked.length,
      (count) => count === (name === 'a' ? 1 : 2),
    )
    running.cancel()
    await assert.rejects(running.result, { name: 'CancelledFailure' })
    assert.equal(names(stage), name === 'a' ? 'a' : 'ab')
    const row = await stage.store.attempt(SESSION, ID)
    assert.deepEqual([row?.state, row?.summary], ['open', undefined])
  }
})

test('what is no failure of a model, such as a store that is away, is left to Temporal: no other model is asked', async () => {
  const stage = await openWriters({ answer: {} })
  Object.assign(stage.store, {
    recordCall: () => Promise.reject(new Error('disk full')),
  })
  await failureOf(summarize(stage, 3))
  assert.equal(names(stage), 'a')
})

test('a provider that no worker has is refused at the start, with the field; one that is away has a window that nobody knows yet', async () => {
  const open = async (fallbacks: readonly object[], others: Record<string, ModelClient> = {}) => {
    const policy = { summarizerFallbacks: fallbacks }
    const stage = await openStage({ others, policy })
    return (await stage.store.session(SESSION))?.header.policy.summarizerFallbacks
  }
  const failure = await failureOf(
    open([
      { provider: 'scripted', model: 'y' },
      { provider: 'nobody', model: 'y' },
    ]),
  )
  assert.equal(failure.type, 'UnknownModel')
  assert.match(failure.message, /^policy\.summarizerFallbacks\[1\]: No worker .* "nobody"; it has scripted/)
  const scripted = scriptedModel(() => 'x')
  const away = (kind: FailureKind) => ({
    ...scripted,
    capacity: () => {
      const { retryable } = FAILURE_KINDS[kind]
      return Promise.reject(new ModelCallError({ kind, retryable, message: `says ${kind}.` }))
    },
  })
  const ref = { provider: 'b', model: 'b-1' }
  assert.deepEqual(await open([ref], { b: away('connection') }), [{ ...ref, window: null }])
  assert.equal((await failureOf(open([ref], { b: away('authentication') }))).type, 'ModelFailed')
})

test('a workflow of one’s own: its header has the list with each window, and an unknown provider is refused', async () => {
  const { store, run, server } = await openStage({
    others: { b: scriptedModel(() => 'x', { capacity: { contextWindow: 32_000 } }) },
  })
  const own = async (sessionId: string, provider: string) => {
    const actor = { workflowId: sessionId, runId: 'own-1' }
    server.setCurrent(actor)
    const header = { provider: 'scripted', model: 'x', system: '', tools: [] }
    const policy = { summarizerFallbacks: [{ provider, model: 'b-1' }] }
    await run(actor, 'sessionOpen', { sessionId, header, policy } as Parameters<typeof run<'sessionOpen'>>[2])
    return (await store.session(sessionId))?.header.policy.summarizerFallbacks
  }
  assert.deepEqual(await own('own-b', 'b'), [{ provider: 'b', model: 'b-1', window: 32_000 }])
  const failure = await failureOf(own('own-n', 'nobody'))
  assert.equal(failure.type, 'UnknownModel')
  assert.match(failure.message, /summarizerFallbacks\[0\]: .*"nobody"/)
})
