import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { meterAfterPass } from '../../src/shared/compaction/after-pass.ts'
import { recordPass } from '../../src/shared/compaction/breaker.ts'
import { initialMeter, type MeterState, meterFrom } from '../../src/shared/compaction/meter.ts'
import {
  forbiddenAttempt,
  type PlanAttemptInput,
  planAttempt,
} from '../../src/shared/compaction/plan-attempt.ts'
import { planUndo } from '../../src/shared/compaction/plan-undo.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import type { PolicyInput } from '../../src/shared/compaction/policy-input.ts'
import type { CompactionCause, Header, SurfaceNode } from '../../src/shared/session/events.ts'
import { answered, surface } from './surface-builder.ts'

const facts = { provider: 'acme', model: 'm', contextWindow: 200_000, maxOutputTokens: null }
const headerOf = (policy: PolicyInput = {}): Header => ({
  provider: 'acme',
  model: 'm',
  system: '',
  tools: [],
  sampling: {},
  policy: resolvePolicy({ summarizer: 'deterministic', ...policy }, facts),
})
const exact: MeterState = { ...initialMeter(), ratios: { 'acme/m': 1 } }
const tired: MeterState = {
  ...exact,
  breaker: recordPass(exact.breaker, { effective: false, nowMs: 5, stepIndex: 1, surfaceTokens: 9 }),
}

/** A prompt (seq 0) and ten answered calls of 1,000 tokens each: replies at odd seqs, results at even ones. */
function tenSteps() {
  const builder = surface().user('go', 'prompt', { tokens: 1_000 })
  for (let n = 1; n <= 10; n++) answered(builder, `c${n}`, 1_000)
  return builder.nodes
}

const plan = (
  nodes: readonly SurfaceNode[],
  cause: CompactionCause,
  policy: PolicyInput = {},
  more: Partial<PlanAttemptInput> & { span?: { start: number; end: number } } = {},
) => {
  const { span, ...rest } = more
  return planAttempt({
    attempt: { compactionId: 'c', cause, turn: null, ...(span === undefined ? {} : { span }) },
    header: headerOf(policy),
    surface: { head: 100, generation: 3, nodes },
    meter: exact,
    replies: 7,
    overheadTokens: 0,
    price: () => 50,
    nowMs: 1_000,
    ...rest,
  })
}

describe('the plan of an attempt', () => {
  test('pressure takes the oldest, tells what there was, and shortens nothing small', () => {
    const planned = plan(tenSteps(), 'pressure', { thresholdTokens: 5_000, retainTokens: 2_500 })
    assert.deepEqual(planned, {
      kind: 'plan',
      copies: [],
      plan: {
        shadowedSeqs: Array.from({ length: 17 }, (_, seq) => seq),
        shadowedTokenCount: 9_000,
        generation: 3,
        chunkEnds: [planned.kind === 'plan' ? planned.plan.chunkEnds[0] : 0],
        tokensBefore: 11_000,
        checkpointTokens: headerOf({ thresholdTokens: 5_000, retainTokens: 2_500 }).policy.checkpointTokens,
      },
    })
  })

  test('a region is what was asked for', () => {
    const planned = plan(tenSteps(), 'region', {}, { span: { start: 3, end: 6 } })
    assert.deepEqual(planned.kind === 'plan' && planned.plan.shadowedSeqs, [3, 4, 5, 6])
    assert.throws(() => plan(tenSteps(), 'region', {}, { span: { start: 6, end: 3 } }), {
      name: 'InvalidSpan',
    })
  })

  test('nothing to do has a reason, and an automatic pass is counted', () => {
    const below = plan(tenSteps(), 'pressure', { thresholdTokens: 50_000 })
    assert.deepEqual(below, {
      kind: 'void',
      copies: [],
      outcome: {
        v: 1,
        compactionId: 'c',
        outcome: 'nothing',
        reason: 'below-threshold',
        reading: { headSeq: 100, generation: 3, tokens: 11_000, limit: 50_000, pressure: 'none' },
        tokensBefore: 11_000,
        tokensAfter: 11_000,
        paid: {
          calls: 0,
          reused: 0,
          usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
        },
      },
      meter: {
        ...exact,
        breaker: {
          ineffective: 1,
          last: { atMs: 1_000, stepIndex: 7, surfaceTokens: 11_000 },
          announced: false,
        },
      },
    })
    const overhead = plan(tenSteps(), 'pressure', { thresholdTokens: 5_000 }, { overheadTokens: 6_000 })
    assert.equal(overhead.kind === 'void' && overhead.outcome.reason, 'overhead')
    const empty = plan([], 'manual')
    assert.deepEqual(
      empty.kind === 'void' && [empty.outcome.outcome, empty.outcome.reason, empty.meter.breaker],
      ['nothing', 'empty', exact.breaker],
    )
  })

  test('a hook that refuses leaves everything as it is', () => {
    const nodes = tenSteps()
    const forbidden = forbiddenAttempt(
      {
        attempt: { compactionId: 'c', cause: 'pressure', turn: null },
        header: headerOf({ thresholdTokens: 5_000 }),
        surface: { head: 100, generation: 3, nodes },
        meter: exact,
        replies: 7,
        overheadTokens: 0,
        price: () => 50,
        nowMs: 1_000,
      },
      { outcome: 'nothing', reason: 'refused', message: 'not now' },
    )
    assert.equal(forbidden.kind, 'void')
    assert.deepEqual(forbidden.copies, [])
    if (forbidden.kind !== 'void') return
    const { outcome, reason, message, tokensBefore, tokensAfter } = forbidden.outcome
    assert.deepEqual(
      [outcome, reason, message, tokensBefore, tokensAfter],
      ['nothing', 'refused', 'not now', 11_000, 11_000],
    )
    assert.equal(forbidden.meter.breaker.ineffective, 1)
  })
})

