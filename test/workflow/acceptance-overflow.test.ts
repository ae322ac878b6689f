import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ContextOverflowError, type ModelRequest } from '../../src/shared/ports/model.ts'
import { eventually } from '../support/eventually.ts'
import { Gate } from '../support/gate.ts'
import {
  assertRequests,
  calls,
  lastText,
  openPlayedSessions,
  type Play,
  type PlayedSession,
  type PlayedSessions,
  SUMMARY,
  sizeOf,
  textOf,
} from '../support/played-sessions.ts'
import { HOSTED } from '../support/refusal-samples/hosted.ts'
import { OTHERS } from '../support/refusal-samples/others.ts'
import { type RefusalSample, thrown } from '../support/refusal-samples/sample.ts'
import { SERVERS } from '../support/refusal-samples/servers.ts'

// Requests that do not fit, case by case, on the real workflow: refused by the provider, or known not to fit and never sent.

let played: PlayedSessions
before(async () => {
  played = await openPlayedSessions()
})
after(() => played.close())

/** Nothing is above the threshold, and nothing shortens results beside a recovery. */
const CALM = { micro: false, prune: false } as const
const TOO_LONG = 'prompt is too long: 213462 tokens > 200000 maximum'
const tooLong = (): never => {
  throw new ContextOverflowError(TOO_LONG)
}

/** Three results, then an answer; the fourth request is refused as long as `refuses` says so. */
const refusedAtFour =
  (refuses: (request: ModelRequest, count: number) => boolean, refuse: () => never = tooLong): Play['turn'] =>
  (request, count) => {
    if (request.index < 3) return calls([`r${request.index}`, 1_000])
    return refuses(request, count) ? refuse() : 'Done.'
  }
/** Until the conversation has been replaced. */
const untilCompacted = (request: ModelRequest): boolean => !textOf(request).includes(SUMMARY)

const attempts = (one: PlayedSession) => played.real.store.attempts({ sessionId: one.session.id })
const surface = async (one: PlayedSession) => (await played.real.store.surface(one.session.id)).nodes

/** The steps 4, 6 and 8 are refused; the last one's need no compaction meets. */
async function refusedInThreeSteps({ start, real: { store } }: PlayedSessions): Promise<void> {
  const needs = new Map([
    [3, 'Part 1.'],
    [5, 'Part 2.'],
    [7, 'no summary says this'],
  ])
  const one = await start(
    {
      turn: (request) =>
        textOf(request).includes(needs.get(request.index) ?? '')
          ? calls([`a${request.index}`, 900])
          : tooLong(),
      summary: (_request, count) => `${SUMMARY} Part ${count}.`,
    },
    { policy: CALM },
  )
  const { reason, error } = await one.ask('Go.')
  assert.deepEqual([reason, error], ['error', TOO_LONG])
  const rows = await store.attempts({ sessionId: one.session.id })
  assert.deepEqual(rows.map(({ compactionId }) => compactionId).toSorted(), [
    't1.s4.overflow.0',
    't1.s6.overflow.0',
    't1.s8.overflow.0',
  ])
}

