import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { runHistory, runIds } from '../support/history.ts'
import { agentOf, assertValid, type OwnStage, openOwnStage, rootMessage } from '../support/own-stage.ts'
import type { handAgent, logAgent } from '../support/own-workflows.ts'
import { resetBefore } from '../support/reset.ts'

let own: OwnStage
before(async () => {
  own = await openOwnStage()
})
after(() => own.close())

const oursIn = (names: readonly string[]) => names.filter((name) => name.startsWith('session'))

describe('a workflow of one’s own, log mode', { concurrency: true }, () => {
  test('B1 below the threshold its hooks cost no event, and no message is in its history', async () => {
    const { handle, sessionId } = await own.start<typeof logAgent>('logAgent', { steps: 3 })
    const { history } = await handle.result()
    assert.deepEqual(history, [])
    const names = await own.activitiesOf(sessionId)
    assert.deepEqual(names, ['sessionOpen', 'begin', 'think', 'act', 'think', 'act', 'think', 'finish'])
    const { events } = await runHistory(own.client, agentOf(sessionId))
    assert.ok(events.every(({ type }) => !/CHILD|TIMER|MARKER/.test(type)))
    const whole = JSON.stringify(await own.client.workflow.getHandle(agentOf(sessionId)).fetchHistory())
    assert.ok(!Buffer.from(whole).includes('d29yZCB3b3Jk'), 'the text of a result')
  })

  test('B2 pressure compacts before the request, and the next requests are valid', async () => {
    const { handle, sessionId } = await own.start<typeof logAgent>('logAgent', { steps: 7 })
    const { history } = await handle.result()
    assert.deepEqual(
      history.map(({ cause, outcome, turn }) => [cause, outcome, turn]),
      [['pressure', 'compacted', 1]],
    )
    assert.equal(own.requestsOf(sessionId).length, 7)
    own.requestsOf(sessionId).forEach(assertValid)
    assert.match(JSON.stringify(own.requestsOf(sessionId).at(-1)?.[0]), /Checkpoint written by code/)
    assert.equal((await own.typesOf(sessionId)).filter((type) => type === 'assistant/message').length, 7)
  })

  test('C1 a refused request is compacted for and made again', async () => {
    const { handle, sessionId } = await own.start<typeof logAgent>('logAgent', { steps: 4 })
    own.refuseAbove.set(sessionId, 24_000)
    const { history, retries } = await handle.result()
    assert.ok(retries.length > 0 && retries.every(Boolean), String(retries))
    assert.ok(history.every(({ cause, outcome }) => cause === 'context-overflow' && outcome === 'compacted'))
    own.requestsOf(sessionId).forEach(assertValid)
  })

  test('C4 a surface that cannot shrink: no retry, and the provider’s own error', async () => {
    const { handle, sessionId } = await own.start<typeof logAgent>('logAgent', { steps: 2 })
    own.refuseAbove.set(sessionId, 10)
    await assert.rejects(handle.result(), (error: Error) => {
      assert.match(rootMessage(error), /^400 prompt is too long/)
      return true
    })
    const keys = (await own.log(sessionId)).map(({ key }) => key)
    assert.ok(!keys.some((key) => key.startsWith('compact')), 'nothing was opened')
  })

  test('continue-as-new: carry() goes on without opening the session again', async () => {
    const { handle, sessionId } = await own.start<typeof logAgent>('logAgent', {
      steps: 3,
      turns: 3,
      rollOver: true,
    })
    const { history, carriedBytes } = await handle.result()
    assert.ok(history.length > 0 && history.every(({ outcome }) => outcome === 'compacted'))
    assert.ok(carriedBytes <= 4096, `${carriedBytes} bytes`)
    const runs = await eventually(
      () => runIds(own.client, agentOf(sessionId)),
      (ids) => ids.length === 3,
    )
    const opened = await Promise.all(
      runs.map(async (run) => oursIn(await own.activitiesOf(sessionId, run)).length),
    )
    assert.deepEqual(opened, [1, 0, 0])
    assert.equal((await own.typesOf(sessionId)).filter((type) => type === 'turn/end').length, 3)
  })

  test('I8 reset to its first request: what was paid is not paid again, and nothing is written twice', async () => {
    const { handle, sessionId } = await own.start<typeof logAgent>('logAgent', { steps: 7 })
    await handle.result()
    const [paid, before] = [own.requestsOf(sessionId).length, await own.log(sessionId)]
    await resetBefore(own.client, agentOf(sessionId), 'ACTIVITY_TASK_SCHEDULED', 'think')
    const again = await own.client.workflow.getHandle<typeof logAgent>(agentOf(sessionId)).result()
    assert.equal(own.requestsOf(sessionId).length, paid)
    assert.deepEqual(await own.log(sessionId), before)
    assert.deepEqual(again.retries, [])
  })
})

describe('compactions that a workflow of one’s own asks for', () => {
  test('D10 cancelled by its scope, a bad region, done, and nothing left to take', async () => {
    const { handle, sessionId } = await own.start<typeof handAgent>('handAgent', { steps: 5 })
    const [cancelled, region, done, nothing, history] = (await handle.result()) as [
      { name: string },
      { type: string },
      { outcome: string; compactionId: string },
      null,
      { compactionId: string; errorCode?: string }[],
    ]
    assert.equal(cancelled.name, 'CancelledFailure')
    assert.equal(region.type, 'InvalidSpan')
    assert.equal(done.outcome, 'compacted')
    assert.equal(nothing, null)
    assert.equal(history.at(-1)?.errorCode, 'cancelled')
    const ends = (await own.log(sessionId)).flatMap((event) =>
      event.type === 'compact/end' ? [event.data] : [],
    )
    assert.deepEqual(
      ends.map(({ error, turn }) => [error?.code, turn]),
      [
        ['cancelled', 1],
        [undefined, 1],
      ],
    )
  })

  test('a session has one open workflow: another one is refused', async () => {
    const { handle, sessionId } = await own.start<typeof handAgent>('handAgent', { steps: 5 })
    await eventually(
      () => own.store.session(sessionId),
      (session) => session !== null,
    )
    const rival = own.client.workflow.execute<typeof logAgent>('logAgent', {
      taskQueue: own.worker.taskQueue,
      workflowId: `rival-of-${sessionId}`,
      args: [{ sessionId, steps: 1 }],
    })
    await assert.rejects(rival, (error: Error) => {
      assert.match(rootMessage(error), /belongs to workflow agent-of-/)
      return true
    })
    await handle.terminate()
  })
})
