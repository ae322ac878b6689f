import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { planChunks } from '../../src/shared/compaction/chunks.ts'
import { planMicro } from '../../src/shared/compaction/micro.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import {
  measureContent,
  planPrune,
  pruneContent,
  type ShadowCopy,
  shadowEvents,
} from '../../src/shared/compaction/prune.ts'
import { selectSpan } from '../../src/shared/compaction/span.ts'
import { firstUnseen } from '../../src/shared/compaction/tail.ts'
import { isText } from '../../src/shared/session/content.ts'
import type { SurfaceNode } from '../../src/shared/session/events.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import {
  toolPairingBalancedAfter,
  toolPairingBalancedBefore,
  unitsOf,
} from '../../src/shared/session/tool-pairing.ts'
import { type SurfaceBuilder, surface } from '../pure/surface-builder.ts'
import { anySurface, runs, soundSurface } from './surface-arbitrary.ts'

const facts = { provider: 'acme', model: 'm', contextWindow: 64_000, maxOutputTokens: null }
const cause = fc.constantFrom(
  'pressure' as const,
  'context-overflow' as const,
  'manual' as const,
  'tool' as const,
)
const retain = fc.integer({ min: 0, max: 20_000 })

test('any cut by selectSpan is balanced, keeps what the model has not seen, and leaves valid requests on both sides', () => {
  fc.assert(
    fc.property(
      soundSurface,
      cause,
      retain,
      fc.double({ min: 0.9, max: 2.2, noNaN: true }),
      (builder, why, retainTokens, ratio) => {
        const { nodes } = builder
        const selected = selectSpan({
          nodes,
          cause: why,
          policy: resolvePolicy({ retainTokens }, facts),
          ratio,
        })
        if (selected.kind === 'nothing') return
        const length = selected.seqs.length
        assert.deepEqual(
          selected.seqs,
          nodes.slice(0, length).map(({ seq }) => seq),
        )
        assert.equal(
          selected.tokens,
          nodes.slice(0, length).reduce((sum, { tokens }) => sum + tokens, 0),
        )
        assert.ok(
          toolPairingBalancedBefore(nodes, selected.from) && toolPairingBalancedAfter(nodes, selected.to),
        )
        assert.ok(length <= firstUnseen(nodes))
        const prompt = surface().user('and now?').nodes
        const compacted = [...surface().checkpoint('[Checkpoint]').nodes, ...nodes.slice(length), ...prompt]
        for (const part of [compacted, [...nodes.slice(0, length), ...prompt]]) {
          assert.deepEqual(requestProblems(deriveMessages(part), { surface: part }), [])
        }
      },
    ),
    runs(1_000),
  )
})

test('selectSpan never throws on a damaged surface, and cuts it at units', () => {
  fc.assert(
    fc.property(anySurface, cause, ({ nodes }, why) => {
      const selected = selectSpan({ nodes, cause: why, policy: resolvePolicy({}, facts), ratio: 1.2 })
      if (selected.kind === 'span')
        assert.ok(unitsOf(nodes).some(({ to }) => to === selected.seqs.length - 1))
    }),
    runs(500),
  )
})

const settings = fc
  .record({
    thresholdChars: fc.integer({ min: 1, max: 300 }),
    headChars: fc.integer({ min: 0, max: 150 }),
    tailChars: fc.integer({ min: 0, max: 150 }),
  })
  .filter(({ thresholdChars, headChars, tailChars }) => headChars + tailChars < thresholdChars)
const pieces = fc.array(
  fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }).map((text) => ({ type: 'text', text })),
    fc.constant({ type: 'image', source: {} }),
  ),
  { maxLength: 5 },
)

