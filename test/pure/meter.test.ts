import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  contextTokens,
  firstRatio,
  initialMeter,
  learnFromUsage,
  type MeasuredCall,
  type MeterState,
  meterStateSchema,
  ratioOf,
  withFirstRatio,
} from '../../src/shared/compaction/meter.ts'

const KEY = 'acme/model'
const usage = (inputTokens: number, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0) => ({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
})
const nodes = (...tokens: number[]) => tokens.map((price, seq) => ({ seq, tokens: price }))

/** A call whose request held `counted` tokens by our counter, at head 10, with a reply of 50. */
const call = (counted: number, given: Partial<MeasuredCall> = {}): MeasuredCall => ({
  usage: usage(counted),
  modelKey: KEY,
  nodes: [{ tokens: counted }],
  overheadTokens: 0,
  replyTokens: 50,
  generation: 0,
  headSeq: 10,
  ...given,
})

/** What the surface of such a call costs next: the request's node, the reply, and what came since. */
const question = (meter: MeterState, counted: number, since: number[] = [], given: object = {}) => ({
  nodes: [
    { seq: 0, tokens: counted },
    { seq: 10, tokens: 50 },
    ...since.map((tokens, index) => ({ seq: 11 + index, tokens })),
  ],
  generation: 0,
  overheadTokens: 0,
  meter,
  modelKey: KEY,
  ...given,
})

test('before any usage everything is estimated: system and tools too (B3, fault G11)', () => {
  const meter = initialMeter()
  assert.equal(
    contextTokens({ nodes: nodes(1_000), generation: 0, overheadTokens: 4_000, meter, modelKey: KEY }),
    6_000,
  )
})

test('after a usage the context is what the provider counted: input, cache reads, cache writes, output', () => {
  const meter = learnFromUsage(initialMeter(), call(10_000, { usage: usage(1_000, 77, 8_000, 3_000) }))
  assert.equal(contextTokens(question(meter, 10_000)), 12_077)
})

test('B6 the newest message is not counted twice after its usage', () => {
  const meter = learnFromUsage(initialMeter(), call(10_000, { usage: usage(12_000, 60), replyTokens: 50 }))
  assert.equal(contextTokens(question(meter, 10_000)), 12_060)
})

test('what was appended since costs our price times the ratio, a message that landed during the call too', () => {
  const meter = learnFromUsage(initialMeter(), call(10_000, { usage: usage(10_000, 60) }))
  const ratio = ratioOf(meter, KEY)
  assert.equal(contextTokens(question(meter, 10_000, [1_000, 500])), Math.ceil(10_060 + ratio * 1_500))
  const during = {
    ...question(meter, 10_000),
    nodes: [
      { seq: 0, tokens: 10_000 },
      { seq: 10, tokens: 200 },
      { seq: 11, tokens: 50 },
    ],
  }
  assert.equal(contextTokens(during), Math.ceil(10_060 + ratio * 200))
})

test('B4 pending input counts', () => {
  const meter = initialMeter()
  const base = { nodes: nodes(100), generation: 0, overheadTokens: 0, meter, modelKey: KEY }
  assert.equal(contextTokens({ ...base, pendingTokens: 1_000 }) - contextTokens(base), 1_200)
})

test('O8 a usage of an older generation is no anchor (faults G03, B07)', () => {
  const meter = learnFromUsage(initialMeter(), call(10_000, { usage: usage(36_300) }))
  const after = { nodes: nodes(500), generation: 1, overheadTokens: 0, meter, modelKey: KEY }
  assert.equal(contextTokens(after), Math.ceil(ratioOf(meter, KEY) * 500))
})

test('B7 a usage of another model is no anchor: the ratio of the next model counts', () => {
  const meter = learnFromUsage(initialMeter(), call(10_000, { usage: usage(10_000) }))
  assert.equal(
    contextTokens(question(meter, 10_000, [], { modelKey: 'anthropic/claude-opus-5-5' })),
    Math.ceil(1.5 * 10_050),
  )
})

