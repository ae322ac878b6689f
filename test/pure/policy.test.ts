import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ModelFacts, resolvePolicy } from '../../src/shared/compaction/policy.ts'
import type { PolicyInput } from '../../src/shared/compaction/policy-input.ts'
import { resolvedPolicySchema, summaryModels } from '../../src/shared/compaction/policy-schema.ts'
import { PRESETS, type PresetName } from '../../src/shared/compaction/presets.ts'

const opus: ModelFacts = {
  provider: 'anthropic',
  model: 'claude-opus-5-5',
  contextWindow: 200_000,
  maxOutputTokens: 64_000,
}
const withWindow = (contextWindow: number | null): ModelFacts => ({ ...opus, contextWindow })
const resolve = (policy: PolicyInput = {}, model: ModelFacts | null = opus) => resolvePolicy(policy, model)

test('A1 an empty policy gives the documented defaults, complete and frozen', () => {
  const policy = resolve()
  assert.deepEqual(policy, {
    auto: true,
    contextWindow: 200_000,
    replyMaxTokens: 16_384,
    pressureTokens: 160_000,
    retainTokens: 32_000,
    toolResultMaxTokens: 25_000,
    summarizer: { provider: 'anthropic', model: 'claude-opus-5-5' },
    summarizerWindow: 200_000,
    summarizerFallbacks: [],
    summaryFallback: 'overflow',
    summaryMaxTokens: 8_192,
    compactionRetries: 1,
    maxOverflowRetries: 1,
    prune: { thresholdChars: 8_192, headChars: 4_096, tailChars: 1_024, preserve: ['read_file'] },
    micro: { keepLast: 3, preserve: ['read_file'], minReclaimTokens: 20_000 },
    compactTool: true,
    historyTool: true,
    checkpointTokens: 5_000,
    userTextTokens: 8_000,
    checkpointLimitTokens: 15_000,
    pins: { texts: [], tools: [] },
    minGainRatio: 0.1,
    breaker: { maxIneffectivePasses: 3, skipSteps: [2, 4], holdMs: 3_600_000 },
    archive: null,
    framePrefix: '',
    idleTimeoutMs: 86_400_000,
  })
  assert.deepEqual(resolvedPolicySchema.parse(policy), policy)
  const values: unknown[] = [policy]
  for (const value of values) {
    if (typeof value !== 'object' || value === null) continue
    assert.ok(Object.isFrozen(value), JSON.stringify(value))
    values.push(...Object.values(value))
  }
  assert.deepEqual(resolvePolicy(undefined, opus), policy)
  assert.deepEqual(resolvePolicy(null, opus), policy)
})

test('A2 one form given: its sibling is removed, the other setting keeps its default', () => {
  const absolute = resolve({ thresholdTokens: 100_000 })
  assert.deepEqual([absolute.pressureTokens, absolute.retainTokens], [100_000, 32_000])
  const retain = resolve({ retainTokens: 5_000 })
  assert.deepEqual([retain.pressureTokens, retain.retainTokens], [160_000, 5_000])
  const ratios = resolve({ thresholdRatio: 0.5, retainRatio: 0.1 })
  assert.deepEqual([ratios.pressureTokens, ratios.retainTokens], [100_000, 20_000])
  const lean = resolvePolicy({ thresholdRatio: 0.9 }, withWindow(1_000_000), 'lean')
  assert.equal(lean.pressureTokens, 900_000, 'the policy lies over the preset')
  const low = resolve({ thresholdTokens: 5_000 })
  assert.ok(low.retainTokens <= 2_500, 'a default never contradicts a low threshold')
})

test('A3 an exact provider and model is merged field by field, another provider is untouched', () => {
  const policy: PolicyInput = {
    thresholdRatio: 0.7,
    micro: { keepLast: 5 },
    models: [
      {
        provider: 'acme',
        model: 'm',
        contextWindow: 50_000,
        maxOutputTokens: 4_000,
        thresholdTokens: 20_000,
        micro: { minReclaimTokens: 1 },
      },
    ],
  }
  const acme = resolve(policy, {
    provider: 'acme',
    model: 'm',
    contextWindow: 200_000,
    maxOutputTokens: null,
  })
  assert.deepEqual(
    [
      acme.contextWindow,
      acme.replyMaxTokens,
      acme.pressureTokens,
      acme.retainTokens,
      acme.micro?.keepLast,
      acme.micro?.minReclaimTokens,
    ],
    [50_000, 4_000, 20_000, 8_000, 5, 1],
  )
  const other = resolve(policy, {
    provider: 'other',
    model: 'm',
    contextWindow: 200_000,
    maxOutputTokens: null,
  })
  assert.deepEqual([other.pressureTokens, other.micro?.minReclaimTokens], [140_000, 20_000])
  assert.equal(resolve({ models: [{ provider: 'acme', model: 'm2', auto: false }] }).auto, true)
})

