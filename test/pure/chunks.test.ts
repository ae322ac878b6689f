import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunkLimit, planChunks } from '../../src/shared/compaction/chunks.ts'
import { answered, surface } from './surface-builder.ts'

function steps(sizes: readonly number[]) {
  const builder = surface()
  for (const [index, size] of sizes.entries()) answered(builder, `c${index}`, size)
  return builder.nodes
}

test('a span that fits is one chunk', () => {
  assert.deepEqual(planChunks(steps([1_000, 1_000]), 2_000), [3])
  assert.deepEqual(planChunks(steps([1_000, 1_000]), Number.POSITIVE_INFINITY), [3])
  assert.deepEqual(planChunks([], 1_000), [])
})

test('a longer one is cut at units, into chunks of about the same size', () => {
  assert.deepEqual(planChunks(steps([1_000, 1_000, 1_000, 1_000]), 3_000), [3, 7])
  assert.deepEqual(planChunks(steps([1_000, 1_000, 1_000, 1_000, 1_000]), 2_000), [3, 7, 9])
})

test('parallel calls stay together', () => {
  const { nodes } = surface()
    .reply('', ['a', 'b'], { tokens: 10 })
    .result('a', 'x', { tokens: 900 })
    .result('b', 'x', { tokens: 900 })
    .user('y', 'prompt', { tokens: 900 })
  assert.deepEqual(planChunks(nodes, 1_000), [2, 3])
})

test('a unit larger than a chunk stands alone', () => {
  assert.deepEqual(planChunks(steps([500, 9_000, 500]), 1_000), [1, 3, 5])
})

test('the ends are seqs in surface order, also after a replacement', () => {
  const { nodes } = surface()
    .checkpoint('[Checkpoint]', { seq: 90, tokens: 900 })
    .user('x', 'prompt', { seq: 20, tokens: 900 })
  assert.deepEqual(planChunks(nodes, 1_000), [90, 20])
})

const policy = {
  summarizer: { provider: 'acme', model: 'm' },
  summarizerWindow: 32_000 as number | null,
  summaryMaxTokens: 8_192,
} as const

test('H3 a chunk fits the window of the summarizer, with its reply, system and tools', () => {
  assert.equal(chunkLimit(policy, { ratio: 1, overheadTokens: 4_000 }), 32_000 - 8_192 - 2_048 - 4_000)
  assert.equal(chunkLimit(policy, { ratio: 2 }), (32_000 - 8_192 - 2_048) / 2)
  assert.equal(chunkLimit(policy), Math.floor((32_000 - 8_192 - 2_048) / 1.2))
})

test('without a known window, and for code, a span is one chunk; a chunk is never tiny', () => {
  assert.equal(chunkLimit({ ...policy, summarizerWindow: null }), Number.POSITIVE_INFINITY)
  assert.equal(chunkLimit({ ...policy, summarizer: 'deterministic' }), Number.POSITIVE_INFINITY)
  assert.equal(chunkLimit({ ...policy, summarizerWindow: 9_000 }), 1_000)
})