describe('a refused request', { concurrency: true }, () => {
  test('C1 C2 compacts in the same step and is made once more, with the checkpoint and nothing of what it replaced', async () => {
    const one = await played.start({ turn: refusedAtFour(untilCompacted) }, { policy: CALM })
    assert.equal((await one.ask('Go.')).reason, 'completed')
    assert.deepEqual([one.requests.length, one.summaries.length], [5, 1])
    assert.equal((await one.of('step/start')).filter(({ step }) => step === 4).length, 1)
    const [start] = await one.of('compact/start')
    assert.deepEqual([start?.data.cause, start?.data.turn], ['context-overflow', 1])
    const again = one.requests[4] as ModelRequest
    const [summary] = await one.of('compact/summary')
    for (const event of await one.events())
      if (event.type === 'tool/result' && summary?.data.shadowedSeqs.includes(event.seq))
        assert.ok(!textOf(again).includes(JSON.stringify(event.data.content)), `#${event.seq} is still there`)
    assert.match(textOf(again), new RegExp(SUMMARY))
    assert.ok(sizeOf(again) < sizeOf(one.requests[3] as ModelRequest), 'the retry is not smaller')
    assertRequests(one.requests, 16_000)
  })

  test('C3 pruned, but the summary failed and nothing may stand in for it: asked again, since the generation rose', async () => {
    const policy = { micro: false, summaryFallback: 'never' }
    const one = await played.start(
      {
        turn: ({ index, messages }) => {
          if (index < 2) return calls([`r${index}`, 1_900])
          return textOf({ messages }).includes('characters left out') ? 'Done.' : tooLong()
        },
        summary: () => '  ',
      },
      { policy },
    )
    assert.equal((await one.ask('Go.')).reason, 'completed')
    const [end] = await one.of('compact/end')
    assert.equal(end?.data.error?.code, 'summary')
    assert.equal(one.requests.length, 4)
    assert.notEqual((await one.of('compact/prune')).length, 0)
  })

  test('C4 with nothing to take: no retry, and the turn ends with the provider’s own error, unchanged', async () => {
    const one = await played.start({ turn: tooLong })
    const { reason, error, code } = await one.ask('Go.')
    assert.deepEqual([reason, error, code], ['error', TOO_LONG, 'ContextOverflow'])
    assert.equal(one.requests.length, 1)
    assert.equal((await attempts(one))[0]?.outcome?.outcome, 'nothing')
  })

  test('C4 a micro pass before the refused request is no progress of the recovery', async () => {
    const micro = { keepLast: 0, minReclaimTokens: 0, preserve: [] }
    const one = await played.start(
      { turn: ({ index }) => (index < 2 ? calls([`r${index}`, index === 0 ? 200 : 5]) : tooLong()) },
      { policy: { micro, prune: false } },
    )
    const { reason, error } = await one.ask('Go.')
    assert.deepEqual([reason, error], ['error', TOO_LONG])
    assert.match(textOf(one.requests[2] as ModelRequest), /Previous: used words/)
    assert.equal(one.requests.length, 3)
    const [attempt] = await attempts(one)
    assert.deepEqual([attempt?.outcome?.outcome, attempt?.outcome?.reason], ['nothing', 'too-small'])
    assert.notEqual(attempt?.outcome?.reading.generation, 0)
  })

  test('C5 cancelled while it recovers: no retry, and the surface is what it was', async () => {
    const gate = new Gate()
    const one = await played.start(
      {
        turn: refusedAtFour(untilCompacted),
        summary: async () => {
          await gate.wait()
          return SUMMARY
        },
      },
      { policy: CALM },
    )
    const turn = await one.session.prompt('Go.')
    await gate.reached
    const before = await surface(one)
    await one.session.cancelTurn({ reason: 'enough' })
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'aborted')
    gate.open()
    assert.equal(one.requests.length, 4)
    const [end] = await one.of('compact/end')
    assert.equal(end?.data.error?.code, 'cancelled')
    assert.deepEqual(await surface(one), before)
  })

  test('C6 `maxOverflowRetries: 0` turns recovery off and leaves pressure on', async () => {
    const policy = { ...CALM, maxOverflowRetries: 0, thresholdTokens: 3_500, retainTokens: 1_200 }
    const one = await played.start({ turn: refusedAtFour(() => true) }, { policy })
    const { reason, error } = await one.ask('Go.')
    assert.deepEqual([reason, error], ['error', TOO_LONG])
    const causes = (await attempts(one)).map(({ cause }) => cause)
    assert.ok(causes.includes('pressure') && !causes.includes('context-overflow'), `${causes}`)
  })

  test('C6 the count is per step: one recovery of each step that is refused, and no second one of a step', async () => {
    await refusedInThreeSteps(played)
  })

  test('C6 the count survives what a crash leaves of a workflow: its history, replayed before each of its tasks', async () => {
    const replayed = await openPlayedSessions({ worker: { maxCachedWorkflows: 0 } })
    try {
      await refusedInThreeSteps(replayed)
    } finally {
      await replayed.close()
    }
  })

  test('C7 too long, then a passing error: each has its own budget', async () => {
    let passing = 0
    const one = await played.start(
      {
        turn: (request) => {
          if (request.index < 3) return calls([`r${request.index}`, 1_000])
          if (untilCompacted(request)) return tooLong()
          if (++passing <= 2) throw new Error('socket hang up')
          return 'Done.'
        },
      },
      { policy: CALM },
    )
    assert.equal((await one.ask('Go.')).reason, 'completed')
    assert.equal(passing, 3)
    assert.equal((await attempts(one)).length, 1)
    assert.equal((await one.of('step/start')).filter(({ step }) => step === 4).length, 1)
  })
})

