import assert from 'node:assert/strict'
import type { SessionStore } from '../../shared/ports/store.ts'
import { text } from '../../shared/session/content.ts'
import { keys } from '../../shared/session/keys.ts'
import {
  AS_OWNER,
  allEvents,
  appendTo,
  assertFolded,
  failure,
  NEW_LIFE,
  NEXT_RUN,
  OWNER,
  openTurn,
  refused,
  SESSION,
  type StoreTests,
} from './harness.ts'
import { openPlanned, twoMessages } from './sample-attempt.ts'
import { assistantMessage, sampleHeader, stepStart, userMessage } from './sample-events.ts'

const CREATE = { ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader() }
const takeOver = (store: SessionStore, actor: typeof OWNER, lifeRunId = 'run-1', expectedFence = 1) =>
  store.takeOver({ sessionId: SESSION, actor, lifeRunId, expectedFence })

const createSessionTests: StoreTests = {
  'writes the first events of life 1': async (store) => {
    const row = await store.createSession({ ...CREATE, sessionId: 'fresh' })
    assert.deepEqual(
      [
        row.sessionId,
        row.owner,
        row.lifeRunId,
        row.fence,
        row.life,
        row.closed,
        row.head,
        row.generation,
        row.headerSeq,
      ],
      ['fresh', OWNER, 'run-1', 1, 1, false, 2, 0, 1],
    )
    assert.deepEqual([row.openTurn, row.lastTurn, row.openStep, row.openCompactionId], [null, 0, 0, null])
    assert.deepEqual(row.header, CREATE.header)
    assert.deepEqual(
      (await allEvents(store, 'fresh')).map((event) => event.type),
      ['session/start', 'request/header'],
    )
    assert.deepEqual(await store.session('fresh'), row)
    await assertFolded(store, 'fresh')
  },
  'comes back to the same run, and to no other': async (store) => {
    const again = await store.createSession({ ...CREATE, header: sampleHeader({ system: 'other' }) })
    assert.deepEqual(again, await store.session(SESSION))
    const error = await refused(store, 'NotOwner', () => store.createSession({ ...CREATE, actor: NEXT_RUN }))
    assert.deepEqual(error.details, { owner: OWNER, fence: 1 })
  },
  'refuses odd ids and headers': async (store) => {
    for (const sessionId of ['', 'a/b', 'a b', 'é', 'x'.repeat(65)]) {
      await failure(() => store.createSession({ ...CREATE, sessionId }), 'InvalidInput')
    }
    const header = { ...sampleHeader(), model: 7 } as unknown as typeof CREATE.header
    assert.equal((await store.sessions()).length, 1)
    const odd = { ...CREATE, sessionId: 'odd' }
    await failure(() => store.createSession({ ...odd, header }), 'InvalidInput')
    assert.equal(await store.session('odd'), null)
  },
  'keeps sessions apart; the list is newest activity first': async (store) => {
    for (const sessionId of ['one', 'two', 'three']) await store.createSession({ ...CREATE, sessionId })
    await store.append({ sessionId: 'one', actor: OWNER, turn: null, events: [userMessage('a', 'a')] })
    const listed = (await store.sessions()).map((row) => row.sessionId)
    assert.deepEqual([...listed].sort(), ['one', SESSION, 'three', 'two'])
    assert.equal((await store.sessions({ limit: 2 })).length, 2)
    assert.equal((await store.session('two'))?.head, 2)
    assert.equal((await store.surface('two')).nodes.length, 0)
  },
}

