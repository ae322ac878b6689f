import assert from 'node:assert/strict'
import type { AttemptRow, SessionStore } from '../../shared/ports/store.ts'
import type { AttemptError } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import {
  AS_OWNER,
  allEvents,
  appendTo,
  failure,
  NEXT_RUN,
  openTurn,
  refused,
  SESSION,
  type StoreTests,
} from './harness.ts'
import {
  ATTEMPT_ID,
  committing,
  opening,
  openPlanned,
  outcome,
  type Planned,
  twoMessages,
} from './sample-attempt.ts'
import {
  assistantMessage,
  checkpoint,
  compactCall,
  compactSummary,
  shadowCopy,
  stepStart,
  toolResult,
  userMessage,
} from './sample-events.ts'

const ERROR: AttemptError = { code: 'summary', stage: 'summarize', message: 'no summary' }
const closing = { sessionId: SESSION, compactionId: ATTEMPT_ID, error: ERROR }
const typesAfter = async (store: SessionStore, seq: number) =>
  (await store.events(SESSION, { after: seq })).map((event) => event.type)
const sameRow = async (store: SessionStore, row: AttemptRow) =>
  assert.deepEqual(await store.attempt(SESSION, row.compactionId), row)

const commitAttemptTests: StoreTests = {
  'F1: writes summary, checkpoint, end and outcome together': async (store) => {
    await openPlanned(store, await twoMessages(store))
    await appendTo(store, null, [userMessage('late', 'meanwhile')])
    const row = await store.commitAttempt(committing({ meter: { v: 4 } }))
    assert.deepEqual([row.state, row.startSeq, row.endedAt === null], ['ended', 4, false])
    assert.deepEqual(row.outcome, {
      ...outcome(),
      reading: { ...outcome().reading, headSeq: 9, generation: 1 },
      startSeq: 4,
      summarySeq: 6,
      checkpointSeq: 7,
      endSeq: 8,
    })
    assert.deepEqual(await typesAfter(store, 5), ['compact/summary', 'user/message', 'compact/end'])
    const placed = await store.eventByKey(SESSION, keys.compactCheckpoint(ATTEMPT_ID))
    assert.deepEqual(
      [placed?.surfaceOp, placed?.sourceEventSeqs],
      [{ op: 'replace', start: 2, end: 3 }, [4, 6, 2, 3]],
    )
    assert.deepEqual(
      (await store.surface(SESSION)).nodes.map((node) => node.seq),
      [7, 5],
    )
    assert.deepEqual(await store.meter(SESSION), { v: 4 })
    await sameRow(store, row)
  },
  'F3: happens once; the recorded end comes back': async (store) => {
    const planned = await twoMessages(store)
    await openPlanned(store, planned)
    const row = await store.commitAttempt(committing())
    assert.deepEqual(await store.commitAttempt(committing({ outcome: outcome({ tokensAfter: 1 }) })), row)
    assert.deepEqual(await store.closeAttempt(closing), row)
    assert.deepEqual(await openPlanned(store, planned), row)
    assert.equal((await allEvents(store)).length, 8)
  },
  'ends the attempt as changed when the span has changed, and keeps the rival change': async (store) => {
    const result = toolResult(1, 1, 'c1', '0123456789')
    await openTurn(store)
    const { head } = await appendTo(store, 1, [
      stepStart(1, 1),
      assistantMessage(1, 1, 'look', ['c1']),
      result,
    ])
    const plan = {
      shadowedSeqs: [3, 5, 6],
      shadowedTokenCount: 16,
      generation: 0,
      chunkEnds: [6],
      tokensBefore: 16,
      checkpointTokens: 9,
    }
    await openPlanned(store, { head, turn: 1, plan })
    await appendTo(store, 1, shadowCopy(result, 6))
    const surface = await store.surface(SESSION)
    const row = await store.commitAttempt(
      committing({
        summary: compactSummary(ATTEMPT_ID, [3, 5, 6], 16, 1),
        checkpoint: checkpoint(ATTEMPT_ID, [3, 5, 6], [], 1),
        meter: { v: 5 },
      }),
    )
    assert.deepEqual(
      [row.state, row.outcome?.outcome, row.outcome?.error?.code],
      ['ended', 'failed', 'changed'],
    )
    assert.deepEqual((await store.surface(SESSION)).nodes, surface.nodes)
    assert.equal(await store.meter(SESSION), null, 'the meter of a success is not that of a failure')
    const end = await store.eventByKey(SESSION, keys.compactEnd(ATTEMPT_ID))
    assert.deepEqual([end?.seq, end?.turn], [row.outcome?.endSeq, 1])
  },
  'is for the owner, and needs an attempt': async (store) => {
    await refused(store, 'LogRejected', () => store.commitAttempt(committing()))
    await openPlanned(store, await twoMessages(store))
    await refused(store, 'NotOwner', () => store.commitAttempt(committing({ actor: NEXT_RUN })))
  },
  'refuses a summary or checkpoint of something else, and the attempt stays open': async (store) => {
    await openPlanned(store, await twoMessages(store))
    const bad = [
      { summary: compactSummary('manual.other', [2, 3], 12) },
      { summary: compactSummary(ATTEMPT_ID, [2], 5) },
      { checkpoint: { ...checkpoint(ATTEMPT_ID, [2, 3]), key: 'x' } },
      { checkpoint: { ...checkpoint(ATTEMPT_ID, [2, 3]), data: userMessage('a', 'a').data } },
    ]
    for (const over of bad) await refused(store, 'InvalidInput', () => store.commitAttempt(committing(over)))
    await refused(store, 'LogRejected', () =>
      store.commitAttempt(committing({ summary: compactSummary(ATTEMPT_ID, [2, 3], 11) })),
    )
    assert.equal((await store.commitAttempt(committing())).outcome?.outcome, 'compacted')
  },
}

