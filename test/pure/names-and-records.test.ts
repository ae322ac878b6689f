import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  outcomeOfAttempt,
  RECORD_TEXT_CHARS,
  recordedEnd,
  recordOfAttempt,
} from '../../src/shared/compaction-record.ts'
import { parseDurationMs } from '../../src/shared/duration.ts'
import {
  ERROR_NAMES,
  errorNameOf,
  isSessionError,
  ManualCompactionError,
  SessionError,
} from '../../src/shared/errors.ts'
import { KEY_PART_PATTERN, LIMITS, SESSION_ID_PATTERN } from '../../src/shared/limits.ts'
import { nearName } from '../../src/shared/near-name.ts'
import type { AttemptRow } from '../../src/shared/ports/store.ts'
import type { CompactionOutcome } from '../../src/shared/protocol.ts'
import { NO_TOTAL, NO_USAGE, type UsageLedger } from '../../src/shared/usage/ledger.ts'

describe('a duration', () => {
  for (const [value, ms] of [
    ['250ms', 250],
    ['90s', 90_000],
    ['30 m', 1_800_000],
    ['1.5h', 5_400_000],
    ['7d', 604_800_000],
    ['0.0004s', 0],
    ['12.25s', 12_250],
  ] as const)
    test(`${value} is ${ms} ms`, () => assert.equal(parseDurationMs(value), ms))

  for (const value of ['', '90', 's', '1w', '-1s', '1.s', '.5s', ' 1s', '1s ', '1  s', '1s2', 'x1s'])
    test(`"${value}" is none`, () => assert.equal(parseDurationMs(value), undefined))
})

describe('the name that was meant', () => {
  const names = ['thresholdTokens', 'auto', 'summaryFallback']

  for (const [name, meant] of [
    ['auto', 'auto'],
    ['AUTO', 'auto'],
    ['atuo', 'auto'],
    ['aut', 'auto'],
    ['autos', 'auto'],
    ['bubo', 'auto'],
    ['xxxx', undefined],
    ['thresholdTokns', 'thresholdTokens'],
    ['treshholdToken', 'thresholdTokens'],
    // A third of the letters may differ, no more.
    ['thresholdxxxxxs', 'thresholdTokens'],
    ['thresholdxxxxxx', undefined],
    ['fallbackSummary', undefined],
  ] as const)
    test(`${name}: ${meant ?? 'none'}`, () => assert.equal(nearName(name, names), meant))

  test('the nearest of several, the first of equals, none of none', () => {
    assert.equal(nearName('bat', ['cart', 'bath', 'bats']), 'bath')
    assert.equal(nearName('bat', ['brat', 'cat']), 'brat')
    assert.equal(nearName('a', []), undefined)
    assert.equal(nearName('', ['ab', 'abc']), 'ab')
    assert.equal(nearName('', ['abc']), undefined)
  })
})

describe('errors', () => {
  test('are known by their name, wherever they come from', () => {
    const error = new SessionError('Busy', 'a compaction is open', { compactionId: 'c' })
    assert.deepEqual(
      [error.name, error.message, error.details],
      ['Busy', 'a compaction is open', { compactionId: 'c' }],
    )
    assert.deepEqual(new SessionError('Busy', 'x').details, {})
    assert.ok(isSessionError(error) && isSessionError(error, 'Busy') && !isSessionError(error, 'Fenced'))
    assert.ok(isSessionError({ name: 'Fenced' }) && isSessionError({ name: 'Fenced' }, 'Fenced'))
    for (const other of [null, undefined, 'Busy', { message: 'Busy' }, { name: 'Error' }, new Error('Busy')])
      assert.ok(!isSessionError(other) && !isSessionError(other, 'Busy'))
  })

  test('have names that are known, and others are not', () => {
    for (const name of ERROR_NAMES) assert.equal(errorNameOf(name), name)
    for (const name of ['busy', '', undefined, 7]) assert.equal(errorNameOf(name), undefined)
    assert.ok(ERROR_NAMES.length >= 20)
  })

  test('of a compaction have a code', () => {
    const error = new ManualCompactionError('changed', 'x', 'c1')
    assert.deepEqual(
      [error.name, error.code, error.message, error.compactionId],
      ['ManualCompactionError', 'changed', 'x', 'c1'],
    )
    assert.equal(new ManualCompactionError('busy', 'x').compactionId, undefined)
  })
})

test('ids of sessions may have dots, parts of keys may not', () => {
  for (const id of ['a', 'A.b_c-9', 'x'.repeat(64)]) assert.match(id, SESSION_ID_PATTERN)
  for (const id of ['', 'a b', 'ä', 'x'.repeat(65), 'a/b', 'a\n']) assert.doesNotMatch(id, SESSION_ID_PATTERN)
  for (const id of ['a', 'A_b-9', 'x'.repeat(64)]) assert.match(id, KEY_PART_PATTERN)
  for (const id of ['', 'a.b', 'a b', 'x'.repeat(65), ' a']) assert.doesNotMatch(id, KEY_PART_PATTERN)
})

