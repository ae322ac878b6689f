import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Checkpoint, planCheckpoint } from '../../src/shared/compaction/checkpoint.ts'
import { checkpointStateSchema } from '../../src/shared/compaction/checkpoint-state.ts'
import type { ResolvedPolicy } from '../../src/shared/compaction/policy-schema.ts'
import { text } from '../../src/shared/session/content.ts'
import { lostSchema, type SessionEvent, type SurfaceNode } from '../../src/shared/session/events.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { checkpointOf, nodeBuilder, pageOf, summaryEvent, testPolicy } from '../pure/checkpoint-fixtures.ts'
import { anySession, anyText, nodesOf, propertyRuns } from './checkpoint-arbitraries.ts'

const WINDOWS = [16_000, 32_000, 200_000, 1_000_000]
const RULE = 'Answer in Spanish.\n```\n## Summary\n```'
const policies = fc
  .record({
    window: fc.constantFrom(...WINDOWS),
    framePrefix: fc.constantFrom('', '[compressed]'),
    pinned: fc.boolean(),
  })
  .map(({ window, framePrefix, pinned }) =>
    testPolicy({ framePrefix, pins: { texts: pinned ? [RULE] : [], tools: ['read_rules'] } }, window),
  )
const summaries = fc.option(
  anyText.map((value) => [text(value)]),
  { nil: null },
)

interface Made {
  readonly nodes: readonly SurfaceNode[]
  readonly policy: ResolvedPolicy
  readonly previous: readonly SessionEvent<'compact/summary'>[]
  readonly checkpoint: Checkpoint
}

function assertSound({ nodes, policy, previous, checkpoint }: Made): void {
  const page = pageOf(checkpoint)
  const { pins, tokens: pinTokens } = planCheckpoint({
    nodes,
    previous,
    pinEvents: [],
    policy,
    countTokens,
  }).pins
  for (const pin of pins) assert.ok(page.includes(pin.text), `pin ${pin.id} is missing`)
  assert.equal(page.search(/\p{Surrogate}/u), -1, 'ill-formed')
  const spanTokens = nodes.reduce((sum, node) => sum + node.tokens, 0)
  const fixedTokens = pinTokens + pins.length * 20 + 300
  const limit = Math.max(fixedTokens, Math.min(policy.checkpointLimitTokens, 0.9 * spanTokens))
  assert.ok(
    checkpoint.tokens <= limit,
    `${checkpoint.tokens} tokens, allowed are ${limit} for a span of ${spanTokens}`,
  )
  const outsidePins = pins.reduce((rest, pin) => rest.replace(pin.text, () => ''), page)
  assert.equal(
    outsidePins.split('\n').filter((line) => line.startsWith('[Checkpoint written by code')).length,
    1,
  )
  assert.deepEqual(checkpointStateSchema.parse(checkpoint.ledger), checkpoint.ledger)
  assert.deepEqual(lostSchema.parse(checkpoint.lost), checkpoint.lost)
}

test('O14 H5 any span: within budget, pins byte for byte, well-formed, one frame, state and loss by their schemas', () => {
  fc.assert(
    fc.property(anySession, policies, summaries, (session, policy, summary) => {
      const nodes = nodesOf(session, 2)
      assertSound({ nodes, policy, previous: [], checkpoint: checkpointOf(nodes, { policy, summary }) })
    }),
    propertyRuns(150),
  )
})

const GENERATIONS = 20
/** JSON of 800 items and of the words that a page shows. */
const MOST_STATE_CHARS = 400_000

test('H7 H6 20 compactions in a row: pins byte-identical, state bounded, each checkpoint within its budget', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(anySession, summaries), { minLength: GENERATIONS, maxLength: GENERATIONS }),
      policies,
      (generations, policy) => {
        const { user } = nodeBuilder(2)
        const kept = 'Keep the public API.\n  Never push\tto main.'
        let nodes: SurfaceNode[] = [user(`Start. <keep>${kept}</keep>`)]
        let previous: SessionEvent<'compact/summary'>[] = []
        let seq = 3
        let replaced = 0
        for (const [generation, [session, summary]] of generations.entries()) {
          const fresh = nodesOf(session, seq)
          seq += fresh.length + 3
          nodes = [...nodes, ...fresh]
          replaced += fresh.length
          const checkpoint = checkpointOf(nodes, { policy, summary, previous })
          assertSound({ nodes, policy, previous, checkpoint })
          assert.ok(pageOf(checkpoint).includes(`\n${kept}\n`), `generation ${generation}`)
          assert.equal(checkpoint.ledger.covers.messages, replaced + 1)
          assert.equal(checkpoint.ledger.covers.firstSeq, 2)
          assert.ok(JSON.stringify(checkpoint.ledger).length <= MOST_STATE_CHARS)
          const id = `g${generation}`
          previous = [summaryEvent(id, seq - 1, checkpoint, summary ?? [])]
          nodes = [nodeBuilder(seq++).checkpoint(id, checkpoint.content)]
        }
      },
    ),
    propertyRuns(8),
  )
})
