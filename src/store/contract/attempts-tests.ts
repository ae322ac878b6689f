import assert from 'node:assert/strict'
import type { AttemptRow, SessionStore } from '../../shared/ports/store.ts'
import type { AttemptError } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import {
  allEvents,
  appendTo,
  failure,
  NEXT_RUN,
  openTurn,
  refused,
  SESSION,
  type StoreTests,
} from './harness.ts'
import { ATTEMPT_ID, committing, opening, openPlanned, outcome, twoMessages } from './sample-attempt.ts'
import { assistantMessage, shadowCopy, stepStart, toolResult, userMessage } from './sample-events.ts'

const ERROR: AttemptError = { code: 'summary', stage: 'summarize', message: 'no summary' }
const closing = { sessionId: SESSION, compactionId: ATTEMPT_ID, error: ERROR }
const typesAfter = async (store: SessionStore, seq: number) =>
  (await store.events(SESSION, { after: seq })).map((event) => event.type)
const sameRow = async (store: SessionStore, row: AttemptRow) =>
  assert.deepEqual(await store.attempt(SESSION, row.compactionId), row)

const openAttemptTests: StoreTests = {
  'writes plan and start, and gives the same row ever after': async (store) => {
    const planned = await twoMessages(store)
    const row = await openPlanned(store, planned)
    const { attempt } = opening(planned)
    assert.deepEqual(
      { ...row, startedAt: 0 },
      {
        ...attempt,
        sessionId: SESSION,
        state: 'open',
        life: 1,
        plan: planned.plan,
        startSeq: 4,
        outcome: null,
        usage: [],
        startedAt: 0,
        endedAt: null,
      },
    )
    assert.deepEqual((await store.eventByKey(SESSION, keys.compactStart(ATTEMPT_ID)))?.data, {
      compactionId: ATTEMPT_ID,
      turn: null,
      cause: 'manual',
      focus: 'API',
    })
    assert.deepEqual(
      await store.openAttempt(
        opening({ ...planned, head: 99, plan: { ...planned.plan, shadowedSeqs: [3] } }),
      ),
      row,
    )
    await sameRow(store, row)
    assert.equal((await store.session(SESSION))?.openCompactionId, ATTEMPT_ID)
  },
  'writes copies first; the plan is of the surface that they leave': async (store) => {
    await openTurn(store)
    const result = toolResult(1, 1, 'c1', '0123456789')
    const { head } = await appendTo(store, 1, [
      stepStart(1, 1),
      assistantMessage(1, 1, 'look', ['c1']),
      result,
    ])
    const copies = shadowCopy(result, 6)
    const plan = {
      shadowedSeqs: [3, 5, 8],
      shadowedTokenCount: 7,
      generation: 1,
      chunkEnds: [5, 8],
      tokensBefore: 16,
      checkpointTokens: 9,
    }
    await refused(store, 'LogRejected', () =>
      store.openAttempt(opening({ head, turn: 1, plan: { ...plan, shadowedSeqs: [3, 5, 6] } }, { copies })),
    )
    const row = await store.openAttempt(opening({ head, turn: 1, plan }, { copies, meter: { v: 3 } }))
    assert.equal(row.startSeq, 9)
    assert.deepEqual(await typesAfter(store, 6), ['compact/prune', 'tool/result', 'compact/start'])
    assert.deepEqual(await store.meter(SESSION), { v: 3 })
  },
  'without a plan is void with its outcome, copies kept, and stays so': async (store) => {
    const { head } = await twoMessages(store)
    const given = outcome({ outcome: 'nothing', reason: 'only-tail' })
    const { plan: _, ...without } = opening({ head, plan: (await twoMessages(store)).plan })
    const row = await store.openAttempt({ ...without, void: given })
    assert.deepEqual([row.state, row.plan, row.startSeq, row.endedAt === null], ['void', null, null, false])
    assert.deepEqual(row.outcome, { ...given, reading: { ...given.reading, headSeq: 4, generation: 0 } })
    assert.deepEqual(await openPlanned(store, await twoMessages(store)), row)
    assert.deepEqual(await store.closeAttempt(closing), row)
    assert.deepEqual(await store.commitAttempt(committing()), row)
    assert.equal((await allEvents(store)).length, 4)
  },
  'F3: is refused while another is open': async (store) => {
    const planned = await twoMessages(store)
    await openPlanned(store, planned)
    const other = opening(planned, {
      attempt: { ...opening(planned).attempt, compactionId: 'manual.other' },
    })
    const error = await refused(store, 'Busy', () => store.openAttempt(other))
    assert.equal(error.details['compactionId'], ATTEMPT_ID)
    await store.closeAttempt(closing)
    assert.equal((await store.openAttempt({ ...other, expectedHead: 6 })).state, 'open')
  },
  'is for the owner, at the planned head, in the open turn': async (store) => {
    const planned = await twoMessages(store)
    await refused(store, 'NotOwner', () => store.openAttempt(opening(planned, { actor: NEXT_RUN })))
    await refused(store, 'HeadMoved', () => openPlanned(store, { ...planned, head: 3 }))
    await refused(store, 'TurnClosed', () => openPlanned(store, { ...planned, turn: 1 }))
    await openTurn(store)
    await refused(store, 'LogRejected', () => openPlanned(store, { ...planned, head: 6 }))
    assert.equal((await openPlanned(store, { ...planned, head: 6, turn: 1 })).turn, 1)
  },
  'refuses plans that are not true of the surface': async (store) => {
    const planned = await twoMessages(store)
    const bad = [
      { shadowedSeqs: [3, 2] },
      { shadowedSeqs: [2] },
      { shadowedSeqs: [1, 2, 3] },
      { shadowedTokenCount: 11 },
      { generation: 1 },
      { chunkEnds: [2] },
      { chunkEnds: [3, 3] },
      { chunkEnds: [] },
    ]
    for (const over of bad) {
      await refused(store, 'LogRejected', () =>
        openPlanned(store, { ...planned, plan: { ...planned.plan, ...over } }),
      )
    }
    await refused(store, 'InvalidInput', () =>
      openPlanned(store, { ...planned, plan: { ...planned.plan, shadowedSeqs: [] } }),
    )
    await refused(store, 'InvalidInput', () => store.openAttempt(opening(planned, { void: outcome() })))
    await refused(store, 'InvalidInput', () =>
      store.openAttempt(opening(planned, { copies: [userMessage('x', 'x')] })),
    )
    await refused(store, 'InvalidInput', () =>
      store.openAttempt(opening(planned, { attempt: { ...opening(planned).attempt, compactionId: 'a/b' } })),
    )
  },
}

const attemptsTests: StoreTests = {
  'are listed newest first, by session and state': async (store) => {
    await store.closeAttempt({ ...closing, compactionId: 'manual.one' })
    await openPlanned(store, await twoMessages(store))
    await store.closeAttempt({ ...closing, compactionId: 'manual.two' })
    const ids = async (query: Parameters<SessionStore['attempts']>[0]) =>
      (await store.attempts(query)).map((row) => row.compactionId)
    assert.deepEqual(await ids({ sessionId: SESSION }), ['manual.two', ATTEMPT_ID, 'manual.one'])
    assert.deepEqual(await ids({ state: 'open' }), [ATTEMPT_ID])
    assert.deepEqual(await ids({ sessionId: SESSION, state: 'void', limit: 1 }), ['manual.two'])
    await failure(() => store.attempts({ sessionId: 'nobody' }), 'SessionNotFound')
  },
}

/** Rule 4: attempts are rows. */
export const openingTests: Readonly<Record<string, StoreTests>> = {
  openAttempt: openAttemptTests,
  attempts: attemptsTests,
}
