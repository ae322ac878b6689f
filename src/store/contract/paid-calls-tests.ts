import assert from 'node:assert/strict'
import type { SessionStore } from '../../shared/ports/store.ts'
import { text } from '../../shared/session/content.ts'
import type { AttemptError } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import { AS_OWNER, NEXT_RUN, openTurn, refused, SESSION, type StoreTests } from './harness.ts'
import { ATTEMPT_ID, openPlanned, twoMessages } from './sample-attempt.ts'
import { compactCall } from './sample-events.ts'

const ERROR: AttemptError = { code: 'summary', stage: 'summarize', message: 'no summary' }
const closing = { sessionId: SESSION, compactionId: ATTEMPT_ID, error: ERROR }
const record = (store: SessionStore, complete: boolean, words = 'raw', over = {}) =>
  store.recordCall({
    ...AS_OWNER,
    compactionId: ATTEMPT_ID,
    complete,
    event: compactCall(ATTEMPT_ID, 0, words),
    index: 0,
    ...over,
  })

const recordCallTests: StoreTests = {
  'F9: keeps the first complete response, and every other call as lost': async (store) => {
    await openPlanned(store, await twoMessages(store))
    const lost = [await record(store, false, 'half'), await record(store, false, 'half again')]
    assert.deepEqual(
      lost.map((event) => event.key),
      [0, 1].map((k) => keys.compactLostCall(ATTEMPT_ID, 0, k)),
    )
    const first = await record(store, true, 'whole')
    assert.equal(first.key, keys.compactCall(ATTEMPT_ID, 0))
    assert.deepEqual(await record(store, true, 'another'), first)
    const next = await store.recordCall({
      ...AS_OWNER,
      compactionId: ATTEMPT_ID,
      complete: true,
      event: compactCall(ATTEMPT_ID, 1),
      index: 1,
    })
    assert.equal(next.key, keys.compactCall(ATTEMPT_ID, 1))
  },
  'after the end writes lost calls only': async (store) => {
    await openPlanned(store, await twoMessages(store))
    await store.closeAttempt(closing)
    assert.equal((await record(store, true, 'late')).key, keys.compactLostCall(ATTEMPT_ID, 0, 0))
    assert.equal((await record(store, false, 'late')).key, keys.compactLostCall(ATTEMPT_ID, 0, 1))
  },
  'after its turn belongs to no turn': async (store) => {
    await openTurn(store)
    const plan = {
      shadowedSeqs: [3],
      shadowedTokenCount: 2,
      generation: 0,
      chunkEnds: [3],
      tokensBefore: 2,
      checkpointTokens: 9,
    }
    await openPlanned(store, { head: 4, turn: 1, plan })
    const event = { ...compactCall(ATTEMPT_ID), turn: 1 }
    assert.equal((await record(store, true, '', { event })).turn, 1)
    await store.closeAttempt(closing)
    await store.endTurn({ ...AS_OWNER, turn: 1, reason: 'error' })
    assert.equal((await record(store, false, '', { event })).turn, null)
  },
  'is for the owner, of an attempt, under its own number': async (store) => {
    await refused(store, 'LogRejected', () => record(store, true))
    await openPlanned(store, await twoMessages(store))
    await refused(store, 'NotOwner', () => record(store, true, 'raw', { actor: NEXT_RUN }))
    await refused(store, 'InvalidInput', () => record(store, true, 'raw', { index: 1 }))
  },
}

const kept = { summary: { summary: [text('kept \ud800')], provider: 'p', model: 'm' } }

const recordSummaryTests: StoreTests = {
  'keeps the first summary with the open attempt': async (store) => {
    await openPlanned(store, await twoMessages(store))
    const row = await store.recordSummary({ ...AS_OWNER, compactionId: ATTEMPT_ID, summary: kept })
    assert.deepEqual(row.summary, {
      summary: { summary: [text('kept \ufffd')], provider: 'p', model: 'm' },
    })
    assert.deepEqual(
      await store.recordSummary({ ...AS_OWNER, compactionId: ATTEMPT_ID, summary: { summary: null } }),
      row,
    )
    assert.deepEqual(await store.attempt(SESSION, ATTEMPT_ID), row)
    assert.deepEqual(await store.attempts({ state: 'open' }), [row])
  },
  'is for the owner, of an open attempt': async (store) => {
    const input = { ...AS_OWNER, compactionId: ATTEMPT_ID, summary: kept }
    await refused(store, 'LogRejected', () => store.recordSummary(input))
    await openPlanned(store, await twoMessages(store))
    await refused(store, 'NotOwner', () => store.recordSummary({ ...input, actor: NEXT_RUN }))
    const ended = await store.closeAttempt(closing)
    assert.deepEqual(await store.recordSummary(input), ended)
  },
}

/** What an attempt has paid for is kept. */
export const paidTests: Readonly<Record<string, StoreTests>> = {
  recordCall: recordCallTests,
  recordSummary: recordSummaryTests,
}