test('A3 ratios scale with the window, the default tail stops at 40,000', () => {
  assert.deepEqual(
    [32_000, 200_000, 1_000_000].map((window) => resolve({}, withWindow(window)).retainTokens),
    [5_120, 32_000, 40_000],
  )
  assert.equal(resolve({ retainRatio: 0.3 }, withWindow(1_000_000)).retainTokens, 300_000)
  assert.deepEqual(
    [32_000, 200_000, 1_000_000].map((window) => resolve({}, withWindow(window)).toolResultMaxTokens),
    [4_800, 25_000, 25_000],
  )
})

test('A4 the summarizer is inherited, cleared or replaced as a pair', () => {
  const small = { provider: 'acme', model: 'small' }
  assert.deepEqual(resolve({ summarizer: small }).summarizer, small)
  assert.equal(resolve({ summarizer: small }).summarizerWindow, null)
  assert.equal(
    resolve({ summarizer: small, models: [{ ...small, contextWindow: 64_000 }] }).summarizerWindow,
    64_000,
  )
  const override = { provider: opus.provider, model: opus.model }
  assert.deepEqual(resolve({ summarizer: small, models: [override] }).summarizer, small)
  assert.deepEqual(
    resolve({ summarizer: small, models: [{ ...override, summarizer: null }] }).summarizer,
    override,
  )
  assert.deepEqual(resolve({ models: [{ ...override, summarizer: small }] }).summarizer, small)
  assert.equal(resolve({ summarizer: 'deterministic' }).summarizer, 'deterministic')
  assert.equal(
    resolve({ summarizer: small }, null).summarizer,
    'deterministic',
    'without a model nobody is asked',
  )
})

test('H3 the window of a summarizer of its own: the policy says it, else its client', () => {
  const small = { provider: 'acme', model: 'small' }
  const facts = [{ ...small, contextWindow: 32_000, maxOutputTokens: 4_000 }]
  const asked = resolvePolicy({ summarizer: small }, opus, 'default', facts)
  assert.deepEqual(
    [asked.summarizerWindow, asked.summaryMaxTokens, asked.contextWindow],
    [32_000, 4_000, 200_000],
  )
  const said = resolvePolicy(
    { summarizer: small, models: [{ ...small, contextWindow: 16_000 }] },
    opus,
    'default',
    facts,
  )
  assert.equal(said.summarizerWindow, 16_000)
  assert.equal(
    resolvePolicy({}, opus, 'default', facts).summarizerWindow,
    200_000,
    'its own model needs no facts',
  )
})

test('A4 models to fall back on for summaries: none by default; each with its window, of the policy, else of its client', () => {
  const [b, c] = [
    { provider: 'acme', model: 'b' },
    { provider: 'other', model: 'c' },
  ]
  const own = { provider: opus.provider, model: opus.model }
  const facts = [
    { ...c, contextWindow: 64_000, maxOutputTokens: null },
    { ...b, contextWindow: 32_000, maxOutputTokens: 4_000 },
  ]
  const found = (policy: PolicyInput, model: ModelFacts | null = opus) =>
    resolvePolicy(policy, model, 'default', facts).summarizerFallbacks
  assert.deepEqual(found({}), [])
  assert.deepEqual(resolve({ summarizerFallbacks: [b] }).summarizerFallbacks, [{ ...b, window: null }])
  assert.deepEqual(found({ summarizerFallbacks: [b, c] }), [
    { ...b, window: 32_000 },
    { ...c, window: 64_000 },
  ])
  assert.deepEqual(found({ summarizerFallbacks: [b], models: [{ ...b, contextWindow: 16_000 }] }), [
    { ...b, window: 16_000 },
  ])
  assert.deepEqual(
    found({ summarizer: b, summarizerFallbacks: [own] }),
    [{ ...own, window: 200_000 }],
    'the session’s own model, behind a cheaper one',
  )
  assert.deepEqual(
    found({ summarizerFallbacks: [b], models: [{ ...own, summarizerFallbacks: [c, b] }] })?.map(
      ({ model }) => model,
    ),
    ['c', 'b'],
    'the override for the session’s model replaces the whole list',
  )
  assert.deepEqual(found({ summarizerFallbacks: [b] }, null), [], 'without a model nobody is asked')
  assert.equal(resolvePolicy({ summarizerFallbacks: [b] }, opus, 'default', facts).summaryMaxTokens, 8_192)
})