test('G6 pruning keeps head, tail and rich blocks, breaks no surrogate pair, and makes it shorter', () => {
  fc.assert(
    fc.property(pieces, settings, (blocks, sizes) => {
      const pruned = pruneContent(blocks, sizes, 412)
      if (pruned === null) return
      const whole = [...blocks.map((block) => ('text' in block ? String(block.text) : '')).join('')]
      const kept = pruned
        .filter(isText)
        .map(({ text }) => text)
        .join('\n')
      assert.ok(measureContent(pruned) < measureContent(blocks))
      assert.ok(
        kept.replaceAll('\n', '').startsWith(whole.slice(0, sizes.headChars).join('').replaceAll('\n', '')),
      )
      assert.ok(
        kept.replaceAll('\n', '').endsWith(
          whole
            .slice(whole.length - sizes.tailChars)
            .join('')
            .replaceAll('\n', ''),
        ),
      )
      assert.ok(
        kept.includes(
          `[… ${whole.length - sizes.headChars - sizes.tailChars} characters left out; the whole is event #412 …]`,
        ),
      )
      assert.deepEqual(
        pruned.filter((block) => !isText(block)),
        blocks.filter((block) => !('text' in block)),
      )
      const lone = (value: string) => value.match(/\p{Surrogate}/gu)?.length ?? 0
      assert.ok(lone(kept) <= lone(whole.join('')), 'no new lone surrogate')
    }),
    runs(1_000),
  )
})

const policy = {
  ...resolvePolicy({ retainTokens: 0 }, facts),
  prune: { thresholdChars: 200, headChars: 20, tailChars: 10, preserve: ['read_file'] },
  micro: { keepLast: 2, preserve: ['search_files'], minReclaimTokens: 0 },
}

const applyAll = (builder: SurfaceBuilder, copies: readonly ShadowCopy[]): void => {
  for (const copy of copies) builder.replaceByCopy(shadowEvents(copy, 12, { turn: null, step: null })[1])
}

test('G8 prune and micro are idempotent, touch only seen results, and keep every pair', () => {
  fc.assert(
    fc.property(soundSurface, fc.boolean(), (builder, unseen) => {
      const before = [...builder.nodes]
      const pruned = planPrune(builder.nodes, policy, { unseen })
      applyAll(builder, pruned)
      const cleared = planMicro(builder.nodes, policy)
      applyAll(builder, cleared)
      assert.deepEqual(planPrune(builder.nodes, policy, { unseen }), [])
      const seen = before.slice(0, firstUnseen(before))
      for (const { target } of [...(unseen ? [] : pruned), ...cleared])
        assert.ok(seen.some((node) => node.seq === target.seq))
      if (!unseen) assert.ok(pruned.every(({ target }) => target.data.name !== 'read_file'))
      assert.ok(cleared.every(({ target }) => target.data.name !== 'search_files' && !target.data.isError))
      assert.deepEqual(planMicro(builder.nodes, policy), [])
      assert.deepEqual(shape(builder.nodes), shape(before))
      const request = builder.user('and now?').nodes
      assert.deepEqual(requestProblems(deriveMessages(request), { surface: request }), [])
    }),
    runs(500),
  )
})

/** All of a surface but the content of its results. */
const shape = (nodes: readonly SurfaceNode[]) =>
  nodes.map((node) => (node.type === 'tool/result' ? { ...node.data, content: null } : node.data))

test('chunks cover the span in order, are balanced, and are within the limit unless one unit is larger', () => {
  fc.assert(
    fc.property(soundSurface, fc.integer({ min: 500, max: 30_000 }), ({ nodes }, limit) => {
      const ends = planChunks(nodes, limit).map((seq) => nodes.findIndex((node) => node.seq === seq))
      assert.equal(ends.at(-1), nodes.length - 1)
      assert.deepEqual(
        ends,
        [...new Set(ends)].toSorted((a, b) => a - b),
      )
      const units = unitsOf(nodes)
      let from = 0
      for (const end of ends) {
        const inside = units.filter((unit) => unit.from >= from && unit.to <= end)
        assert.equal(inside.at(-1)?.to, end)
        assert.ok(inside.length === 1 || inside.reduce((sum, { tokens }) => sum + tokens, 0) <= limit)
        from = end + 1
      }
    }),
    runs(500),
  )
})
