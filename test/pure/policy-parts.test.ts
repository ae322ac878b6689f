import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkpointBudget } from '../../src/shared/compaction/checkpoint-budget.ts'
import { parseDurationMs } from '../../src/shared/duration.ts'
import { nearName } from '../../src/shared/near-name.ts'

const whole = {
  checkpointTokens: 5_000,
  userTextTokens: 8_000,
  checkpointLimitTokens: 15_000,
  summaryMaxTokens: 8_192,
}

test('a checkpoint with room has the documented parts', () => {
  assert.deepEqual(checkpointBudget(whole, 0), {
    userTextTokens: 8_000,
    stateTokens: 300,
    listTokens: 2_000,
    summaryAskTokens: 1_800,
    summaryLimitTokens: 2_700,
  })
})

test('as room shrinks the user text gives way first, then the lists, then the summary', () => {
  const budgets = [0, 2_000, 6_000, 9_000, 10_500, 12_000, 14_000, 14_900, 15_000, 20_000].map((pins) => ({
    pins,
    ...checkpointBudget(whole, pins),
  }))
  for (const {
    pins,
    userTextTokens,
    stateTokens,
    listTokens,
    summaryLimitTokens,
    summaryAskTokens,
  } of budgets) {
    const room = Math.max(0, 15_000 - pins)
    assert.ok(userTextTokens + stateTokens + listTokens + summaryLimitTokens <= room, `within ${room}`)
    assert.ok(summaryAskTokens <= summaryLimitTokens)
    if (listTokens < 2_000)
      assert.ok(userTextTokens <= room / 8, 'lists only after the user text is at its floor')
    if (summaryLimitTokens < 2_700)
      assert.ok(listTokens <= room / 4, 'the summary only after the lists are at theirs')
  }
})

test('on a small window every part is still there', () => {
  const { userTextTokens, stateTokens, listTokens, summaryLimitTokens } = checkpointBudget(
    { ...whole, checkpointLimitTokens: 2_488 },
    0,
  )
  assert.ok(userTextTokens >= 300 && stateTokens >= 200 && listTokens >= 500 && summaryLimitTokens >= 1_200)
})

test('a longer budget goes to the lists', () => {
  const { listTokens, summaryLimitTokens } = checkpointBudget(
    { ...whole, checkpointTokens: 10_000, checkpointLimitTokens: 20_000 },
    0,
  )
  assert.deepEqual([listTokens, summaryLimitTokens], [7_000, 2_700])
})

test('a small `max_tokens` lowers the summary that is asked for, so that it is not cut off (fault H05)', () => {
  const { summaryAskTokens, summaryLimitTokens } = checkpointBudget({ ...whole, summaryMaxTokens: 1_024 }, 0)
  assert.deepEqual([summaryAskTokens, summaryLimitTokens], [454, 682])
})

test('durations', () => {
  assert.deepEqual(
    ['1ms', '2s', '3m', '4 h', '1.5d'].map(parseDurationMs),
    [1, 2_000, 180_000, 14_400_000, 129_600_000],
  )
  assert.deepEqual(
    ['', '5', 's', '-1s', '1w', '1e3s', '1 h 2 m'].map(parseDurationMs),
    Array(7).fill(undefined),
  )
})

test('near names: typos, swapped letters, letter case; nothing for what is far', () => {
  const names = ['thresholdTokens', 'retainTokens', 'auto']
  assert.equal(nearName('tresholdTokens', names), 'thresholdTokens')
  assert.equal(nearName('RETAINTOKENS', names), 'retainTokens')
  assert.equal(nearName('atuo', names), 'auto')
  assert.equal(nearName('banana', names), undefined)
  assert.equal(nearName('x', []), undefined)
})