test('other system and tools in the next request count against the anchor', () => {
  const meter = learnFromUsage(initialMeter(), call(10_000, { usage: usage(12_000), overheadTokens: 1_000 }))
  const ratio = ratioOf(meter, KEY)
  assert.equal(
    contextTokens(question(meter, 10_000, [], { overheadTokens: 1_400 })),
    Math.ceil(12_000 + 400 * ratio),
  )
})

test('headroom survives an error of 10 % of what was appended since the last usage', () => {
  for (const appended of [1_000, 20_000, 60_000, 150_000]) {
    const meter: MeterState = { ...learnFromUsage(initialMeter(), call(10_000)), ratios: { [KEY]: 1 } }
    const estimate = contextTokens(question(meter, 10_000, [appended]))
    const truth = 10_000 + appended * 1.1
    assert.ok(truth <= estimate + 2_048, `${appended}: true ${truth}, estimate ${estimate}, reserve 2,048`)
  }
})

test('the ratio is learned within a few calls, kept per model, and clamped', () => {
  let meter = initialMeter()
  for (let n = 0; n < 8; n++) meter = learnFromUsage(meter, call(50_000, { usage: usage(75_000) }))
  assert.ok(Math.abs(ratioOf(meter, KEY) - 1.5) < 0.01)
  assert.equal(ratioOf(meter, 'acme/other'), 1.2)
  for (let n = 0; n < 20; n++) meter = learnFromUsage(meter, call(50_000, { usage: usage(160_000) }))
  assert.ok(ratioOf(meter, KEY) <= 2.2)
  for (let n = 0; n < 20; n++) meter = learnFromUsage(meter, call(50_000, { usage: usage(20_000) }))
  assert.ok(ratioOf(meter, KEY) >= 0.9)
})

test('a tiny request hardly moves the ratio', () => {
  const meter = learnFromUsage(initialMeter(), call(50, { usage: usage(500) }))
  assert.ok(ratioOf(meter, KEY) < 1.21)
})

test('usage that is missing, zero, or a sum over several calls teaches nothing (fault G13)', () => {
  const meter = learnFromUsage(initialMeter(), call(10_000))
  for (const useless of [null, usage(0), usage(100), usage(1_000_000)]) {
    assert.equal(learnFromUsage(meter, call(10_000, { usage: useless, headSeq: 99 })), meter)
  }
})

test('first ratios: 1.5 for the tokenizer of Opus 4.7, Sonnet 5 and later, 1.2 for all others', () => {
  const newest = [
    'claude-opus-4-7',
    'claude-opus-5-5',
    'claude-sonnet-5',
    'claude-fable-5',
    'claude-mythos-5-1',
    'us.anthropic.claude-opus-4-7-v1:0',
    'claude-opus-4.8',
    'claude-opus-4-7-20260801',
  ]
  const others = [
    'claude-opus-4-20250514',
    'claude-opus-4-1-20250805',
    'claude-opus-4-6',
    'claude-sonnet-4-5',
    'claude-3-5-sonnet-20241022',
    'gpt-5',
    '',
  ]
  assert.deepEqual(
    newest.map((model) => firstRatio(`anthropic/${model}`)),
    newest.map(() => 1.5),
  )
  assert.deepEqual(
    others.map((model) => firstRatio(`anthropic/${model}`)),
    others.map(() => 1.2),
  )
})

test('a client may give its own first ratio, which learning replaces', () => {
  const meter = withFirstRatio(initialMeter(), KEY, 1)
  assert.equal(ratioOf(meter, KEY), 1)
  assert.equal(withFirstRatio(initialMeter(), KEY, undefined).ratios[KEY], undefined)
  const learned = learnFromUsage(meter, call(50_000, { usage: usage(75_000) }))
  assert.equal(withFirstRatio(learned, KEY, 1), learned)
})

test('the state survives its schema', () => {
  const meter = learnFromUsage(initialMeter(), call(10_000))
  assert.deepEqual(meterStateSchema.parse(JSON.parse(JSON.stringify(meter))), meter)
})
