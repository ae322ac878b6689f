import assert from 'node:assert/strict'
import { text } from '../../shared/session/content.ts'
import { keys } from '../../shared/session/keys.ts'
import {
  AS_OWNER,
  allEvents,
  appendTo,
  assertFolded,
  NEXT_RUN,
  OWNER,
  SESSION,
  type StoreTests,
} from './harness.ts'
import { ATTEMPT_ID, committing, openPlanned, twoMessages } from './sample-attempt.ts'
import { sampleHeader, userMessage } from './sample-events.ts'

const twoHandlesTests: StoreTests = {
  'see what the other wrote at once': async (store, { second }) => {
    const other = await second()
    await appendTo(store, null, [userMessage('a', 'a')])
    await appendTo(other, null, [userMessage('b', 'b')], { expectedHead: 3 })
    assert.deepEqual(await allEvents(store), await allEvents(other))
    await assertFolded(other)
  },
  'create one session': async (store, { second }) => {
    const other = await second()
    const create = { sessionId: 'both', actor: OWNER, lifeRunId: 'r', header: sampleHeader() }
    const [a, b] = await Promise.all([store.createSession(create), other.createSession(create)])
    assert.deepEqual(a, b)
    assert.equal((await allEvents(store, 'both')).length, 2)
  },
  'write each key once, and every acknowledged event': async (store, { second }) => {
    const other = await second()
    const writes = Array.from({ length: 60 }, (_, i) => {
      const batch = [userMessage(`m${i % 40}`, `${i}`), userMessage(`n${i}`, `${i}`)]
      return appendTo(i % 2 === 0 ? store : other, null, batch)
    })
    const written = await Promise.all(writes)
    const stored = await allEvents(store)
    const byKey = new Map(stored.map((event) => [event.key, event]))
    assert.equal(byKey.size, stored.length)
    for (const { events } of written)
      for (const event of events) assert.deepEqual(byKey.get(event.key), event)
    assert.equal(written.filter((result) => !result.recorded).length, 40)
    await assertFolded(other)
  },
  'give one turn to one prompt, one attempt to one id, one end to one attempt': async (store, { second }) => {
    const other = await second()
    const planned = await twoMessages(store)
    const opened = await Promise.all([store, other].map((handle) => openPlanned(handle, planned)))
    assert.deepEqual(opened[0], opened[1])
    const ended = await Promise.all([
      store.commitAttempt(committing()),
      other.closeAttempt({
        sessionId: SESSION,
        compactionId: ATTEMPT_ID,
        error: { code: 'cancelled', stage: 'test', message: 'x' },
      }),
    ])
    assert.deepEqual(ended[0], ended[1])
    const messages = [{ requestId: 'q', content: [text('hi')], source: 'prompt' as const, tokens: 2 }]
    const turns = await Promise.all(
      [store, other].map((handle) => handle.startTurn({ ...AS_OWNER, requestId: 'q', messages })),
    )
    assert.deepEqual(turns.map((turn) => turn.status).sort(), ['new', 'resumed'])
    await assertFolded(store)
  },
  'let one of two runs take over': async (store, { second }) => {
    const other = await second()
    const take = { sessionId: SESSION, lifeRunId: 'run-1', expectedFence: 1 }
    const results = await Promise.allSettled([
      store.takeOver({ ...take, actor: NEXT_RUN }),
      other.takeOver({ ...take, actor: { workflowId: 'w', runId: 'run-3' } }),
    ])
    assert.deepEqual(results.map((result) => result.status).sort(), ['fulfilled', 'rejected'])
  },
  'put one request into the inbox once': async (store, { second }) => {
    const other = await second()
    const put = { sessionId: SESSION, requestId: 'p', kind: 'prompt' as const, body: [text('hi')] }
    const rows = await Promise.all([store, other, store, other].map((handle) => handle.putInbox(put)))
    assert.equal(rows.filter((row) => row.isNew).length, 1)
    assert.equal(new Set(rows.map((row) => row.position)).size, 1)
  },
  'keep the log when one closes': async (store, { second }) => {
    const other = await second()
    await appendTo(other, null, [userMessage('a', 'a')])
    await other.close()
    assert.equal((await store.eventByKey(SESSION, keys.prompt('a')))?.seq, 2)
  },
}

/** Rule 7: several handles on one store at once, as several processes have them. */
export const handlesTests: Readonly<Record<string, StoreTests>> = {
  'two handles': twoHandlesTests,
}
