import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { initialMeter, type MeterState } from '../../src/shared/compaction/meter.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import type { PolicyInput } from '../../src/shared/compaction/policy-input.ts'
import { type PreviewInput, previewCompaction } from '../../src/shared/compaction/preview.ts'
import type { Header, SurfaceNode } from '../../src/shared/session/events.ts'
import { answered, surface } from './surface-builder.ts'

const facts = { provider: 'acme', model: 'm', contextWindow: 200_000, maxOutputTokens: 64_000 }
const headerOf = (policy: PolicyInput): Header => ({
  provider: 'acme',
  model: 'm',
  system: '',
  tools: [],
  sampling: {},
  policy: resolvePolicy(policy, facts),
})
const exact: MeterState = { ...initialMeter(), ratios: { 'acme/m': 1, 'acme/other': 2 } }
/** Four characters a token. */
const countTokens = (value: string) => Math.ceil(value.length / 4)

/** A prompt (seq 0) and ten answered calls of 1,000 tokens each: replies at odd seqs, results at even ones. */
function tenSteps(tokens = 1_000) {
  const builder = surface().user('Make the uploader retry.', 'prompt', { tokens })
  for (let n = 1; n <= 10; n++) answered(builder, `c${n}`, tokens)
  return builder.reply('done', [], { tokens: 100 }).nodes
}

const preview = (
  nodes: readonly SurfaceNode[],
  policy: PolicyInput = {},
  more: Partial<PreviewInput> = {},
) => {
  const header = headerOf(policy)
  return previewCompaction({
    header,
    surface: { head: 50, generation: 2, nodes },
    meter: exact,
    replies: 11,
    overheadTokens: 400,
    price: (content) => countTokens(JSON.stringify(content)),
    nowMs: 0,
    sourceOf: async (chosen) => ({
      nodes: chosen,
      previous: [],
      pinEvents: [],
      policy: header.policy,
      countTokens,
    }),
    ...more,
  })
}

async function compacted(...input: Parameters<typeof preview>) {
  const found = await preview(...input)
  return found.outcome === 'compacted' ? found : assert.fail(found.reason)
}

describe('a preview', () => {
  test('of nothing says why, and how much there is', async () => {
    assert.deepEqual(await preview([]), { outcome: 'nothing', reason: 'empty', tokensBefore: 400 })
  })

  test('names the span, what stays, and the sizes before and after', async () => {
    const nodes = tenSteps()
    const found = await compacted(nodes, { summarizer: 'deterministic' })
    assert.deepEqual(found.span, { start: 0, end: 20 })
    assert.deepEqual(
      [found.messages, found.kept, found.spanTokens, found.tokensBefore],
      [21, 1, 11_000, 11_500],
    )
    assert.ok(found.checkpointTokens > 100 && found.checkpointTokens < 1_000, `${found.checkpointTokens}`)
    const price = found.tokensAfter - 400 - 100
    assert.ok(price >= found.checkpointTokens && price < 1.2 * found.checkpointTokens, `${price}`)
    assert.equal(found.lost.counts['tool/result'], 10)
    assert.deepEqual(
      [found.model, found.calls, found.usage],
      [null, 0, { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }],
    )
  })

  test('of a region takes what was asked for, and keeps both sides of it', async () => {
    const found = await compacted(
      tenSteps(),
      { summarizer: 'deterministic' },
      { span: { start: 3, end: 12 } },
    )
    assert.deepEqual(
      [found.span, found.messages, found.kept, found.spanTokens],
      [{ start: 3, end: 12 }, 10, 12, 5_000],
    )
    await assert.rejects(preview(tenSteps(), {}, { span: { start: 12, end: 3 } }), { name: 'InvalidSpan' })
  })
})

describe('what a summary would cost', () => {
  test("the session's own model reads the conversation once more, and writes what is asked for", async () => {
    const { usage, model, calls, tokensBefore } = await compacted(tenSteps())
    assert.deepEqual([model, calls], ['acme/m', 1])
    assert.deepEqual(usage, {
      inputTokens: tokensBefore + 700,
      outputTokens: usage.outputTokens,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    })
    assert.ok(usage.outputTokens > 500 && usage.outputTokens <= 1_800, `${usage.outputTokens}`)
    const focused = await compacted(tenSteps(), {}, { focus: 'x'.repeat(400) })
    assert.equal(focused.usage.outputTokens, usage.outputTokens + 100)
  })

  test('what the cache holds is read from it: of the same model and surface, and no more than there is', async () => {
    const anchored = (over: object = {}): Partial<PreviewInput> => ({
      meter: {
        ...exact,
        anchor: {
          contextTokens: 9_000,
          headSeq: 50,
          replyTokens: 0,
          overheadTokens: 400,
          generation: 2,
          modelKey: 'acme/m',
          ...over,
        },
      },
    })
    const cached = await compacted(tenSteps(), {}, anchored())
    assert.deepEqual(
      [cached.tokensBefore, cached.usage.cacheReadTokens, cached.usage.inputTokens],
      [9_000, 9_000, 700],
    )
    const grown = await compacted(tenSteps(), {}, anchored({ headSeq: 21 }))
    assert.deepEqual(
      [grown.tokensBefore, grown.usage.cacheReadTokens, grown.usage.inputTokens],
      [9_100, 9_000, 800],
    )
    for (const other of [{ generation: 1 }, { modelKey: 'acme/other' }]) {
      const { usage } = await compacted(tenSteps(), {}, anchored(other))
      assert.equal(usage.cacheReadTokens, 0, JSON.stringify(other))
    }
  })

  test("another model reads the span, in its own tokens, and nothing from the session's cache", async () => {
    const own = await compacted(tenSteps())
    const found = await compacted(tenSteps(), { summarizer: { provider: 'acme', model: 'other' } })
    assert.deepEqual([found.model, found.calls], ['acme/other', 1])
    assert.deepEqual(found.usage, {
      inputTokens: 2 * (11_000 + 400) + 2 * 700,
      outputTokens: 2 * own.usage.outputTokens,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    })
  })

  test('a span in parts takes a call for each, and one that reads their notes', async () => {
    const nodes = tenSteps(20_000)
    const { calls, usage, spanTokens } = await compacted(nodes, { auto: false })
    assert.ok(calls >= 3, `${calls} calls`)
    const parts = calls - 1
    assert.equal(usage.inputTokens, spanTokens + parts * 400 + usage.outputTokens + calls * 700)
    assert.equal(usage.outputTokens % calls, 0)
    assert.equal(usage.cacheReadTokens, 0)
  })
})
