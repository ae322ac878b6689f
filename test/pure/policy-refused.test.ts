import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ModelFacts, resolvePolicy } from '../../src/shared/compaction/policy.ts'
import { isSessionError } from '../../src/shared/errors.ts'

const opus: ModelFacts = {
  provider: 'anthropic',
  model: 'claude-opus-5-5',
  contextWindow: 200_000,
  maxOutputTokens: 64_000,
}

/** Each sentence whole: it names the field, the limit and the value. */
const refused: readonly [unknown, string | RegExp, Partial<ModelFacts>?][] = [
  [7, 'policy must be an object, got 7'],
  [[], 'policy must be an object, got []'],
  [{ compactionBudget: {} }, 'policy.compactionBudget must have count, tokens, or both, got {}'],
  [{ compactionBudget: { count: 0 } }, 'policy.compactionBudget.count must be above 0, got 0'],
  [{ compactionBudget: { dollars: 5 } }, /^policy\.compactionBudget\.dollars .*count, tokens/],
  [{ thresholdRatio: 0 }, 'policy.thresholdRatio must be above 0, got 0'],
  [{ thresholdRatio: 1.5 }, 'policy.thresholdRatio must be at most 1, got 1.5'],
  [{ thresholdRatio: -1 }, 'policy.thresholdRatio must be above 0, got -1'],
  [{ thresholdRatio: Number.NaN }, 'policy.thresholdRatio must be a number, got NaN'],
  [{ thresholdRatio: '60' }, 'policy.thresholdRatio must be a number, got "60"'],
  [{ thresholdTokens: 0 }, 'policy.thresholdTokens must be above 0, got 0'],
  [{ thresholdTokens: -5 }, 'policy.thresholdTokens must be above 0, got -5'],
  [{ thresholdTokens: 1000.5 }, 'policy.thresholdTokens must be a whole number, got 1000.5'],
  [{ thresholdTokens: null }, 'policy.thresholdTokens must be a number, got null'],
  [{ thresholdTokens: Number.POSITIVE_INFINITY }, 'policy.thresholdTokens must be a number, got Infinity'],
  [
    { thresholdTokens: 100, thresholdRatio: 0.5 },
    'policy.thresholdTokens must not stand beside thresholdRatio 0.5: give one of the two, got 100',
  ],
  [
    { retainTokens: 100, retainRatio: 0.1 },
    'policy.retainTokens must not stand beside retainRatio 0.1: give one of the two, got 100',
  ],
  [{ retainRatio: 1 }, 'policy.retainRatio must be below 1, got 1'],
  [{ retainTokens: -1 }, 'policy.retainTokens must be at least 0, got -1'],
  [
    { retainTokens: 90_000, thresholdTokens: 80_000 },
    'policy.retainTokens must be below the pressure limit of 80000 tokens, got 90000',
  ],
  [
    { retainTokens: 80_000, thresholdTokens: 80_000 },
    'policy.retainTokens must be below the pressure limit of 80000 tokens, got 80000',
  ],
  [
    { retainRatio: 0.9 },
    'policy.retainRatio must keep less than the pressure limit of 160000 tokens (it keeps 180000), got 0.9',
  ],
  [
    {
      retainRatio: 0.1,
      models: [{ provider: 'anthropic', model: 'claude-opus-5-5', retainTokens: 190_000 }],
    },
    'policy.retainTokens must be below the pressure limit of 160000 tokens, got 190000',
  ],
  [
    { toolResultMaxTokens: 200_000 },
    'policy.toolResultMaxTokens must be below the window of 200000 tokens, got 200000',
  ],
  [
    { replyMaxTokens: 65_000 },
    "policy.replyMaxTokens must be at most the model's limit of 64000 tokens, got 65000",
  ],
  [
    { replyMaxTokens: 30_000 },
    'policy.replyMaxTokens must leave 2048 tokens of the window of 32000 free, so be at most 29951, got 30000',
    { contextWindow: 32_000 },
  ],
  [{}, 'policy needs a model with a window of at least 2732 tokens, got 2500', { contextWindow: 2_500 }],
  [
    { thresholdRatio: 0.0001 },
    'policy.thresholdRatio must give at least 1 token of the window of 8000, got 0.0001',
    { contextWindow: 8_000 },
  ],
  [{ summarizer: { provider: 'acme' } }, 'policy.summarizer.model must be a text, got nothing'],
  [{ summarizer: { model: 'small' } }, 'policy.summarizer.provider must be a text, got nothing'],
  [{ summarizer: { provider: '', model: 'small' } }, 'policy.summarizer.provider must not be empty, got ""'],
  [
    { summarizer: 'acme/small' },
    'policy.summarizer must be {provider, model} with both set, "deterministic", or null for the session\'s own model, got "acme/small"',
  ],
  [
    { summarizerFallbacks: { provider: 'acme', model: 'b' } },
    'policy.summarizerFallbacks must be a list, got {"provider":"acme","model":"b"}',
  ],
  [
    { summarizerFallbacks: [{ provider: 'acme' }] },
    'policy.summarizerFallbacks[0].model must be a text, got nothing',
  ],
  [
    { summarizerFallbacks: [{ provider: 'acme', model: 'b', modle: 1 }] },
    'policy.summarizerFallbacks[0].modle is no setting; did you mean model?',
  ],
  [
    { summarizerFallbacks: ['a', 'b', 'c', 'd', 'e'].map((model) => ({ provider: 'p', model })) },
    /^policy\.summarizerFallbacks must have at most 4, got \[/,
  ],
  [
    {
      summarizerFallbacks: [
        { provider: 'p', model: 'b' },
        { provider: 'p', model: 'b' },
      ],
    },
    /^policy\.summarizerFallbacks must not name anything twice, got \[/,
  ],
  [
    { summarizerFallbacks: [{ provider: 'anthropic', model: 'claude-opus-5-5' }] },
    'policy.summarizerFallbacks[0] must not name the model that writes the summaries, got "anthropic/claude-opus-5-5"',
  ],
  [
    {
      summarizer: { provider: 'acme', model: 'b' },
      summarizerFallbacks: [
        { provider: 'acme', model: 'c' },
        { provider: 'acme', model: 'b' },
      ],
    },
    'policy.summarizerFallbacks[1] must not name the model that writes the summaries, got "acme/b"',
  ],
  [
    { summarizer: 'deterministic', summarizerFallbacks: [{ provider: 'p', model: 'b' }] },
    'policy.summarizerFallbacks must be empty beside summarizer "deterministic", got [{"provider":"p","model":"b"}]',
  ],
  [
    { summaryFallback: 'sometimes' },
    'policy.summaryFallback must be "overflow", "always", "never", got "sometimes"',
  ],
  [
    { summaryMaxTokens: 65_000 },
    "policy.summaryMaxTokens must be at most the summarizer's limit of 64000 tokens, got 65000",
  ],
  [{ compactionRetries: -1 }, 'policy.compactionRetries must be at least 0, got -1'],
  [{ compactionRetries: 11 }, 'policy.compactionRetries must be at most 10, got 11'],
  [{ maxOverflowRetries: 1.5 }, 'policy.maxOverflowRetries must be a whole number, got 1.5'],
  [{ prune: true }, 'policy.prune must be an object of settings, or false, got true'],
  [{ prune: { headChars: -1 } }, 'policy.prune.headChars must be at least 0, got -1'],
  [
    { prune: { headChars: 8_000 } },
    'policy.prune must keep less than thresholdChars 8192 in headChars + tailChars, got 9024',
  ],
  [{ prune: { tresholdChars: 1 } }, 'policy.prune.tresholdChars is no setting; did you mean thresholdChars?'],
  [{ micro: { keepLast: 1.5 } }, 'policy.micro.keepLast must be a whole number, got 1.5'],
  [{ micro: { preserve: ['a', 'a'] } }, 'policy.micro.preserve must not name anything twice, got ["a","a"]'],
  [{ micro: { preserve: [''] } }, 'policy.micro.preserve[0] must not be empty, got ""'],
  [{ micro: { keeplast: 3 } }, 'policy.micro.keeplast is no setting; did you mean keepLast?'],
  [{ compactTool: 'yes' }, 'policy.compactTool must be true or false, got "yes"'],
  [{ historyTool: 1 }, 'policy.historyTool must be true or false, got 1'],
  [{ auto: 1 }, 'policy.auto must be true or false, got 1'],
  [{ checkpointTokens: 0 }, 'policy.checkpointTokens must be above 0, got 0'],
  [
    { checkpointTokens: 9_000, thresholdTokens: 9_000 },
    'policy.checkpointTokens must be below the pressure limit of 9000 tokens, got 9000',
  ],
  [{ pins: { texts: ['x', 'x'] } }, 'policy.pins.texts must not name anything twice, got ["x","x"]'],
  [
    { pins: { texts: ['word '.repeat(1_400)] } },
    'policy.pins.texts must have at most 2000 tokens together, got 2100',
  ],
  [
    { pins: { texts: ['漢'.repeat(1_300)] } },
    'policy.pins.texts must have at most 1244 tokens together, got 1300',
    { contextWindow: 16_000 },
  ],
  [{ pins: ['x'] }, 'policy.pins must be an object, got ["x"]'],
  [{ minGainRatio: 1 }, 'policy.minGainRatio must be below 1, got 1'],
  [{ breaker: { maxIneffectivePasses: 0 } }, 'policy.breaker.maxIneffectivePasses must be above 0, got 0'],
  [{ breaker: { skipSteps: [2, -1] } }, 'policy.breaker.skipSteps[1] must be at least 0, got -1'],
  [{ archive: '' }, 'policy.archive must not be empty, got ""'],
  [{ idleTimeout: 0 }, 'policy.idleTimeout must be above 0, got 0'],
  [
    { idleTimeout: 'soon' },
    "policy.idleTimeout must be milliseconds above 0, a text such as '90s', '30m', '24h' or '7d', or 'never', got \"soon\"",
  ],
  [
    { idleTimeout: '0s' },
    "policy.idleTimeout must be milliseconds above 0, a text such as '90s', '30m', '24h' or '7d', or 'never', got \"0s\"",
  ],
  [{ framePrefix: 'x'.repeat(201) }, /^policy\.framePrefix must be at most 200 characters, got "x+\.\.\.\.$/],
  [{ tresholdTokens: 9_000 }, 'policy.tresholdTokens is no setting; did you mean thresholdTokens?'],
  [{ retaintokens: 9_000 }, 'policy.retaintokens is no setting; did you mean retainTokens?'],
  [
    {
      models: [
        { provider: 'acme', model: 'm' },
        { provider: 'acme', model: 'm' },
      ],
    },
    'policy.models[1] must not name the model of policy.models[0] again, got "acme/m"',
  ],
  [{ models: [{ provider: 'acme' }] }, 'policy.models[0].model must be a text, got nothing'],
  [
    { models: [{ provider: 'acme', model: 'm', contextwindow: 1 }] },
    'policy.models[0].contextwindow is no setting; did you mean contextWindow?',
  ],
  [
    { models: [{ provider: 'acme', model: 'm', thresholdTokens: 5, thresholdRatio: 0.5 }] },
    'policy.models[0].thresholdTokens must not stand beside thresholdRatio 0.5: give one of the two, got 5',
  ],
  [{ models: { acme: {} } }, 'policy.models must be a list, got {"acme":{}}'],
]

for (const [policy, sentence, model] of refused) {
  test(`A5 refused: ${typeof sentence === 'string' ? sentence : 'a long text'}`, () => {
    assert.throws(
      () => resolvePolicy(policy, { ...opus, ...model }),
      (error: unknown) => {
        assert.ok(isSessionError(error, 'InvalidPolicy'), String(error))
        if (typeof sentence === 'string')
          assert.equal(error.message, sentence.endsWith('?') ? sentence : `${sentence}.`)
        else assert.match(error.message, sentence)
        return true
      },
    )
  })
}

test('A5 there are at least 30 of them', () => assert.ok(refused.length >= 30))

test('A5 every problem is told at once, with its parts', () => {
  const policy = { thresholdTokens: -1, micro: { keepLast: 'x' }, unknownThing: 1 }
  assert.throws(
    () => resolvePolicy(policy, opus),
    (error: unknown) => {
      assert.ok(isSessionError(error, 'InvalidPolicy'))
      const fields = (error.details['problems'] as { field: string }[]).map(({ field }) => field)
      assert.deepEqual(fields.toSorted(), [
        'policy.micro.keepLast',
        'policy.thresholdTokens',
        'policy.unknownThing',
      ])
      return true
    },
  )
})

test('A5 a name that is near nothing gets the list', () => {
  assert.throws(
    () => resolvePolicy({ zzzzzzzzzz: 1 }, opus),
    /policy\.zzzzzzzzzz is no setting; there are auto, thresholdRatio, .*models\./,
  )
})

test('A5 an unknown preset is refused with the names', () => {
  assert.throws(() => resolvePolicy({}, opus, 'leen' as never), {
    name: 'InvalidPolicy',
    message: 'preset must be default, lean, threeLevel (did you mean lean?), got "leen".',
  })
  assert.throws(() => resolvePolicy({}, opus, 'toString' as never), { name: 'InvalidPolicy' })
})
