import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newestReading } from '../../src/shared/compaction/decisions.ts'
import { LIMITS } from '../../src/shared/limits.ts'
import {
  type CompactionOutcome,
  carriedStateSchema,
  compactionRecordSchema,
  type Reading,
  sessionStateSchema,
} from '../../src/shared/protocol.ts'
import { CompactionHistory } from '../../src/workflows/compaction-history.ts'
import { autoId } from '../../src/workflows/message-ids.ts'
import { detailsOf, memoOf, SessionState } from '../../src/workflows/session-state.ts'

const reading = (rest: Partial<Reading> = {}): Reading => ({
  headSeq: 10,
  generation: 4,
  tokens: 900,
  limit: 1000,
  pressure: 'none',
  ...rest,
})

const outcome = (rest: Partial<CompactionOutcome> = {}): CompactionOutcome => ({
  v: 1,
  compactionId: 'manual.a',
  outcome: 'compacted',
  reading: reading(),
  tokensBefore: 900,
  tokensAfter: 300,
  startSeq: 1,
  summarySeq: 2,
  checkpointSeq: 3,
  endSeq: 4,
  paid: {
    calls: 2,
    reused: 0,
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  },
  ...rest,
})

/** As much of everything as can be accepted, with text that grows when it is written as JSON. */
function fullState(): SessionState {
  const session = new SessionState('s')
  const awkward = '☂"\u0001'
  for (let i = 0; session.prompts.refusal({ requestId: `p${i}` }) === undefined; i++) {
    session.prompts.add({ requestId: `p${i}${awkward.repeat(60)}` })
  }
  for (let i = 0; i < 50; i++) {
    const request = { requestId: `c${i}`, focus: `${i} ${awkward.repeat(200)}` }
    if (session.compactions.refusal(request, false, 'wait') === undefined)
      session.compactions.add(request, false, 'wait')
  }
  for (let i = 0; i < 30; i++) {
    session.history.begin(
      {
        compactionId: `manual.${'x'.repeat(150)}${i}`,
        cause: 'manual',
        turn: i + 1,
        focus: awkward.repeat(200),
      },
      i,
    )
    session.history.end(
      outcome({ outcome: 'failed', error: { code: 'summary', stage: 'x', message: awkward.repeat(300) } }),
      i + 1,
    )
  }
  session.observe(reading())
  session.closing = { requestId: 'close', reason: 'done' }
  return session
}

describe('carried state', () => {
  test('a full one fits its limit, keeps every waiting compaction, and parses', () => {
    const session = fullState()
    const carried = session.carry()
    assert.ok(Buffer.byteLength(JSON.stringify(carried)) <= LIMITS.carriedBytes)
    assert.deepEqual(
      carriedStateSchema.parse(JSON.parse(JSON.stringify(carried))),
      JSON.parse(JSON.stringify(carried)),
    )
    assert.equal(carried.compactions.length, session.compactions.size)
    assert.ok(carried.prompts.length < 100, 'the youngest prompts are found in the inbox again')
    assert.equal(carried.prompts[0]?.requestId, session.prompts.carry()[0]?.requestId)
  })

  test('what fits is carried whole, and the next run goes on with it', () => {
    const session = new SessionState('s')
    session.prompts.add({ requestId: 'a', delivery: 'next-step' })
    session.compactions.add({ requestId: 'c', span: { start: 3, end: 5 }, whenBusy: 'wait' }, false, 'wait')
    session.compactions.add({ requestId: 'd', span: { start: 3, end: 5 } }, false, 'refuse')
    session.history.begin({ compactionId: 'region.x', cause: 'region', turn: null, focus: undefined }, 5)
    session.history.end(outcome(), 9)
    session.observe(reading())
    session.refused = 7
    session.autoIds = 3
    const carried = carriedStateSchema.parse(JSON.parse(JSON.stringify(session.carry())))
    const next = new SessionState('s', carried)
    assert.deepEqual(JSON.parse(JSON.stringify(next.carry())), JSON.parse(JSON.stringify(session.carry())))
    assert.deepEqual(next.view(), { ...session.view() })
    assert.equal(next.messages, 0)
  })
})

