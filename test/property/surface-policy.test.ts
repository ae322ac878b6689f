import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type ModelFacts, resolvePolicy } from '../../src/shared/compaction/policy.ts'
import { resolvedPolicySchema } from '../../src/shared/compaction/policy-schema.ts'
import { PRESETS, type PresetName } from '../../src/shared/compaction/presets.ts'
import { isSessionError } from '../../src/shared/errors.ts'
import { runs } from './surface-arbitrary.ts'

const count = fc.oneof(fc.integer({ min: -1, max: 300_000 }), fc.constant(0))
const share = fc.double({ min: -0.1, max: 1.1, noNaN: false })
const settings = {
  auto: fc.boolean(),
  thresholdRatio: share,
  thresholdTokens: count,
  retainRatio: share,
  retainTokens: count,
  toolResultMaxTokens: count,
  summarizer: fc.oneof(
    fc.constant('deterministic'),
    fc.constant(null),
    fc.record({ provider: fc.constant('acme'), model: fc.constantFrom('m', 's') }),
  ),
  summaryMaxTokens: count,
  prune: fc.oneof(
    fc.constant(false),
    fc.record({ thresholdChars: count, headChars: count, tailChars: count }, { requiredKeys: [] }),
  ),
  micro: fc.oneof(
    fc.constant(false),
    fc.record({ keepLast: count, minReclaimTokens: count }, { requiredKeys: [] }),
  ),
  checkpointTokens: count,
  userTextTokens: count,
  replyMaxTokens: count,
  pins: fc.record(
    { texts: fc.array(fc.string({ maxLength: 3_000 }), { maxLength: 3 }) },
    { requiredKeys: [] },
  ),
  idleTimeout: fc.constantFrom<unknown>('never', '1h', 'x', 0, 1, -1),
}
const policy = fc.record(settings, { requiredKeys: [] })
const withModels = fc
  .tuple(policy, fc.option(policy))
  .map(([own, override]) =>
    override === null ? own : { ...own, models: [{ provider: 'acme', model: 'm', ...override }] },
  )
const size = fc.option(fc.integer({ min: 1, max: 1_200_000 }))
const model: fc.Arbitrary<ModelFacts | null> = fc.option(
  fc.record({
    provider: fc.constant('acme'),
    model: fc.constant('m'),
    contextWindow: size,
    maxOutputTokens: size,
  }),
)
const preset = fc.constantFrom(...(Object.keys(PRESETS) as PresetName[]))

/** The resolved policy, or null when it was refused as it must be. */
function resolveOrRefuse(...[raw, facts, name]: Parameters<typeof resolvePolicy>) {
  try {
    return resolvePolicy(raw, facts, name)
  } catch (error) {
    assert.ok(isSessionError(error, 'InvalidPolicy'), String(error))
    assert.ok(error.message.length > 10)
    return null
  }
}

test('A5 any policy is refused with a sentence, or resolves to numbers that do not contradict each other', () => {
  fc.assert(
    fc.property(withModels, model, preset, (raw, facts, name) => {
      const resolved = resolveOrRefuse(raw, facts, name)
      if (resolved === null) return
      assert.deepEqual(resolvedPolicySchema.parse(resolved), resolved)
      const { contextWindow, pressureTokens, replyMaxTokens, retainTokens, checkpointLimitTokens, prune } =
        resolved
      if (contextWindow !== null && pressureTokens !== null)
        assert.ok(pressureTokens + replyMaxTokens + 2_048 <= contextWindow)
      if (pressureTokens !== null) {
        assert.ok(retainTokens < pressureTokens)
        assert.ok(checkpointLimitTokens <= Math.max(1, pressureTokens / 4))
      }
      assert.ok(resolved.checkpointTokens + resolved.userTextTokens <= checkpointLimitTokens + 1)
      if (prune !== null) assert.ok(prune.headChars + prune.tailChars < prune.thresholdChars)
    }),
    runs(2_000),
  )
})

test('A5 whatever is given as a policy: refused or resolved, never another error', () => {
  fc.assert(
    fc.property(
      fc.anything({ withNullPrototype: true, withBigInt: true, withSet: true }),
      (raw) => void resolveOrRefuse(raw, null),
    ),
    runs(1_000),
  )
})

test('resolving is stable: the same policy gives the same numbers, whatever the order of its keys', () => {
  fc.assert(
    fc.property(policy, (raw) => {
      const turned = Object.fromEntries(Object.entries(raw).toReversed())
      const facts = { provider: 'acme', model: 'm', contextWindow: 200_000, maxOutputTokens: null }
      assert.deepEqual(resolveOrRefuse(turned, facts), resolveOrRefuse(raw, facts))
    }),
    runs(300),
  )
})
