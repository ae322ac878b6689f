import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordPass } from '../../src/shared/compaction/breaker.ts'
import { initialMeter, learnFromUsage, type MeterState } from '../../src/shared/compaction/meter.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import type { PolicyInput } from '../../src/shared/compaction/policy-input.ts'
import { modelKeyOf, takeReading } from '../../src/shared/compaction/pressure.ts'
import type { Header } from '../../src/shared/session/events.ts'

const model = { provider: 'acme', model: 'm', contextWindow: 200_000 as number | null, maxOutputTokens: null }

const headerOf = (policy: PolicyInput, facts = model): Header => ({
  provider: facts.provider,
  model: facts.model,
  system: '',
  tools: [],
  sampling: {},
  policy: resolvePolicy(policy, facts),
})

/** A reading of a surface with one node of so many tokens, counted by a model of ratio 1. */
function read(
  tokens: number,
  options: {
    policy?: PolicyInput
    overheadTokens?: number
    meter?: MeterState
    step?: number
    nowMs?: number
    window?: number | null
    pendingTokens?: number
  } = {},
) {
  const {
    policy = {},
    overheadTokens = 0,
    meter = exact(),
    step,
    nowMs = 0,
    window = 200_000,
    pendingTokens,
  } = options
  return takeReading({
    snapshot: { head: 5, generation: 2, nodes: [{ seq: 3, type: 'user/message', tokens }] },
    header: headerOf(policy, { ...model, contextWindow: window }),
    overheadTokens,
    meter,
    nowMs,
    ...(step === undefined ? {} : { step }),
    ...(pendingTokens === undefined ? {} : { pendingTokens }),
  })
}

const exact = (breaker = initialMeter().breaker): MeterState => ({
  ...initialMeter(),
  ratios: { 'acme/m': 1 },
  breaker,
})
const policy: PolicyInput = { thresholdTokens: 10_000 }

test('a reading says where the log stood, what the next request takes, and the limit', () => {
  assert.deepEqual(read(4_000, { policy }), {
    headSeq: 5,
    generation: 2,
    tokens: 4_000,
    limit: 10_000,
    pressure: 'none',
  })
})

test('B1 B2 below the limit none, at the limit over', () => {
  assert.equal(read(9_999, { policy }).pressure, 'none')
  assert.equal(read(10_000, { policy }).pressure, 'over')
})

test('B3 system and tools count, though they are not on the surface', () => {
  assert.equal(read(4_000, { policy, overheadTokens: 6_000 }).pressure, 'over')
})

test('B4 a prompt that would not fit counts before its request', () => {
  assert.equal(read(9_000, { policy, pendingTokens: 1_000 }).pressure, 'over')
})

test('B5 a reply of 128k in a window of 200k does not thrash: the limit leaves it room once', () => {
  const reading = read(60_000, { policy: { replyMaxTokens: 128_000 } })
  assert.deepEqual([reading.limit, reading.pressure], [69_952, 'none'])
})

test('B7 the window of the next model decides: a smaller one puts the same surface over', () => {
  assert.equal(read(30_000, { window: 200_000 }).pressure, 'none')
  assert.equal(read(30_000, { window: 32_000 }).pressure, 'over')
})

test('B15 system and tools alone at the limit are overhead, which no compaction can help', () => {
  assert.equal(read(100, { policy, overheadTokens: 10_000 }).pressure, 'overhead')
  assert.equal(read(100, { policy, overheadTokens: 9_950 }).pressure, 'over')
})

test('A7 A8 no limit, no pressure', () => {
  assert.deepEqual(
    [read(999_999, { policy: { auto: false } }).limit, read(999_999, { policy: { auto: false } }).pressure],
    [null, 'none'],
  )
  assert.equal(read(999_999, { window: null }).pressure, 'none')
})

test('an automatic policy without a limit says why it is off; no other does', () => {
  const off = (given: PolicyInput, contextWindow: number | null, name: string | null = 'm') =>
    takeReading({
      snapshot: { head: 0, generation: 0, nodes: [] },
      header: { ...headerOf(given, { ...model, contextWindow }), model: name },
      overheadTokens: 0,
      meter: exact(),
      nowMs: 0,
    }).off
  assert.equal(off({}, null), 'window-unknown')
  const spent = (tokens: number) =>
    takeReading({
      snapshot: { head: 1, generation: 0, nodes: [{ seq: 0, type: 'user/message', tokens }] },
      header: headerOf({ thresholdTokens: 1_000 }),
      overheadTokens: 0,
      meter: exact(),
      budgetSpent: true,
      nowMs: 0,
    })
  assert.deepEqual([spent(10).off, spent(10).pressure], ['budget-spent', 'none'])
  assert.deepEqual([spent(2_000).off, spent(2_000).pressure], ['budget-spent', 'held'])
  assert.equal(off({}, 200_000), undefined)
  assert.equal(off(policy, null), undefined, 'a threshold in tokens needs no window')
  assert.equal(off({ auto: false }, null), undefined)
  assert.equal(off({ auto: false }, 200_000), undefined)
  assert.equal(off({}, null, null), undefined, 'without a model there is nothing to compact for')
})

test('the breaker turns over into held, never none', () => {
  const breaker = recordPass(initialMeter().breaker, {
    effective: false,
    nowMs: 0,
    stepIndex: 1,
    surfaceTokens: 10_000,
  })
  const at = (step: number, tokens = 12_000) => read(tokens, { policy, meter: exact(breaker), step }).pressure
  assert.deepEqual([at(1), at(2), at(3), at(4)], ['over', 'held', 'held', 'over'])
  assert.equal(at(2, 9_000), 'none')
})

test('the breaker lets go when the surface has shrunk, though it is still over', () => {
  const breaker = recordPass(initialMeter().breaker, {
    effective: false,
    nowMs: 0,
    stepIndex: 1,
    surfaceTokens: 12_000,
  })
  const at = (tokens: number) => read(tokens, { policy, meter: exact(breaker), step: 2 }).pressure
  assert.deepEqual([at(12_000), at(11_999)], ['held', 'over'])
})

test('G03 a usage that was measured before a compaction does not trigger after it', () => {
  const measured = learnFromUsage(exact(), {
    usage: { inputTokens: 9_900, outputTokens: 900, cacheReadTokens: 0, cacheWriteTokens: 0 },
    modelKey: 'acme/m',
    nodes: [{ tokens: 9_900 }],
    overheadTokens: 0,
    replyTokens: 900,
    generation: 1,
    headSeq: 3,
  })
  assert.equal(read(2_000, { policy, meter: measured }).pressure, 'none')
})

test('the key of a model', () => {
  assert.equal(modelKeyOf({ provider: 'acme', model: 'm' }), 'acme/m')
  assert.equal(modelKeyOf({ provider: null, model: null }), '/')
})