describe('the ladder', { concurrency: true }, () => {
  test('C8 a summary that is too long itself goes in smaller parts; the same bytes never go twice', async () => {
    const one = await played.start(
      {
        turn: refusedAtFour((request) => !textOf(request).includes('In short')),
        summary: (request) => (sizeOf(request) > 2_600 ? tooLong() : 'In short: words were read.'),
      },
      { policy: CALM },
    )
    assert.equal((await one.ask('Go.')).reason, 'completed')
    assert.ok(one.summaries.length >= 4, `${one.summaries.length} requests`)
    const sent = one.summaries.map(({ system, tools, messages }) => JSON.stringify([system, tools, messages]))
    assert.equal(new Set(sent).size, sent.length)
    const purposes = (await one.of('compact/call')).map(({ data }) => data.purpose)
    assert.ok(purposes.includes('chunk') && purposes.includes('merge'), `${purposes}`)
  })

  test('C8 no part is small enough: the checkpoint that code writes, and the turn goes on', async () => {
    const one = await played.start(
      { turn: refusedAtFour((_request, count) => count === 4), summary: tooLong },
      { policy: CALM },
    )
    assert.equal((await one.ask('Go.')).reason, 'completed')
    const [summary] = await one.of('compact/summary')
    assert.equal(summary?.data.model, 'deterministic')
    const sizes = one.summaries.map(sizeOf)
    assert.deepEqual(
      sizes,
      sizes.toSorted((a, b) => b - a),
    )
    assert.equal(new Set(one.summaries.map(textOf)).size, one.summaries.length)
  })

  test('C8 `summaryFallback: never`: the attempt fails, the turn ends with the provider’s words, nothing is lost', async () => {
    const policy = { ...CALM, summaryFallback: 'never' }
    const one = await played.start({ turn: refusedAtFour(() => true), summary: tooLong }, { policy })
    const { reason, error } = await one.ask('Go.')
    assert.deepEqual([reason, error], ['error', TOO_LONG])
    const [end] = await one.of('compact/end')
    assert.equal(end?.data.error?.code, 'summary')
    for (const label of ['r0', 'r1', 'r2'])
      assert.ok(JSON.stringify(await surface(one)).includes(`end-of-${label}`), `${label} is gone`)
  })

  test('C1 pruning alone is the first rung: no summary is paid for when there is nothing else to take', async () => {
    const one = await played.start(
      {
        turn: ({ index, messages }) => {
          if (index < 1) return calls(['only', 2_300])
          return textOf({ messages }).includes('characters left out') ? 'Done.' : tooLong()
        },
      },
      { policy: { micro: false } },
    )
    assert.equal((await one.ask('Go.')).reason, 'completed')
    assert.equal(one.summaries.length, 0)
    assert.equal((await attempts(one))[0]?.outcome?.outcome, 'pruned')
  })

  test('C4 a request that is known not to fit is never sent: ContextTooLarge names what no compaction shrinks', async () => {
    const one = await played.start({ turn: () => 'Done.' }, { policy: CALM, system: 'rule '.repeat(700) })
    const prompt = 'please '.repeat(14_000)
    const { reason, error = '', code } = await one.ask(prompt)
    assert.deepEqual([reason, code], ['error', 'ContextTooLarge'])
    assert.match(
      error,
      /^The next request needs about \d{5} tokens and 4000 for the reply; the window of scripted\/w16000 is 16000\. No compaction shrinks system prompt \d+, tools \d+, the newest messages from #\d+ on \d{5}, the reply 4000 \(replyMaxTokens\): shorten/,
    )
    assert.equal(one.requests.length, 0)
    assert.equal(one.summaries.length, 0)
    await eventually(
      async () => (await attempts(one)).length,
      (found) => found > 0,
    )
    assert.ok(JSON.stringify(await surface(one)).includes(prompt.slice(0, 1_000)), 'the prompt is not lost')
  })

  test('C1 a request that is known not to fit is compacted for, and sent once it does', async () => {
    const policy = { ...CALM, thresholdTokens: 9_900 }
    const one = await played.start(
      { turn: ({ index }) => (index < 6 ? calls([`r${index}`, 1_300]) : 'Done.') },
      { policy },
    )
    await one.ask('Go.')
    const prompt = `${'please '.repeat(8_000)}answer.`
    assert.equal((await one.ask(prompt)).reason, 'completed')
    assert.equal(lastText(one.requests.at(-1) as ModelRequest), prompt)
    assertRequests(one.requests, 16_000)
    assertRequests(one.summaries, 16_000)
  })
})

describe('C9 what providers say', { concurrency: true }, () => {
  const said = (part: string): RefusalSample =>
    [...HOSTED, ...SERVERS, ...OTHERS].find(({ from }) => from.includes(part)) as RefusalSample

  const shapes = [
    'OpenAI chat',
    'OpenRouter, an upstream error as JSON',
    'Gemini API',
    'Bedrock, InvokeModel',
    'llama.cpp server, server-context',
    'Vercel AI SDK',
  ]
  for (const name of shapes)
    test(`C9 a client that throws what it got is recovered from: ${name}`, async () => {
      const refuse = (): never => {
        throw thrown(said(name))
      }
      const one = await played.start({ turn: refusedAtFour(untilCompacted, refuse) }, { policy: CALM })
      assert.equal((await one.ask('Go.')).reason, 'completed')
      assert.equal((await attempts(one))[0]?.cause, 'context-overflow')
      assert.equal(one.requests.length, 5)
    })

  const others = [
    ['Groq, rate of tokens through a 413', 'completed'],
    ['OpenAI, reply', 'error'],
    ['Anthropic, rate', 'completed'],
  ] as const
  for (const [name, reason] of others)
    test(`C9 no compaction for what is no overflow: ${name}`, async () => {
      const sample = said(name)
      const one = await played.start(
        {
          turn: (request, count) => {
            if (request.index < 3) return calls([`r${request.index}`, 1_000])
            if (count === 4) throw thrown(sample)
            return 'Done.'
          },
        },
        { policy: CALM },
      )
      assert.equal((await one.ask('Go.')).reason, reason)
      assert.deepEqual(await attempts(one), [])
    })
})
