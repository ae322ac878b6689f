import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { blockedBy, isAutomatic } from '../../src/shared/compaction/blocked.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import { reasonText } from '../../src/shared/compaction/reason-text.ts'
import { tooLargeSentence } from '../../src/shared/compaction/too-large.ts'
import type { CompactionRecord, Reading } from '../../src/shared/protocol.ts'
import { surface } from './surface-builder.ts'

const reading: Reading = { headSeq: 9, generation: 1, tokens: 900, limit: 800, pressure: 'none' }
const record: CompactionRecord = {
  compactionId: 't1.s1.pressure.1',
  cause: 'pressure',
  turn: 1,
  outcome: 'compacted',
  tokensBefore: 950,
  tokensAfter: 900,
  startedAt: 1,
}

describe('why a session does not compact by itself', () => {
  test('no reason while nothing is in its way', () => {
    for (const pressure of ['none', 'over'] as const)
      assert.equal(blockedBy({ ...reading, pressure }, record), null)
    assert.equal(blockedBy(null, record), null)
  })

  test('nobody knows the window', () => {
    const blocked = blockedBy({ ...reading, limit: null, off: 'window-unknown' }, undefined)
    assert.equal(blocked?.reason, 'window-unknown')
    assert.match(blocked?.message ?? '', /models\[\]\.contextWindow or thresholdTokens/)
  })

  test('fault B14 the budget is used up, also below the limit', () => {
    for (const pressure of ['none', 'held'] as const) {
      const blocked = blockedBy({ ...reading, pressure, off: 'budget-spent' }, record)
      assert.equal(blocked?.reason, 'budget-spent')
      assert.match(blocked?.message ?? '', /compactionBudget.*configure/)
    }
  })

  test('system and tools alone reach the limit', () => {
    const blocked = blockedBy({ ...reading, pressure: 'overhead' }, record)
    assert.equal(blocked?.reason, 'overhead')
    assert.match(blocked?.message ?? '', /limit of 800 tokens/)
  })

  for (const [what, last, said] of [
    ['nothing is known of the last one', undefined, / limit 800\. It goes on/],
    [
      'the last one was not enough',
      record,
      /: the last one \(t1\.s1\.pressure\.1\) was not enough: 950 → 900 tokens\. It/,
    ],
    [
      'the last one found nothing',
      { ...record, outcome: 'nothing', reason: 'too-small' },
      /did nothing: a checkpoint would hardly be shorter/,
    ],
    [
      'the last one found nothing, and nobody knows why',
      { ...record, outcome: 'nothing' },
      /did nothing: \. It/,
    ],
    [
      'the last one failed',
      { ...record, outcome: 'failed', errorCode: 'summary', errorMessage: 'too long' },
      /failed \(summary\): too long\. It/,
    ],
    ['the last one failed without a word', { ...record, outcome: 'failed' }, /failed: no message\. It/],
  ] as const)
    test(`it pauses: ${what}`, () => {
      const blocked = blockedBy({ ...reading, pressure: 'held' }, last)
      assert.equal(blocked?.reason, 'held')
      assert.match(blocked?.message ?? '', /^Automatic compaction pauses at 900 tokens, limit 800/)
      assert.match(blocked?.message ?? '', said)
    })

  test('reasons are sentences, and one that nobody knows stays as it is', () => {
    assert.equal(reasonText('empty'), 'there is no message yet')
    assert.equal(reasonText('new-reason'), 'new-reason')
  })

  test('what a person or a region asks for is not automatic', () => {
    assert.deepEqual(
      (['pressure', 'context-overflow', 'tool', 'manual', 'region'] as const).map(isAutomatic),
      [true, true, true, false, false],
    )
  })
})

describe('a request that no compaction makes small enough', () => {
  const header = {
    provider: 'acme',
    model: 'm',
    policy: resolvePolicy(
      { replyMaxTokens: 1_000 },
      { provider: 'acme', model: 'm', contextWindow: 20_000, maxOutputTokens: null },
    ),
  }
  const sentence = (nodes: Parameters<typeof tooLargeSentence>[0]['nodes']) =>
    tooLargeSentence({
      header,
      nodes,
      turn: 1,
      requestTokens: 25_000,
      systemTokens: 1_000,
      toolsTokens: 333,
      ratio: 1.5,
    })

  test('each part is named with its size, in the tokens of the provider', () => {
    const { nodes } = surface()
      .user('old', 'prompt', { tokens: 9_000 })
      .reply('a', [], { tokens: 100 })
      .user('new', 'prompt', { tokens: 7_000, turn: 2 })
      .user('more', 'prompt', { tokens: 1_000, turn: 2 })
    assert.equal(
      tooLargeSentence({
        header,
        nodes,
        turn: 2,
        requestTokens: 25_000,
        systemTokens: 1_000,
        toolsTokens: 333,
        ratio: 1.5,
      }),
      'The next request needs about 25000 tokens and 1000 for the reply; the window of acme/m is 20000. No compaction shrinks ' +
        'system prompt 1500, tools 500, the newest messages from #2 on 12000, the reply 1000 (replyMaxTokens): ' +
        'shorten one of them, or use a model with a larger window.',
    )
  })

  test('without messages none is named', () => assert.match(sentence([]), /the newest messages 0, the reply/))
})
