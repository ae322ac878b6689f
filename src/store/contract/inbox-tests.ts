import assert from 'node:assert/strict'
import { LIMITS } from '../../shared/limits.ts'
import type { PutInbox } from '../../shared/ports/inbox.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import { text } from '../../shared/session/content.ts'
import { keys } from '../../shared/session/keys.ts'
import {
  AS_OWNER,
  appendTo,
  failure,
  NEXT_RUN,
  openTurn,
  refused,
  SESSION,
  type StoreTests,
} from './harness.ts'
import { assistantMessage, stepStart, userMessage } from './sample-events.ts'

const prompt = (requestId: string, words = 'hi', over: Partial<PutInbox> = {}): PutInbox => ({
  sessionId: SESSION,
  requestId,
  kind: 'prompt',
  body: [text(words)],
  ...over,
})
const settle = (store: SessionStore, requestId: string, state: 'done' | 'refused', outcome?: unknown) =>
  store.settleInbox({ ...AS_OWNER, rows: [{ requestId, state, outcome }] })

const putInboxTests: StoreTests = {
  'stores a request with its place in the log': async (store) => {
    await appendTo(store, null, [userMessage('a', 'a')])
    const row = await store.putInbox(prompt('p', 'hi', { delivery: 'no-wake' }))
    const { position: _, ...rest } = row
    assert.deepEqual(rest, {
      ...prompt('p'),
      delivery: 'no-wake',
      state: 'waiting',
      isNew: true,
      acceptedAt: 3,
      outcome: null,
    })
    assert.deepEqual(await store.inbox(SESSION), [{ ...row, isNew: false }])
  },
  'knows the same id with the same content, also later, and says what became of it': async (store) => {
    const first = await store.putInbox(
      prompt('p', 'hi', { body: [{ type: 'text', text: 'hi', a: 1, b: 2 }] }),
    )
    await settle(store, 'p', 'done', { turn: 7 })
    const again = await store.putInbox(
      prompt('p', 'hi', { body: [{ b: 2, a: 1, text: 'hi', type: 'text' }], delivery: 'next-step' }),
    )
    assert.deepEqual(
      [again.isNew, again.state, again.outcome, again.position],
      [false, 'done', { turn: 7 }, first.position],
    )
  },
  'refuses the same id with other content or of another kind': async (store) => {
    await store.putInbox(prompt('p', 'hi'))
    await refused(store, 'KeyConflict', () => store.putInbox(prompt('p', 'ho')))
    await refused(store, 'KeyConflict', () => store.putInbox(prompt('p', 'hi', { kind: 'compaction' })))
    await refused(store, 'KeyConflict', () =>
      store.putInbox(prompt('p', 'hi', { body: [text('hi'), text('')] })),
    )
  },
  'makes text well-formed before it compares': async (store) => {
    await store.putInbox(prompt('p', 'x\ud800'))
    assert.equal((await store.putInbox(prompt('p', 'x\ufffd'))).isNew, false)
    assert.deepEqual((await store.inbox(SESSION))[0]?.body, [text('x\ufffd')])
  },
  'takes odd ids and bodies byte for byte': async (store) => {
    const body = [text('a\0b \u{1f600} \u2028 "\\')]
    for (const requestId of ['a b', 'é\ud83d\ude00', "'; --", 'x'.repeat(256)]) {
      assert.equal((await store.putInbox(prompt(requestId, '', { body }))).requestId, requestId)
      assert.deepEqual((await store.inbox(SESSION, { requestIds: [requestId] }))[0]?.body, body)
    }
    await refused(store, 'InvalidInput', () => store.putInbox(prompt('a\0b')))
    await refused(store, 'InvalidInput', () => store.putInbox(prompt('p', '', { body: undefined })))
  },
  'makes ids well-formed, and finds them by either form': async (store) => {
    const row = await store.putInbox(prompt('x\ud800'))
    assert.equal(row.requestId, 'x\ufffd')
    for (const requestId of ['x\ud800', 'x\ufffd']) {
      assert.equal((await store.putInbox(prompt(requestId))).isNew, false)
      assert.equal((await store.inbox(SESSION, { requestIds: [requestId] })).length, 1)
    }
    await settle(store, 'x\ud800', 'done')
    assert.equal((await store.inbox(SESSION))[0]?.state, 'done')
  },
  'is full at its limit, for new requests only': async (store) => {
    for (let i = 0; i < LIMITS.waitingPrompts; i++) await store.putInbox(prompt(`p${i}`))
    const error = await refused(store, 'QueueFull', () => store.putInbox(prompt('more')))
    assert.deepEqual(error.details, { waiting: LIMITS.waitingPrompts, limit: LIMITS.waitingPrompts })
    assert.equal((await store.putInbox(prompt('p0'))).isNew, false)
    assert.equal(
      (await store.putInbox(prompt('c', '', { kind: 'compaction', body: { focus: 'x' } }))).isNew,
      true,
    )
    await settle(store, 'p0', 'done')
    assert.equal((await store.putInbox(prompt('more'))).isNew, true)
  },
  'to a closed session is refused, what it knew is known': async (store) => {
    await store.putInbox(prompt('p'))
    await store.closeSession({ ...AS_OWNER, requestId: 'bye' })
    await refused(store, 'SessionClosed', () => store.putInbox(prompt('q')))
    assert.equal((await store.putInbox(prompt('p'))).isNew, false)
  },
  'to an unknown session is refused': async (store) => {
    await failure(() => store.putInbox(prompt('p', 'hi', { sessionId: 'nobody' })), 'SessionNotFound')
    await failure(() => store.inbox('nobody'), 'SessionNotFound')
  },
}

