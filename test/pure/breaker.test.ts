import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  announced,
  type BreakerState,
  breakerHolds,
  breakerStateSchema,
  isEffective,
  mustAnnounce,
  recordPass,
  resetBreaker,
  savedEnough,
} from '../../src/shared/compaction/breaker.ts'

const settings = { maxIneffectivePasses: 3, skipSteps: [2, 4], holdMs: 3_600_000 }

const ineffective = (state: BreakerState, stepIndex: number, surfaceTokens = 1_000, nowMs = 0) =>
  recordPass(state, { effective: false, nowMs, stepIndex, surfaceTokens })

const holds = (state: BreakerState, stepIndex: number | undefined, surfaceTokens = 1_000, nowMs = 1) =>
  breakerHolds(state, { settings, nowMs, surfaceTokens, ...(stepIndex === undefined ? {} : { stepIndex }) })

test('a new breaker holds nothing', () => {
  assert.equal(holds(resetBreaker(), 1), false)
})

test('after the first ineffective pass two steps are skipped, after the second four', () => {
  const one = ineffective(resetBreaker(), 10)
  assert.deepEqual(
    [10, 11, 12, 13].map((step) => holds(one, step)),
    [false, true, true, false],
  )
  const two = ineffective(one, 13)
  assert.deepEqual(
    [13, 14, 15, 16, 17, 18].map((step) => holds(two, step)),
    [false, true, true, true, true, false],
  )
})

test('B15 a 12-step turn whose surface stays above pays for at most three attempts, then it is held', () => {
  for (const retries of [0, 1]) {
    let state = resetBreaker()
    const attempts: number[] = []
    for (let step = 1; step <= 12; step++) {
      for (let attempt = 0; attempt <= retries && !holds(state, step, 1_000 + step); attempt++) {
        attempts.push(step)
        state = ineffective(state, step, 1_000 + step)
      }
    }
    assert.ok(attempts.length <= 3, `${attempts}`)
    assert.equal(holds(state, 13, 1_013), true)
    assert.equal(holds(state, 1_000, 5_000), true, 'steps alone do not release it')
  }
})

test('an effective pass forgets everything before it', () => {
  const state = recordPass(ineffective(ineffective(resetBreaker(), 1), 4), {
    effective: true,
    nowMs: 5,
    stepIndex: 9,
    surfaceTokens: 10,
  })
  assert.deepEqual(state, resetBreaker())
})

test('it is released when the surface shrinks, when an hour has passed, and by a reset', () => {
  const state = ineffective(ineffective(ineffective(resetBreaker(), 1), 4), 9)
  assert.equal(holds(state, 10), true)
  assert.equal(holds(state, undefined), true, 'also between turns')
  assert.equal(holds(state, 10, 999), false)
  assert.equal(holds(state, 10, 1_000, 3_599_999), true)
  assert.equal(holds(state, 10, 1_000, 3_600_000), false)
  assert.equal(holds(resetBreaker(), 10), false)
})

test('after an hour one more attempt is made, and holds again when it does not help', () => {
  const state = ineffective(ineffective(ineffective(resetBreaker(), 1), 4), 9)
  const again = ineffective(state, 20, 1_000, 3_600_000)
  assert.equal(holds(again, 21, 1_000, 3_600_001), true)
})

test('between turns no step is skipped', () => {
  assert.equal(holds(ineffective(resetBreaker(), 5), undefined), false)
})

test('a step counter that ran backwards does not hold for ever', () => {
  const state = ineffective(resetBreaker(), 500)
  assert.deepEqual(
    [1, 2, 3].map((step) => holds(state, step)),
    [true, true, false],
  )
})

test('B12 a pass counts only when it saved its share and brought the context below the limit', () => {
  const pass = {
    tokensBefore: 1_000,
    tokensAfter: 800,
    limitTokens: 900,
    minGainRatio: 0.1,
    onlyPruned: false,
  }
  assert.equal(isEffective(pass), true)
  assert.equal(isEffective({ ...pass, limitTokens: 800 }), false, 'still at the limit')
  assert.equal(savedEnough(pass), true, 'but it may be tried again in its step')
  assert.equal(isEffective({ ...pass, tokensAfter: 901, limitTokens: 950 }), false, 'too little')
  assert.equal(isEffective({ ...pass, tokensAfter: 900, limitTokens: 950 }), true)
  assert.equal(isEffective({ ...pass, limitTokens: null }), true)
  assert.equal(
    isEffective({ ...pass, tokensAfter: 901, limitTokens: 950, onlyPruned: true }),
    true,
    'pruning is free',
  )
  assert.equal(isEffective({ ...pass, limitTokens: 800, onlyPruned: true }), false)
  assert.equal(
    savedEnough({ tokensBefore: 100, tokensAfter: 100, minGainRatio: 0 }),
    false,
    'nothing saved is nothing',
  )
})

test('that it holds is told once', () => {
  const two = ineffective(ineffective(resetBreaker(), 1), 4)
  assert.equal(mustAnnounce(two, settings), false)
  const three = ineffective(two, 9)
  assert.equal(mustAnnounce(three, settings), true)
  assert.equal(mustAnnounce(announced(three), settings), false)
  assert.equal(mustAnnounce(ineffective(announced(three), 20), settings), false)
  assert.deepEqual(breakerStateSchema.parse(JSON.parse(JSON.stringify(announced(three)))), announced(three))
})