const closeAttemptTests: StoreTests = {
  'F4: ends the bracket with the error; anyone may; the surface is as before': async (store) => {
    await openPlanned(store, await twoMessages(store))
    const before = await store.surface(SESSION)
    const row = await store.closeAttempt(closing)
    assert.equal(row.state, 'ended')
    assert.deepEqual(row.outcome, {
      ...outcome({ outcome: 'failed', tokensAfter: 12, error: ERROR }),
      reading: { headSeq: 6, generation: 0, tokens: 12, limit: null, pressure: 'none' },
      startSeq: 4,
      endSeq: 5,
    })
    assert.deepEqual((await store.eventByKey(SESSION, keys.compactEnd(ATTEMPT_ID)))?.data, {
      compactionId: ATTEMPT_ID,
      turn: null,
      error: ERROR,
    })
    assert.deepEqual((await store.surface(SESSION)).nodes, before.nodes)
    assert.deepEqual(
      await store.closeAttempt({ ...closing, error: { ...ERROR, code: 'cancelled' } }),
      row,
      'the first end wins',
    )
    assert.deepEqual(await store.commitAttempt(committing()), row)
  },
  'writes the meter when it ends the attempt, and only then': async (store) => {
    await openPlanned(store, await twoMessages(store))
    await store.closeAttempt({ ...closing, meter: { v: 6 } })
    await store.closeAttempt({ ...closing, meter: { v: 7 } })
    assert.deepEqual(await store.meter(SESSION), { v: 6 })
  },
  'keeps what its caller measured': async (store) => {
    await openPlanned(store, await twoMessages(store))
    const paid = {
      calls: 2,
      reused: 1,
      usage: { inputTokens: 9, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
    }
    const row = await store.closeAttempt({
      ...closing,
      outcome: outcome({ outcome: 'compacted', tokensBefore: 50, tokensAfter: 50, paid }),
    })
    assert.deepEqual(
      [row.outcome?.outcome, row.outcome?.tokensBefore, row.outcome?.paid, row.outcome?.error],
      ['failed', 50, paid, ERROR],
    )
  },
  'of an absent attempt voids it: it never opens': async (store) => {
    const planned = await twoMessages(store)
    const row = await store.closeAttempt(closing)
    assert.deepEqual(
      [row.state, row.cause, row.turn, row.outcome?.outcome, row.outcome?.error],
      ['void', 'manual', null, 'failed', ERROR],
    )
    assert.deepEqual(await openPlanned(store, planned), row)
    assert.equal((await allEvents(store)).length, 4)
    await refused(store, 'LogRejected', () =>
      store.recordCall({
        ...AS_OWNER,
        compactionId: ATTEMPT_ID,
        complete: true,
        event: compactCall(ATTEMPT_ID),
        index: 0,
      }),
    )
  },
  'of an absent attempt tells cause and turn by its id': async (store) => {
    const expected = [
      ['t3.s2.pressure.0', 'pressure', 3],
      ['t3.s2.overflow.1', 'context-overflow', 3],
      ['t3.s2.tool.call_1', 'tool', 3],
      ['region.r1', 'region', null],
      ['manual.r1', 'manual', null],
    ] as const
    for (const [compactionId, cause, turn] of expected) {
      const row = await store.closeAttempt({ ...closing, compactionId })
      assert.deepEqual([row.cause, row.turn], [cause, turn])
    }
    await failure(() => store.closeAttempt({ ...closing, compactionId: 'a b' }), 'InvalidInput')
  },
}

const asked = (planned: Planned) =>
  opening(planned, { attempt: { ...opening(planned).attempt, requestIds: ['r1', 'none'] } })
const request = (store: SessionStore, requestId: string) =>
  store.putInbox({ sessionId: SESSION, requestId, kind: 'compaction', body: {} })
/** State and outcome of the rows `r1`, which asked for the attempt, and `r2`, which did not. */
const requests = async (store: SessionStore) =>
  (await store.inbox(SESSION)).map((row) => [row.requestId, row.state, row.outcome])
const SETTLED = [
  ['r1', 'done', { compactionId: ATTEMPT_ID }],
  ['r2', 'waiting', null],
]

const requestsTests: StoreTests = {
  'are settled by the transaction that commits': async (store) => {
    for (const id of ['r1', 'r2']) await request(store, id)
    await store.openAttempt(asked(await twoMessages(store)))
    assert.equal((await requests(store))[0]?.[1], 'waiting')
    await store.commitAttempt(committing())
    assert.deepEqual(await requests(store), SETTLED)
  },
  'are settled by any closer, and by a takeover': async (store) => {
    for (const id of ['r1', 'r2']) await request(store, id)
    await store.openAttempt(asked(await twoMessages(store)))
    await store.takeOver({ sessionId: SESSION, actor: NEXT_RUN, lifeRunId: 'run-1', expectedFence: 1 })
    assert.deepEqual(await requests(store), SETTLED)
  },
  'are settled when the attempt is void from the start': async (store) => {
    for (const id of ['r1', 'r2']) await request(store, id)
    const { plan: _, ...without } = asked(await twoMessages(store))
    await store.openAttempt({ ...without, void: outcome({ outcome: 'nothing' }) })
    assert.deepEqual(await requests(store), SETTLED)
  },
  'are settled when the attempt is voided before it opened': async (store) => {
    for (const id of ['r1', 'r2']) await request(store, id)
    await store.closeAttempt({ ...closing, requestIds: ['r1'] })
    assert.deepEqual(await requests(store), SETTLED)
  },
  'that are settled stay as they are': async (store) => {
    await request(store, 'r1')
    await store.settleInbox({ ...AS_OWNER, rows: [{ requestId: 'r1', state: 'refused' }] })
    await store.openAttempt(asked(await twoMessages(store)))
    await store.closeAttempt(closing)
    assert.deepEqual(await requests(store), [['r1', 'refused', null]])
  },
}

/** Rule 4: the first end of an attempt wins. */
export const endingTests: Readonly<Record<string, StoreTests>> = {
  commitAttempt: commitAttemptTests,
  closeAttempt: closeAttemptTests,
  'requests of an attempt': requestsTests,
}