test('a header of a log that is older than the list of models reads as one without', () => {
  const { summarizerFallbacks: _, ...older } = resolve()
  assert.deepEqual(resolvedPolicySchema.parse(older), older)
  assert.deepEqual(summaryModels(older), [
    { provider: opus.provider, model: opus.model, window: opus.contextWindow },
  ])
  assert.deepEqual(summaryModels(resolve({ summarizer: 'deterministic' })), [])
})

test('A7 `auto` false turns off everything that acts by itself, whatever its own setting says', () => {
  const policy = resolve({ auto: false, compactTool: true, maxOverflowRetries: 3, micro: { keepLast: 1 } })
  const { pressureTokens, micro, prune, maxOverflowRetries, compactTool } = policy
  assert.deepEqual(
    { pressureTokens, micro, prune, maxOverflowRetries, compactTool },
    { pressureTokens: null, micro: null, prune: null, maxOverflowRetries: 0, compactTool: false },
  )
  assert.equal(policy.checkpointTokens, 5_000, 'manual compaction keeps its budget')
  assert.equal(policy.historyTool, false)
  assert.equal(resolve({ auto: false, historyTool: true }).historyTool, true, 'reading back changes nothing')
})

test('A8 without a window pressure is off unless a threshold is given; recovery stays on', () => {
  const unknown = resolve({}, withWindow(null))
  assert.deepEqual(
    [unknown.pressureTokens, unknown.maxOverflowRetries, unknown.contextWindow],
    [null, 1, null],
  )
  assert.equal(resolve({ thresholdTokens: 90_000 }, withWindow(null)).pressureTokens, 90_000)
  assert.equal(resolve({}, null).pressureTokens, null)
})

test('B5 the reply counts once: the limit is min(threshold, window - reply - 2,048)', () => {
  assert.equal(resolve({}, withWindow(32_000)).pressureTokens, 32_000 - 8_000 - 2_048)
  const long = resolve({ replyMaxTokens: 128_000 }, { ...opus, maxOutputTokens: 128_000 })
  assert.equal(long.pressureTokens, 200_000 - 128_000 - 2_048)
  assert.ok(
    long.retainTokens + long.checkpointLimitTokens < 0.7 * 69_952,
    'a compaction leaves room for some steps',
  )
})

test("the reply is at most the model's limit, 16,384 and a quarter of the window", () => {
  const reply = (contextWindow: number | null, maxOutputTokens: number | null) =>
    resolve({}, { ...opus, contextWindow, maxOutputTokens }).replyMaxTokens
  assert.deepEqual(
    [reply(200_000, 4_096), reply(1_000_000, 64_000), reply(32_000, 64_000), reply(null, null)],
    [4_096, 16_384, 8_000, 16_384],
  )
})

test('a checkpoint is at most a quarter of the threshold', () => {
  for (const window of [8_000, 16_000, 32_000, 64_000, 200_000]) {
    const { pressureTokens, checkpointTokens, userTextTokens, checkpointLimitTokens } = resolve(
      {},
      withWindow(window),
    )
    assert.ok(checkpointLimitTokens <= (pressureTokens ?? 0) / 4)
    assert.ok(
      checkpointTokens + userTextTokens <= checkpointLimitTokens,
      `${window}: ${checkpointTokens} + ${userTextTokens}`,
    )
  }
})

