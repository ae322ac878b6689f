import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import type { ResolvedPolicy } from '../../src/shared/compaction/policy-schema.ts'
import { type SpanInput, selectSpan } from '../../src/shared/compaction/span.ts'
import { isSessionError } from '../../src/shared/errors.ts'
import type { CompactionCause, SurfaceNode } from '../../src/shared/session/events.ts'
import { answered, surface } from './surface-builder.ts'

const facts = { provider: 'acme', model: 'm', contextWindow: 200_000, maxOutputTokens: null }
const policyOf = (retainTokens: number, given: object = {}): ResolvedPolicy =>
  resolvePolicy({ retainTokens, ...given }, facts)

const select = (nodes: readonly SurfaceNode[], cause: CompactionCause, given: Partial<SpanInput> = {}) =>
  selectSpan({ nodes, cause, policy: policyOf(2_500), ratio: 1, ...given })

const seqs = (selected: ReturnType<typeof selectSpan>) =>
  selected.kind === 'span' ? selected.seqs : selected.reason

/** A prompt (seq 0) and ten answered calls of 1,000 tokens each: replies at odd seqs, results at even ones. */
function tenSteps() {
  const builder = surface().user('go', 'prompt', { tokens: 1_000 })
  for (let n = 1; n <= 10; n++) answered(builder, `c${n}`, 1_000)
  return builder
}
const upTo = (last: number) => Array.from({ length: last + 1 }, (_, seq) => seq)

test('B2 pressure takes the oldest whole units and leaves the tail', () => {
  const { nodes } = tenSteps()
  assert.deepEqual(select(nodes, 'pressure'), {
    kind: 'span',
    seqs: upTo(16),
    tokens: 9_000,
    from: 0,
    to: 16,
  })
})

test("the tail is counted in the provider's tokens: a higher ratio makes it shorter (faults G07, G08)", () => {
  const { nodes } = tenSteps()
  assert.deepEqual(seqs(select(nodes, 'pressure', { ratio: 2 })), upTo(18))
})

test('retainTokens 0 keeps only what the model has not yet seen (faults D02, G05)', () => {
  const { nodes } = tenSteps()
  assert.deepEqual(
    seqs(select(nodes, 'pressure', { policy: policyOf(0) })),
    upTo(18),
    'the newest step holds unseen results',
  )
  const answeredTurn = tenSteps().reply('done', [], { tokens: 50 }).user('next', 'prompt', { tokens: 50 })
  assert.deepEqual(seqs(select(answeredTurn.nodes, 'pressure', { policy: policyOf(0) })), upTo(21))
})

test('fault A05 what an ended turn left unanswered is taken for an overflow, and by a person who finds nothing else', () => {
  const left = surface().reply('hi').user('a huge prompt', 'prompt', { tokens: 30_000, turn: 2 })
  const { nodes } = left.user('a short one', 'prompt', { tokens: 10, turn: 3 })
  assert.deepEqual(seqs(select(nodes, 'context-overflow', { turn: 3 })), upTo(1))
  assert.equal(
    seqs(select(nodes, 'context-overflow', { turn: 2 })),
    'too-small',
    'the open turn keeps its own',
  )
  assert.equal(seqs(select(nodes, 'pressure', { turn: 3 })), 'too-small')
  const again = surface()
    .checkpoint('[Checkpoint]', { turn: null })
    .user('huge', 'prompt', { tokens: 30_000 })
  again.user('a short one', 'prompt', { tokens: 10, turn: 2 })
  assert.deepEqual(seqs(select(again.nodes, 'manual', { turn: null })), upTo(1))
})

test('B4 O6 the unanswered prompt is never in the span, whatever its size', () => {
  const { nodes } = tenSteps().reply('done').user('a huge paste', 'prompt', { tokens: 100_000 })
  for (const cause of ['pressure', 'context-overflow', 'manual', 'tool'] as const) {
    const found = seqs(select(nodes, cause))
    assert.ok(Array.isArray(found) && !found.includes(22), `${cause}: ${found}`)
  }
})

test('manual, tool and overflow keep the newest unit', () => {
  const { nodes } = tenSteps()
  for (const cause of ['manual', 'tool', 'context-overflow'] as const)
    assert.deepEqual(seqs(select(nodes, cause)), upTo(18), cause)
  const idle = tenSteps().reply('done', [], { tokens: 40_000 })
  assert.deepEqual(seqs(select(idle.nodes, 'manual')), upTo(20))
})

