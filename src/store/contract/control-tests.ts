import assert from 'node:assert/strict'
import type { PutInbox } from '../../shared/ports/inbox.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import { keys } from '../../shared/session/keys.ts'
import { AS_OWNER, appendTo, NEXT_RUN, refused, SESSION, type StoreTests } from './harness.ts'
import { event } from './sample-events.ts'

const control = (requestId: string, over: Partial<PutInbox> = {}): PutInbox => ({
  sessionId: SESSION,
  requestId,
  kind: 'control',
  body: { kind: 'pin', text: requestId },
  ...over,
})
const pin = (id: string) => event(keys.pin(id), 'session/pin', { id, text: id })
const stateOf = async (store: SessionStore, requestId: string) => {
  const [row] = await store.inbox(SESSION, { requestIds: [requestId] })
  return [row?.state, row?.outcome]
}

const settlesTests: StoreTests = {
  'a batch settles the rows that it serves, in its own transaction': async (store) => {
    await store.putInbox(control('a'))
    const written = await appendTo(store, null, [pin('a')], {
      settles: [{ requestId: 'a', outcome: { seq: 2 } }],
    })
    assert.equal(written.recorded, false)
    assert.deepEqual(await stateOf(store, 'a'), ['done', { seq: 2 }])
  },
  'a batch that was written before settles them too; a settled row stays as it is': async (store) => {
    await appendTo(store, null, [pin('a')])
    await store.putInbox(control('a'))
    const again = (seq: number) =>
      appendTo(store, null, [pin('a')], { settles: [{ requestId: 'a', outcome: { seq } }] })
    assert.equal((await again(2)).recorded, true)
    await again(9)
    assert.deepEqual(await stateOf(store, 'a'), ['done', { seq: 2 }])
  },
  'a batch that is refused settles nothing': async (store) => {
    await store.putInbox(control('a'))
    const rest = { settles: [{ requestId: 'a', outcome: {} }] }
    await refused(store, 'HeadMoved', () => appendTo(store, null, [pin('a')], { ...rest, expectedHead: 1 }))
    await refused(store, 'NotOwner', () => appendTo(store, null, [pin('a')], { ...rest, actor: NEXT_RUN }))
    await refused(store, 'LogRejected', () => appendTo(store, null, [event('x', 'session/close', {})], rest))
    assert.deepEqual(await stateOf(store, 'a'), ['waiting', null])
  },
}

const closeTests: StoreTests = {
  'closing the session refuses the control requests that wait, and no others': async (store) => {
    await store.putInbox(control('a'))
    await store.putInbox(control('done'))
    await store.settleInbox({
      ...AS_OWNER,
      rows: [{ requestId: 'done', state: 'done', outcome: { seq: 1 } }],
    })
    await store.putInbox(control('p', { kind: 'prompt', body: [] }))
    await store.closeSession({ ...AS_OWNER, requestId: 'c' })
    const [state, outcome] = await stateOf(store, 'a')
    assert.equal(state, 'refused')
    assert.match(JSON.stringify(outcome), /SessionClosed/)
    assert.deepEqual(await stateOf(store, 'done'), ['done', { seq: 1 }])
    assert.deepEqual(await stateOf(store, 'p'), ['waiting', null])
    await refused(store, 'SessionClosed', () => store.putInbox(control('b')))
  },
}

/** Control requests: pin, unpin, undo, configure. */
export const controlTests: Readonly<Record<string, StoreTests>> = {
  'control requests: settled with their events': settlesTests,
  'control requests: close': closeTests,
}