const listingTests: StoreTests = {
  'lists in order of arrival, by state, kind and id': async (store) => {
    for (const id of ['c', 'a', 'b']) await store.putInbox(prompt(id))
    await store.putInbox(prompt('m', '', { kind: 'compaction', body: {} }))
    await settle(store, 'a', 'refused', { error: 'X' })
    const ids = async (query?: Parameters<SessionStore['inbox']>[1]) =>
      (await store.inbox(SESSION, query)).map((row) => row.requestId)
    assert.deepEqual(await ids(), ['c', 'a', 'b', 'm'])
    assert.deepEqual(await ids({ state: 'waiting' }), ['c', 'b', 'm'])
    assert.deepEqual(await ids({ kind: 'compaction' }), ['m'])
    assert.deepEqual(await ids({ requestIds: ['b', 'c', 'none'], state: 'waiting' }), ['c', 'b'])
    assert.deepEqual(await ids({ limit: 2 }), ['c', 'a'])
  },
}

const settleInboxTests: StoreTests = {
  'leaves a final row alone, and ids that it does not know': async (store) => {
    await store.putInbox(prompt('p'))
    await settle(store, 'p', 'refused', { error: 'X' })
    await settle(store, 'p', 'done', { turn: 1 })
    await settle(store, 'none', 'done')
    const [row] = await store.inbox(SESSION)
    assert.deepEqual([row?.state, row?.outcome], ['refused', { error: 'X' }])
  },
  'is for the owner': async (store) => {
    await store.putInbox(prompt('p'))
    await refused(store, 'NotOwner', () =>
      store.settleInbox({ sessionId: SESSION, actor: NEXT_RUN, rows: [{ requestId: 'p', state: 'done' }] }),
    )
  },
}

const theMeterTests: StoreTests = {
  'is null, then what was last written': async (store) => {
    assert.equal(await store.meter(SESSION), null)
    await store.putMeter({ ...AS_OWNER, meter: { v: 1, ratios: { 'p/m': 1.25 } } })
    await appendTo(store, null, [userMessage('a', 'a')], { meter: { v: 1, ratios: {} } })
    assert.deepEqual(await store.meter(SESSION), { v: 1, ratios: {} })
    await appendTo(store, null, [userMessage('a', 'a')], { meter: { v: 9 } })
    assert.deepEqual(
      await store.meter(SESSION),
      { v: 1, ratios: {} },
      'a batch that was recorded before writes no meter',
    )
    await refused(store, 'NotOwner', () => store.putMeter({ sessionId: SESSION, actor: NEXT_RUN, meter: {} }))
  },
}

const put = (store: SessionStore, index: number, words: string) =>
  store.putDelta({ sessionId: SESSION, key: keys.assistant(1, 1), index, text: words })
const live = async (store: SessionStore) =>
  (await store.deltas(SESSION, keys.assistant(1, 1))).map((delta) => delta.text).join('|')

const liveTextTests: StoreTests = {
  'is in order, begins anew with index 0, and leaves when its message lands': async (store) => {
    await openTurn(store)
    for (const [index, words] of ['a', 'b\0', 'c\ud800'].entries()) await put(store, index, words)
    assert.equal(await live(store), 'a|b\0|c\ufffd')
    await put(store, 0, 'again')
    assert.equal(await live(store), 'again')
    await store.putDelta({ sessionId: SESSION, key: keys.assistant(1, 2), index: 0, text: 'other' })
    await appendTo(store, 1, [stepStart(1, 1), assistantMessage(1, 1, 'again and more')])
    assert.equal(await live(store), '')
    await put(store, 1, 'late')
    assert.equal(await live(store), '')
    assert.equal((await store.deltas(SESSION, keys.assistant(1, 2))).length, 1)
  },
  'is dropped when its turn has ended, also for a message that never landed': async (store) => {
    await openTurn(store)
    await appendTo(store, 1, [stepStart(1, 1)])
    await store.endTurn({ ...AS_OWNER, turn: 1, reason: 'aborted' })
    await put(store, 0, 'late')
    assert.equal(await live(store), '')
  },
}

/** Rules 2 and 6: what a caller sent, before it is acknowledged. Also the meter and the live text. */
export const inboxTests: Readonly<Record<string, StoreTests>> = {
  putInbox: putInboxTests,
  inbox: listingTests,
  settleInbox: settleInboxTests,
  'the meter': theMeterTests,
  'live text': liveTextTests,
}