test('D2 at 25k of 200k tokens there is something useful for a person who asks', () => {
  const builder = surface()
  for (let n = 0; n < 25; n++)
    builder.user(`question ${n}`, 'prompt', { tokens: 200 }).reply('answer', [], { tokens: 800 })
  assert.equal(select(builder.nodes, 'manual', { policy: resolvePolicy({}, facts) }).kind, 'span')
})

test('D14 a session without a turn, of imported messages alone, can be compacted', () => {
  const builder = surface()
  for (let n = 0; n < 10; n++) builder.user(`page ${n}`, 'import', { tokens: 2_000 })
  assert.deepEqual(seqs(select(builder.nodes, 'manual')), upTo(8))
})

test('a reply that the provider paused is still open', () => {
  const { nodes } = tenSteps().reply('searching', [], { stopReason: 'pause_turn', tokens: 10 })
  assert.deepEqual(seqs(select(nodes, 'pressure', { policy: policyOf(0) })), upTo(20))
})

test('B11 nothing to take says why', () => {
  assert.equal(seqs(select([], 'manual')), 'empty')
  assert.equal(seqs(select(surface().user('hi').nodes, 'manual')), 'only-tail')
  assert.equal(seqs(select(surface().reply('', ['a']).result('a', 'x').nodes, 'manual')), 'only-tail')
  assert.equal(seqs(select(surface().user('u').reply('a').user('v').nodes, 'pressure')), 'only-tail')
})

test('B13 never only the checkpoint just written', () => {
  const { nodes } = surface()
    .checkpoint('[Checkpoint]', { tokens: 5_000 })
    .reply('', ['a'], { tokens: 10 })
    .result('a', 'x', { tokens: 90_000 })
  for (const cause of ['pressure', 'context-overflow', 'manual', 'tool'] as const)
    assert.equal(seqs(select(nodes, cause)), 'only-checkpoint', cause)
})

test('a checkpoint with a little behind it is not worth a call, with much it is merged', () => {
  const builder = surface().checkpoint('[Checkpoint]', { tokens: 5_000 })
  answered(builder, 'a', 300).reply('', ['b'], { tokens: 10 }).result('b', 'x', { tokens: 2_490 })
  assert.equal(seqs(select(builder.nodes, 'pressure')), 'too-small')
  answered(answered(answered(builder, 'c', 2_500), 'd', 2_500), 'e', 2_500)
  assert.deepEqual(seqs(select(builder.nodes, 'pressure')), upTo(8), 'the tail has room for one unit')
})

test('a span whose checkpoint would be as large as itself is not worth it', () => {
  const { nodes } = surface()
    .user('a', 'prompt', { tokens: 100 })
    .reply('b', [], { tokens: 100 })
    .user('c')
    .reply('d')
  assert.equal(seqs(select(nodes, 'manual')), 'too-small')
})

test('B14 one unit larger than the tail: the tail does not grow beyond it', () => {
  const builder = tenSteps()
  answered(builder, 'giant', 80_000)
  assert.deepEqual(seqs(select(builder.nodes, 'pressure')), upTo(20), 'unseen, it is all of the tail')
  builder.reply('seen', [], { tokens: 100 }).user('x', 'prompt', { tokens: 100 })
  assert.deepEqual(seqs(select(builder.nodes, 'pressure')), upTo(22), 'seen, it leaves with the span')
})

test('D03 forty results of 20k tokens in a window of 272k are compacted', () => {
  const builder = surface().user('go')
  for (let n = 0; n < 40; n++) answered(builder, `c${n}`, 20_000)
  const policy = resolvePolicy({}, { ...facts, contextWindow: 272_000 })
  const found = seqs(select(builder.nodes, 'pressure', { policy, ratio: 1.2 }))
  assert.ok(Array.isArray(found) && found.length === 1 + 2 * 39)
})

