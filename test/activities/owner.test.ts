import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actor } from '../../src/shared/ports/store.ts'
import { type ActivityStage, openStage, RUN_1, RUN_2, SESSION } from '../support/activity-stage.ts'

// The fence: a write is of the run that owns the session, and only the server says which run that may be.

const prompt = { requestId: 'p', message: 'hello' }

/** Fails by this name, not to be retried, and leaves log and owner as they were. */
async function refused(stage: ActivityStage, type: string, write: () => Promise<unknown>, why: RegExp) {
  const before = [await stage.store.session(SESSION), await stage.store.events(SESSION)]
  await assert.rejects(write(), (error: unknown) => {
    const {
      type: found,
      message,
      nonRetryable,
    } = error as { type: string; message: string; nonRetryable: boolean }
    assert.deepEqual([found, nonRetryable], [type, true], message)
    assert.match(message, why)
    return true
  })
  assert.deepEqual([await stage.store.session(SESSION), await stage.store.events(SESSION)], before)
}

const ownerOf = async ({ store }: ActivityStage) => (await store.session(SESSION))?.owner.runId

describe('† the fence is the owner run', () => {
  test('the owner writes without asking the server', async () => {
    const stage = await openStage()
    const { asked } = stage.server
    await stage.run(RUN_1, 'sessionStartTurn', prompt)
    assert.equal(stage.server.asked, asked)
  })

  test('a stale run is Fenced and writes nothing: after a reset another run is the current one', async () => {
    const stage = await openStage()
    stage.server.setCurrent(RUN_2)
    await stage.run(RUN_2, 'sessionStartTurn', prompt)
    await refused(
      stage,
      'Fenced',
      () => stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 }),
      /run-1 .*may not write: the current run is run-2/,
    )
    assert.equal(await ownerOf(stage), 'run-2')
  })

  test('a run that has ended, and one that the server does not know, are Fenced', async () => {
    const stage = await openStage()
    stage.server.setCurrent(RUN_2, { running: false })
    await refused(stage, 'Fenced', () => stage.run(RUN_2, 'sessionStartTurn', prompt), /run-2, closed/)
    const unknown: Actor = { workflowId: 'nobody', runId: 'run-2' }
    await refused(stage, 'Fenced', () => stage.run(unknown, 'sessionStartTurn', prompt), /does not know it/)
  })

  test('the new run takes over with its first write, in the same life; the open turn goes on', async () => {
    const stage = await openStage()
    const { turn } = await stage.run(RUN_1, 'sessionStartTurn', prompt)
    stage.server.setCurrent(RUN_2)
    const again = await stage.run(RUN_2, 'sessionStartTurn', { requestId: 'p' })
    assert.deepEqual([again.turn, again.status], [turn, 'resumed'])
    const reply = await stage.run(RUN_2, 'sessionCallModel', { turn, step: 1 })
    assert.equal(reply.kind, 'reply')
    const session = await stage.store.session(SESSION)
    assert.deepEqual([session?.owner.runId, session?.life, session?.fence], ['run-2', 1, 2])
  })

  test('the owner changed while the server was asked: asks again, and the older answer gives no right', async () => {
    const stage = await openStage()
    stage.server.setCurrent(RUN_2)
    const run3: Actor = { workflowId: SESSION, runId: 'run-3' }
    stage.server.onAnswer = async () => {
      // Run 2 was the current one when the server answered; before it hears that, a reset makes run 3, which takes over.
      stage.server.onAnswer = async () => {}
      stage.server.setCurrent(run3)
      await stage.run(run3, 'sessionStartTurn', prompt)
    }
    const asked = stage.server.asked
    await assert.rejects(
      stage.run(RUN_2, 'sessionStartTurn', { requestId: 'other', message: 'too late' }),
      (error: { type?: string }) => error.type === 'Fenced',
    )
    assert.equal(stage.server.asked - asked, 3, 'run 2 twice, run 3 once')
    assert.equal(await ownerOf(stage), 'run-3')
    const turns = (await stage.store.events(SESSION)).filter((event) => event.type === 'turn/start')
    assert.equal(turns.length, 1)
    assert.equal((await stage.run(run3, 'sessionCallModel', { turn: 1, step: 1 })).kind, 'reply')
  })

  test('a server that cannot be asked is no answer: nothing is written, and the next attempt of the activity writes', async () => {
    const stage = await openStage()
    stage.server.setCurrent(RUN_2)
    stage.server.onAnswer = async () => Promise.reject(new Error('connection refused'))
    await assert.rejects(stage.run(RUN_2, 'sessionStartTurn', prompt), (error: unknown) => {
      assert.equal((error as { nonRetryable?: boolean }).nonRetryable, false)
      return /connection refused/.test(String(error))
    })
    assert.equal(await ownerOf(stage), 'run-1')
    stage.server.onAnswer = async () => {}
    assert.equal((await stage.run(RUN_2, 'sessionStartTurn', prompt, 2)).status, 'new')
  })

  test('another workflow takes over only when the owner has closed', async () => {
    const stage = await openStage()
    const other: Actor = { workflowId: 'mine', runId: 'run-9' }
    stage.server.setCurrent(other, { firstRunId: 'run-9' })
    const open = () => stage.run(other, 'sessionOpen', {})
    await refused(stage, 'SessionOwned', open, /belongs to workflow s1, which is still open: close it/)
    stage.server.setCurrent(RUN_1, { running: false })
    assert.equal((await open()).life, 2)
    assert.equal(await ownerOf(stage), 'run-9')
  })
})