test('settings that are turned off, and durations', () => {
  assert.equal(resolve({ prune: false }).prune, null)
  assert.equal(resolve({ micro: false }).micro, null)
  assert.deepEqual(resolve({ micro: false }).prune?.preserve, ['read_file'])
  assert.deepEqual(
    resolve({ micro: { preserve: ['a'] } }).prune?.preserve,
    ['a'],
    'prune honours the list of micro',
  )
  assert.deepEqual(resolve({ micro: { preserve: ['a'] }, prune: { preserve: [] } }).prune?.preserve, [])
  const pinned = resolve({ pins: { tools: ['load_skill', 'read_file'] }, prune: { preserve: [] } })
  assert.deepEqual(pinned.prune?.preserve, ['load_skill', 'read_file'])
  assert.deepEqual(pinned.micro?.preserve, ['read_file', 'load_skill'], 'what is pinned is never cut')
  assert.equal(resolvePolicy({ micro: false }, opus, 'threeLevel').micro, null)
  const idle = (idleTimeout: string | number) => resolve({ idleTimeout }).idleTimeoutMs
  assert.deepEqual(['never', '90s', '30m', '1.5h', '7d', 5_000].map(idle), [
    null,
    90_000,
    1_800_000,
    5_400_000,
    604_800_000,
    5_000,
  ])
})

test('presets are what the settings table says', () => {
  const three = resolvePolicy({}, opus, 'threeLevel')
  assert.deepEqual(
    [
      three.pressureTokens,
      three.retainTokens,
      three.micro?.minReclaimTokens,
      three.compactTool,
      three.archive,
      three.framePrefix,
    ],
    [50_000, 0, 0, true, '.transcripts', '[compressed]'],
  )
  assert.equal(resolvePolicy({}, withWindow(1_000_000), 'lean').pressureTokens, 256_000)
})

test('every preset resolves on windows of 32k, 200k and 1M, with a tail and a checkpoint that fit', () => {
  for (const preset of Object.keys(PRESETS) as PresetName[]) {
    for (const window of [32_000, 200_000, 1_000_000]) {
      const { pressureTokens, retainTokens, checkpointLimitTokens } = resolvePolicy(
        {},
        withWindow(window),
        preset,
      )
      assert.ok(
        pressureTokens !== null && retainTokens + checkpointLimitTokens < 0.7 * pressureTokens,
        `${preset} on ${window}`,
      )
    }
  }
})

test("the caller's policy is not changed", () => {
  const policy: PolicyInput = {
    pins: { texts: ['keep me'] },
    models: [{ provider: 'anthropic', model: 'claude-opus-5-5', thresholdTokens: 9_000 }],
  }
  const before = structuredClone(policy)
  resolve(policy)
  assert.deepEqual(policy, before)
})

for (const window of [8_000, 200_000, 1_000_000])
  test(`fault M03 a threshold in a window of ${window} is what was asked for, lower and higher than the default, or refused`, () => {
    for (const thresholdRatio of [0.01, 0.5, 0.95, 1]) {
      const { pressureTokens, replyMaxTokens } = resolve({ thresholdRatio }, withWindow(window))
      const room = window - replyMaxTokens - 2_048
      assert.equal(
        pressureTokens,
        Math.min(Math.floor(window * thresholdRatio), room),
        String(thresholdRatio),
      )
    }
    for (const thresholdRatio of [0, 1.5, -1, Number.NaN, '60'])
      assert.throws(
        () => resolvePolicy({ thresholdRatio }, withWindow(window)),
        /policy\.thresholdRatio must be/,
        String(thresholdRatio),
      )
    const { pressureTokens: byDefault } = resolve({}, withWindow(window))
    const { pressureTokens: high } = resolve({ thresholdRatio: 1, replyMaxTokens: 500 }, withWindow(window))
    assert.ok((high ?? 0) > (byDefault ?? 0), 'it can raise the limit')
  })

test('fault M04 a model that nobody knows has no window by guess, and takes none from a name that is like its own', () => {
  for (const model of ['foo-1', 'claude-x[1m]', 'claude-x']) {
    const facts: ModelFacts = { provider: 'p', model, contextWindow: null, maxOutputTokens: null }
    const models = [{ provider: 'p', model: 'claude-x', contextWindow: 128_000 }]
    const { contextWindow, pressureTokens } = resolve({ models }, facts)
    const known = model === 'claude-x'
    assert.deepEqual([contextWindow, pressureTokens !== null], [known ? 128_000 : null, known])
  }
})