test('B04 the tail is what system, tools and checkpoint leave of the limit', () => {
  const { nodes } = tenSteps()
  const policy = resolvePolicy({ retainTokens: 5_000, thresholdTokens: 10_500 }, facts)
  assert.deepEqual(seqs(select(nodes, 'pressure', { policy })), upTo(10))
  assert.deepEqual(seqs(select(nodes, 'pressure', { policy, overheadTokens: 4_500 })), upTo(16))
  assert.deepEqual(seqs(select(nodes, 'pressure', { policy, overheadTokens: 50_000 })), upTo(18))
})

test('C05 a steering message between a call and its result is no place to cut', () => {
  const builder = tenSteps()
    .reply('', ['t1'], { tokens: 10 })
    .user('steer', 'prompt', { tokens: 10 })
    .result('t1', 'x', { tokens: 10 })
  builder.reply('ok', [], { tokens: 2_480 }).user('y', 'prompt', { tokens: 10 })
  assert.deepEqual(
    seqs(select(builder.nodes, 'pressure')),
    upTo(23),
    'the tail would hold the result, so its whole unit leaves',
  )
})

test('E1 a region is exactly what was asked for', () => {
  const { nodes } = tenSteps().reply('done')
  const region = select(nodes, 'region', { span: { start: 3, end: 8 } })
  assert.deepEqual(region, { kind: 'span', seqs: [3, 4, 5, 6, 7, 8], tokens: 3_000, from: 3, to: 8 })
})

/** The error of a refused region. */
function refusal(
  nodes: readonly SurfaceNode[],
  start: number,
  end: number,
): { message: string; details: Readonly<Record<string, unknown>> } {
  try {
    select(nodes, 'region', { span: { start, end } })
  } catch (error) {
    if (isSessionError(error, 'InvalidSpan')) return error
    throw error
  }
  assert.fail('the region was accepted')
}

test('E2 missing, shadowed or reversed ends are refused with both seqs', () => {
  const { nodes } = tenSteps().reply('done')
  assert.match(refusal(nodes, 3, 99).message, /from seq 3 to seq 99 is not on the surface: 99 is/)
  assert.match(refusal(nodes, 98, 99).message, /98 and 99/)
  assert.match(refusal(nodes, 7, 3).message, /from seq 7 to seq 3 is reversed/)
  assert.deepEqual(refusal(nodes, 7, 3).details, { start: 7, end: 3 })
})

test('E3 an end that splits a pair is refused with the call id', () => {
  const { nodes } = tenSteps().reply('done')
  assert.match(refusal(nodes, 0, 3).message, /separates call c2 from its result/)
  assert.deepEqual(refusal(nodes, 2, 8).details, { start: 2, end: 8, callId: 'c1' })
})

test('E4 a region may take an earlier checkpoint along, O6 but nothing that is unanswered', () => {
  const builder = surface().checkpoint('[Checkpoint]', { tokens: 3_000 })
  const { nodes } = answered(answered(builder, 'a', 2_000), 'b', 2_000)
    .reply('done', [], { tokens: 1_000 })
    .user('open')
  assert.deepEqual(seqs(select(nodes, 'region', { span: { start: 0, end: 4 } })), upTo(4))
  assert.match(refusal(nodes, 3, 6).message, /has not answered yet/)
  assert.equal(seqs(select(nodes, 'region', { span: { start: 0, end: 0 } })), 'only-checkpoint')
})

test('E5 position decides: after a replacement start may be greater than end', () => {
  const builder = surface().checkpoint('[Checkpoint]', { seq: 500, tokens: 500 })
  for (const seq of [20, 22, 24])
    builder
      .reply('', [`c${seq}`], { seq, tokens: 10 })
      .result(`c${seq}`, 'x', { seq: seq + 1, tokens: 2_000 })
  const { nodes } = builder.reply('done', [], { seq: 600 })
  assert.deepEqual(select(nodes, 'region', { span: { start: 500, end: 23 } }), {
    kind: 'span',
    seqs: [500, 20, 21, 22, 23],
    tokens: 4_520,
    from: 500,
    to: 23,
  })
})

test('fault G06 pictures of the user are not carried on in a checkpoint, so a few of them are worth a compaction', () => {
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
  const builder = surface()
  for (let n = 0; n < 4; n++)
    builder.user([{ type: 'text', text: `screen ${n}` }, picture], 'prompt', { tokens: 1_300 }).reply('seen')
  const { nodes } = builder.user('and now?')
  assert.deepEqual(seqs(select(nodes, 'context-overflow')), upTo(7))
})