describe('compaction history', () => {
  test('every record is one of the protocol, whatever it was begun with', () => {
    const history = new CompactionHistory()
    const begun = {
      compactionId: 'manual.a',
      cause: 'manual',
      turn: null,
      focus: 'x',
      span: { start: 1, end: 2 },
      requestIds: ['a'],
    } as const
    history.begin(begun, 1)
    compactionRecordSchema.parse(history.last)
    assert.equal(history.last?.outcome, 'running')
    history.end(outcome(), 2)
    assert.deepEqual(compactionRecordSchema.parse(history.last), {
      compactionId: 'manual.a',
      cause: 'manual',
      turn: null,
      focus: 'x',
      outcome: 'compacted',
      tokensBefore: 900,
      tokensAfter: 300,
      startSeq: 1,
      summarySeq: 2,
      endSeq: 4,
      paidCalls: 2,
      startedAt: 1,
      endedAt: 2,
    })
  })

  test('keeps the newest ones and counts all', () => {
    const history = new CompactionHistory()
    for (let i = 0; i < LIMITS.historyRecords + 5; i++)
      history.begin({ compactionId: `m.${i}`, cause: 'manual', turn: null }, i)
    assert.equal(history.records.length, LIMITS.historyRecords)
    assert.equal(history.records[0]?.compactionId, 'm.5')
    assert.equal(history.count, LIMITS.historyRecords + 5)
  })

  test('a refused one says why, shortened', () => {
    const history = new CompactionHistory()
    history.begin({ compactionId: 'region.a', cause: 'region', turn: null }, 1)
    history.end({ refused: 'x'.repeat(500) }, 2)
    assert.deepEqual([history.last?.outcome, history.last?.errorMessage?.length], ['failed', 160])
  })
})

describe('session state', () => {
  test('the view is one of the protocol in every status', () => {
    const session = new SessionState('s')
    const statuses = [session.view().status]
    session.life = 1
    statuses.push(session.view().status)
    session.turn = { requestId: 'a', number: 2, step: 3, cancel() {} }
    statuses.push(session.view().status)
    session.attempt = { compactionId: 'x', cause: 'pressure', cancel() {} }
    statuses.push(session.view().status)
    session.attempt = null
    session.closing = { requestId: 'c' }
    statuses.push(session.view().status)
    session.failure = 'why'
    statuses.push(session.view().status)
    assert.deepEqual(statuses, ['starting', 'idle', 'running', 'compacting', 'closing', 'failed'])
    sessionStateSchema.parse(session.view())
  })

  test('memo and details stay small and name what runs', () => {
    const session = fullState()
    session.life = 1
    session.turn = { requestId: 'a', number: 2, step: 3, cancel() {} }
    assert.ok(Buffer.byteLength(JSON.stringify(memoOf(session))) < 2048)
    assert.match(detailsOf(session), /turn 2, step 3, prompt `a`/)
    assert.match(detailsOf(session), /context 900 tokens of 1000, pressure none/)
  })

  test('the newest reading has the highest head; at the same head the later one counts', () => {
    const [old, held, next] = [
      reading({ pressure: 'over' }),
      reading({ pressure: 'held' }),
      reading({ headSeq: 11 }),
    ]
    assert.equal(newestReading(null, old), old)
    assert.equal(newestReading(old, held), held)
    assert.equal(newestReading(next, held), next)
  })
})

describe('ids of signals that came without one', () => {
  test('name life, count and content, and fit a key as they are', () => {
    const id = autoId('run-1', 1, { content: 'x' })
    assert.match(id, /^auto-[0-9a-f]{8}-1-[0-9a-f]{8}$/)
    assert.equal(autoId('run-1', 1, { content: 'x' }), id)
    assert.notEqual(autoId('run-2', 1, { content: 'x' }), id)
    assert.notEqual(autoId('run-1', 2, { content: 'x' }), id)
    assert.notEqual(autoId('run-1', 1, { content: 'y' }), id)
  })
})
