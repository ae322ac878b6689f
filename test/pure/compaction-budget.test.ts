import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSpent, spendingOf, spendingText } from '../../src/shared/compaction/compaction-budget.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import type { UsageLine } from '../../src/shared/usage/ledger.ts'

const line = (over: Partial<UsageLine> = {}): UsageLine => ({
  purpose: 'summary',
  provider: 'acme',
  model: 'm',
  promptAbove: 0,
  requests: 1,
  unknownRequests: 0,
  inputTokens: 1,
  outputTokens: 10,
  cacheReadTokens: 100,
  cacheWriteTokens: 1_000,
  ...over,
})

test('fault B14 the spending is every token of every call, and one for each attempt that paid', () => {
  assert.deepEqual(spendingOf([]), { count: 0, tokens: 0 })
  const paid = [[line({ requests: 3 }), line({ purpose: 'discarded', outputTokens: 20 })], [line()]]
  assert.deepEqual(spendingOf(paid), { count: 2, tokens: 1_111 + 1_121 + 1_111 })
  const unknown = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  assert.deepEqual(spendingOf([[line({ ...unknown, unknownRequests: 1 })], []]), { count: 1, tokens: 0 })
})

test('fault B14 a budget is used up by the one that is reached first; without one, and with auto off, never', () => {
  const policy = (compactionBudget: object | false, auto = true) =>
    resolvePolicy({ compactionBudget, auto }, null)
  const spent = (budget: object | false, count: number, tokens: number) =>
    isSpent(policy(budget), { count, tokens })
  assert.deepEqual([spent({ count: 2 }, 1, 9_999), spent({ count: 2 }, 2, 0)], [false, true])
  assert.deepEqual([spent({ tokens: 500 }, 9, 499), spent({ tokens: 500 }, 0, 500)], [false, true])
  assert.deepEqual([spent({ count: 2, tokens: 500 }, 1, 600), spent(false, 999, 999_999)], [true, false])
  assert.equal(isSpent(policy({ count: 1 }, false), { count: 5, tokens: 5 }), false)
  assert.equal('compactionBudget' in policy(false), false)
})

test('fault B14 the spending is told beside its budget', () => {
  const spending = { count: 3, tokens: 61_200 }
  assert.equal(spendingText({ count: 3 }, spending), '3 of 3 compactions, 61200 tokens')
  assert.equal(spendingText({ tokens: 60_000 }, spending), '3 compactions, 61200 of 60000 tokens')
})