describe('results that are shortened before a span is chosen', () => {
  const long = 'x'.repeat(40_000)
  /** Two long results of 10,000 tokens each (seqs 2 and 4), then what keeps the tail. */
  const withLong = () =>
    surface()
      .user('go', 'prompt', { tokens: 100 })
      .reply('', ['a'], { tokens: 10 })
      .result('a', long, { tokens: 10_000 })
      .reply('', ['b'], { tokens: 10 })
      .result('b', long, { tokens: 10_000 })
      .reply('done', [], { tokens: 500 })
      .user('next', 'prompt', { tokens: 100 }).nodes
  // All together 20,720 tokens, and a tenth less the reserve of 2,048 for the error of an estimate.
  const policy: PolicyInput = {
    thresholdTokens: 15_000,
    retainTokens: 400,
    prune: { thresholdChars: 1_000, headChars: 200, tailChars: 100 },
  }

  test('that relieves pressure alone: a price and a copy for each, from the head on, oldest first', () => {
    const pruned = plan(withLong(), 'pressure', policy)
    assert.equal(pruned.kind, 'void')
    if (pruned.kind !== 'void') return
    assert.deepEqual(
      pruned.copies.map(({ type, tokens, turn, step, surfaceOp }) => [type, tokens, turn, step, surfaceOp]),
      [
        ['compact/prune', 0, null, null, undefined],
        ['tool/result', 50, null, null, { op: 'replace', start: 2, end: 2 }],
        ['compact/prune', 0, null, null, undefined],
        ['tool/result', 50, null, null, { op: 'replace', start: 4, end: 4 }],
      ],
    )
    const { outcome, reading, tokensBefore, tokensAfter, reason } = pruned.outcome
    assert.deepEqual([outcome, reason, tokensBefore, tokensAfter], ['pruned', undefined, 20_744, 820])
    assert.deepEqual([reading.headSeq, reading.generation], [104, 5])
    assert.deepEqual(pruned.meter, exact)
  })

  test('where it does not suffice, the span is chosen on what the copies leave', () => {
    const planned = plan(
      withLong(),
      'pressure',
      { ...policy, thresholdTokens: 600, retainTokens: 150, checkpointTokens: 300 },
      { price: () => 5_000 },
    )
    assert.equal(planned.kind, 'plan')
    if (planned.kind !== 'plan') return
    assert.equal(planned.copies.length, 4)
    assert.deepEqual(planned.plan.shadowedSeqs, [0, 1, 101, 3, 103, 5])
    assert.equal(planned.plan.generation, 5)
    assert.equal(planned.plan.tokensBefore, 20_744)
    assert.equal(planned.plan.shadowedTokenCount, 100 + 10 + 5_000 + 10 + 5_000 + 500)
  })

  test('a person gets the messages as they are', () => {
    const planned = plan(withLong(), 'manual', policy)
    assert.deepEqual([planned.kind, planned.copies], ['plan', []])
    assert.equal(plan(withLong(), 'tool', policy).copies.length, 4)
  })

  test('a copy that would cost more is not written', () => {
    assert.deepEqual(plan(withLong(), 'tool', policy, { price: () => 10_000 }).copies, [])
  })

  test('results that the model has not seen are cut for an overflow only', () => {
    const unseen = surface()
      .user('go', 'prompt', { tokens: 100 })
      .reply('', ['a'], { tokens: 10 })
      .result('a', long, { tokens: 10_000 }).nodes
    assert.equal(plan(unseen, 'pressure', { ...policy, thresholdTokens: 5_000 }).copies.length, 0)
    const cut = plan(unseen, 'context-overflow', policy)
    assert.deepEqual([cut.copies.length, cut.kind === 'void' && cut.outcome.outcome], [2, 'pruned'])
  })
})