const takeOverTests: StoreTests = {
  'by the next run of the chain changes the owner and nothing else': async (store) => {
    await openTurn(store)
    const row = await takeOver(store, NEXT_RUN)
    assert.deepEqual([row.owner, row.fence, row.life, row.openTurn, row.head], [NEXT_RUN, 2, 1, 1, 4])
    await refused(store, 'NotOwner', () => appendTo(store, null, [userMessage('a', 'late')]))
    await appendTo(store, 1, [userMessage('a', 'in time', { turn: 1 })], { actor: NEXT_RUN })
  },
  'is put if absent: the owner gets its row, a run that was replaced never owns again': async (store) => {
    const row = await takeOver(store, NEXT_RUN)
    assert.deepEqual(await takeOver(store, NEXT_RUN, 'run-1', 99), row)
    const error = await refused(store, 'NotOwner', () => takeOver(store, OWNER, 'run-1', 2))
    assert.deepEqual(error.details, { owner: NEXT_RUN, fence: 2 })
  },
  'after a rival’s takeover must ask again': async (store) => {
    await takeOver(store, NEXT_RUN)
    const error = await refused(store, 'HeadMoved', () =>
      takeOver(store, { workflowId: 'w', runId: 'run-3' }),
    )
    assert.equal(error.details['fence'], 2)
  },
  'closes an open attempt as interrupted': async (store) => {
    const plan = await twoMessages(store)
    await openPlanned(store, plan)
    await takeOver(store, NEXT_RUN)
    const attempt = await store.attempt(SESSION, 'manual.m')
    assert.deepEqual(
      [attempt?.state, attempt?.outcome?.outcome, attempt?.outcome?.error?.code],
      ['ended', 'failed', 'interrupted'],
    )
    assert.equal(
      (await store.eventByKey(SESSION, keys.compactEnd('manual.m')))?.seq,
      attempt?.outcome?.endSeq,
    )
  },
  'by a new life also ends the open turn and opens a closed session': async (store) => {
    const turn = await openTurn(store)
    await appendTo(store, 1, [stepStart(1, 1), assistantMessage(1, 1, 'look', ['c1', 'c2'])])
    await store.closeSession({ ...AS_OWNER, requestId: 'bye' })
    const row = await takeOver(store, NEW_LIFE, 'run-9')
    assert.deepEqual([row.life, row.lifeRunId, row.closed, row.openTurn], [2, 'run-9', false, null])
    const ended = await store.turnByRequest(SESSION, 'q')
    assert.deepEqual([ended?.turn, ended?.status, ended?.endReason], [turn.turn, 'ended', 'interrupted'])
    const types = (await allEvents(store)).slice(7).map((event) => event.type)
    assert.deepEqual(types, ['tool/result', 'tool/result', 'step/end', 'turn/end', 'session/end-seed'])
  },
  'by a new life closes the turn’s attempt before the turn': async (store) => {
    await openTurn(store)
    const { head, generation } = await store.surface(SESSION)
    const plan = {
      shadowedSeqs: [3],
      shadowedTokenCount: 2,
      generation,
      chunkEnds: [3],
      tokensBefore: 2,
      checkpointTokens: 10,
    }
    await openPlanned(store, { head, plan, turn: 1 })
    await takeOver(store, NEW_LIFE, 'run-9')
    const types = (await allEvents(store)).slice(4).map((event) => event.type)
    assert.deepEqual(types, ['compact/start', 'compact/end', 'turn/end', 'session/end-seed'])
  },
  'of an unknown session is refused': async (store) => {
    const take = { sessionId: 'nobody', actor: NEXT_RUN, lifeRunId: 'r', expectedFence: 1 }
    await failure(() => store.takeOver(take), 'SessionNotFound')
  },
}

const closeSessionTests: StoreTests = {
  'refuses prompts from then on and keeps those that wait': async (store) => {
    await store.putInbox({ sessionId: SESSION, requestId: 'p', kind: 'prompt', body: [text('hi')] })
    const closed = await store.closeSession({ ...AS_OWNER, requestId: 'bye', reason: 'done' })
    assert.deepEqual(closed.events[0]?.data, { reason: 'done' })
    assert.equal((await store.session(SESSION))?.closed, true)
    await refused(store, 'SessionClosed', () => openTurn(store))
    await refused(store, 'SessionClosed', () =>
      store.putInbox({ sessionId: SESSION, requestId: 'p2', kind: 'prompt', body: [text('hi')] }),
    )
    assert.deepEqual(
      (await store.inbox(SESSION, { state: 'waiting' })).map((row) => row.requestId),
      ['p'],
    )
  },
  'happens once a life': async (store) => {
    const first = await store.closeSession({ ...AS_OWNER, requestId: 'bye' })
    for (const requestId of ['bye', 'other']) {
      const again = await store.closeSession({ ...AS_OWNER, requestId })
      assert.deepEqual([again.recorded, again.events], [true, first.events])
    }
  },
  'lets the running turn end': async (store) => {
    await openTurn(store)
    await store.closeSession({ ...AS_OWNER, requestId: 'bye' })
    await appendTo(store, 1, [userMessage('a', 'still', { turn: 1 })])
    await store.endTurn({ ...AS_OWNER, turn: 1, reason: 'completed' })
    assert.equal((await openTurn(store)).status, 'ended')
  },
}

/** Rule 3: the fence is the owner run. */
export const sessionsTests: Readonly<Record<string, StoreTests>> = {
  createSession: createSessionTests,
  takeOver: takeOverTests,
  closeSession: closeSessionTests,
}