test('limits in bytes are what their names say', () => {
  assert.deepEqual(
    [
      LIMITS.promptTextBytes,
      LIMITS.promptMediaBytes,
      LIMITS.inlineBytes,
      LIMITS.startBytes,
      LIMITS.toolOutputBytes,
      LIMITS.carriedBytes,
    ],
    [1_048_576, 20_971_520, 262_144, 1_048_576, 16_777_216, 16_384],
  )
})

describe('the record of a compaction', () => {
  const long = 'x'.repeat(RECORD_TEXT_CHARS + 40)
  const short = 'x'.repeat(RECORD_TEXT_CHARS)
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const ledgerOf = (requests: number): UsageLedger => [
    { purpose: 'summary', provider: 'p', model: 'm', promptAbove: 0, ...NO_TOTAL, ...usage, requests },
  ]
  const plain: CompactionOutcome = {
    v: 1,
    compactionId: 'c',
    outcome: 'compacted',
    reading: { headSeq: 9, generation: 1, tokens: 100, limit: 1000, pressure: 'none' },
    tokensBefore: 900,
    tokensAfter: 100,
    paid: { calls: 2, reused: 1, usage },
  }
  const whole: CompactionOutcome = {
    ...plain,
    reason: 'deterministic',
    message: long,
    focus: long,
    hookError: long,
    startSeq: 1,
    summarySeq: 2,
    checkpointSeq: 3,
    endSeq: 4,
    error: { code: 'summary', stage: 'summarize', message: long },
  }
  const open: AttemptRow = {
    compactionId: 'c',
    cause: 'manual',
    turn: null,
    childWorkflowId: 'w',
    namespace: 'n',
    cluster: 'k',
    deadline: 9,
    sessionId: 's',
    state: 'open',
    life: 1,
    plan: null,
    startSeq: null,
    outcome: null,
    usage: [],
    startedAt: 5,
    endedAt: null,
  }

  test('has what the outcome has, texts only by their beginning', () => {
    assert.deepEqual(recordedEnd(plain), {
      outcome: 'compacted',
      tokensBefore: 900,
      tokensAfter: 100,
      paidCalls: 2,
    })
    assert.deepEqual(recordedEnd(whole), {
      outcome: 'compacted',
      reason: 'deterministic',
      message: short,
      focus: short,
      hookError: short,
      tokensBefore: 900,
      tokensAfter: 100,
      startSeq: 1,
      summarySeq: 2,
      endSeq: 4,
      paidCalls: 2,
      errorCode: 'summary',
      errorMessage: short,
    })
    assert.deepEqual(recordedEnd({ ...plain, focus: '' }), recordedEnd(plain))
  })

  test('of an attempt that runs says where it started', () => {
    const running = { compactionId: 'c', cause: 'manual', turn: null, startedAt: 5, outcome: 'running' }
    assert.deepEqual(recordOfAttempt(open), running)
    assert.deepEqual(recordOfAttempt({ ...open, turn: 3, focus: long, startSeq: 7 }), {
      ...running,
      turn: 3,
      focus: short,
      startSeq: 7,
    })
  })

  test('of an attempt that ended has its outcome and its end, and the focus as a hook amended it', () => {
    const row = { ...open, usage: ledgerOf(2) }
    const ended = { compactionId: 'c', cause: 'manual', turn: null, startedAt: 5, ...recordedEnd(plain) }
    assert.deepEqual(recordOfAttempt({ ...row, outcome: plain, endedAt: 8 }), { ...ended, endedAt: 8 })
    assert.deepEqual(recordOfAttempt({ ...row, outcome: plain }), { ...ended, endedAt: 5 })
    const amended = recordOfAttempt({ ...row, focus: 'asked', outcome: { ...plain, focus: 'amended' } })
    assert.equal(amended.focus, 'amended')
  })

  test('of a cancelled attempt counts the call that was recorded after its end', () => {
    const failed: CompactionOutcome = {
      ...plain,
      outcome: 'failed',
      paid: { calls: 0, reused: 0, usage: NO_USAGE },
    }
    const row = { ...open, usage: ledgerOf(1), outcome: failed, endedAt: 8 }
    assert.equal(recordOfAttempt(row).paidCalls, 1)
    assert.deepEqual(outcomeOfAttempt(row), { ...failed, paid: { calls: 1, reused: 0, usage } })
    assert.deepEqual(outcomeOfAttempt({ ...row, outcome: plain }), plain)
    assert.equal(outcomeOfAttempt(open), null)
  })
})