describe('what the breaker learns of a pass', () => {
  const after = (
    cause: CompactionCause,
    outcome: 'compacted' | 'pruned' | 'nothing' | 'failed',
    tokensAfter: number,
    meter = tired,
  ) =>
    meterAfterPass(meter, {
      cause,
      header: headerOf({ thresholdTokens: 10_000 }),
      outcome: { outcome, tokensBefore: 20_000, tokensAfter },
      replies: 4,
      surfaceTokens: 77,
      nowMs: 99,
    })
  const worse = {
    ...tired,
    breaker: { ineffective: 2, last: { atMs: 99, stepIndex: 4, surfaceTokens: 77 }, announced: false },
  }

  test('a person resets it, whatever came of it', () => {
    for (const cause of ['manual', 'region'] as const)
      for (const outcome of ['compacted', 'failed'] as const)
        assert.deepEqual(after(cause, outcome, 19_000), exact)
  })

  test("the model's own request says nothing", () => {
    assert.equal(after('tool', 'compacted', 1_000), tired)
    assert.equal(after('tool', 'failed', 20_000), tired)
  })

  test('one that helped resets it: below the limit, and by enough unless it only pruned', () => {
    assert.deepEqual(after('pressure', 'compacted', 5_000), exact)
    assert.deepEqual(after('pressure', 'pruned', 9_999), exact)
    assert.deepEqual(after('context-overflow', 'compacted', 5_000), exact)
  })

  test('one that did not is counted under pressure, and not for an overflow', () => {
    for (const [outcome, tokensAfter] of [
      ['compacted', 10_000],
      ['pruned', 10_000],
      ['nothing', 5_000],
      ['failed', 5_000],
    ] as const) {
      assert.deepEqual(after('pressure', outcome, tokensAfter), worse, outcome)
      assert.equal(after('context-overflow', outcome, tokensAfter), tired, outcome)
    }
  })
})

describe('an undo', () => {
  const { nodes } = surface()
    .checkpoint('so far', { seq: 5, tokens: 1_000 })
    .user('next', 'prompt', { tokens: 500 })
  const undo = (
    shadowedTokenCount: number,
    policy: PolicyInput = { thresholdTokens: 10_000 },
    header = headerOf(policy),
  ) =>
    planUndo({
      snapshot: { head: 9, generation: 2, nodes },
      checkpoint: 5,
      shadowedTokenCount,
      header,
      overheadTokens: 300,
      meter: exact,
      nowMs: 0,
    })

  test("has the checkpoint's messages back, and fits below the pressure limit", () => {
    assert.deepEqual(undo(8_000), { tokensBefore: 1_800, tokensAfter: 8_800, limit: 10_000, fits: true })
    assert.deepEqual(undo(9_199), { tokensBefore: 1_800, tokensAfter: 9_999, limit: 10_000, fits: true })
    assert.equal(undo(9_200).fits, false)
  })

  test('without pressure the window is the limit, without a window nothing', () => {
    const off = headerOf({ auto: false })
    const { contextWindow, replyMaxTokens, pressureTokens } = off.policy
    assert.equal(pressureTokens, null)
    assert.equal(undo(8_000, {}, off).limit, (contextWindow ?? 0) - replyMaxTokens)
    const unknown = { ...off, policy: { ...off.policy, contextWindow: null } }
    assert.deepEqual(undo(9e9, {}, unknown), {
      tokensBefore: 1_800,
      tokensAfter: undo(9e9, {}, unknown).tokensAfter,
      limit: null,
      fits: true,
    })
  })

  test('the usage of the surface with the checkpoint says nothing of the one without', () => {
    const anchored: MeterState = {
      ...exact,
      anchor: {
        contextTokens: 50_000,
        headSeq: 9,
        replyTokens: 0,
        overheadTokens: 300,
        generation: 2,
        modelKey: 'acme/m',
      },
    }
    const planned = planUndo({
      snapshot: { head: 9, generation: 2, nodes },
      checkpoint: 5,
      shadowedTokenCount: 8_000,
      header: headerOf(),
      overheadTokens: 300,
      meter: anchored,
      nowMs: 0,
    })
    assert.deepEqual([planned.tokensBefore, planned.tokensAfter], [50_000, 8_800])
  })
})

test('a meter is what the store has, or new', () => {
  assert.deepEqual(meterFrom(null), initialMeter())
  assert.deepEqual(meterFrom(tired), tired)
  assert.throws(() => meterFrom({ v: 1 }))
})
