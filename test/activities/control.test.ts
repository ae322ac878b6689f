import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, RUN_1, SESSION } from '../support/activity-stage.ts'

// Control requests, served by the activity: what the inbox holds and what came inline.

test('bodies that came inline find room in an inbox that is full: what waits there is served first', async () => {
  const stage = await openStage()
  const put = (requestId: string) =>
    stage.store.putInbox({
      sessionId: SESSION,
      requestId,
      kind: 'control',
      body: { kind: 'unpin', id: requestId },
    })
  await Promise.all(Array.from({ length: 100 }, (_, n) => put(`stored-${n}`)))
  await assert.rejects(put('one-more'), { name: 'QueueFull' })
  const body = { kind: 'pin', text: 'Blue.' } as const
  const served = await stage.run(RUN_1, 'sessionControl', { requests: [{ requestId: 'inline', body }] })
  assert.equal(served.refused, 0)
  const rows = await stage.store.inbox(SESSION, { kind: 'control' })
  assert.deepEqual(
    [rows.length, rows.filter(({ state }) => state === 'waiting').length, rows.at(-1)?.state],
    [101, 0, 'done'],
  )
})

test('a request that fails for no known reason is refused in the end: it must not stop its session', async () => {
  const stage = await openStage()
  const text = 'Blue.'
  Object.assign(stage.store, {
    events: async () => {
      throw new TypeError('undefined is not a function')
    },
  })
  const requests = [{ requestId: 'odd', body: { kind: 'pin', text } as const }]
  await assert.rejects(stage.run(RUN_1, 'sessionControl', { requests }, 4), /undefined is not a function/)
  await stage.run(RUN_1, 'sessionControl', { requests: [] }, 5)
  const [row] = await stage.store.inbox(SESSION, { kind: 'control' })
  assert.equal(row?.state, 'refused')
  assert.match(JSON.stringify(row?.outcome), /pin failed each time: undefined is not a function/)
})
