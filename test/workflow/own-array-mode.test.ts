import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { agentOf, assertValid, type OwnStage, openOwnStage, rootMessage } from '../support/own-stage.ts'
import type { arrayAgent } from '../support/own-workflows.ts'
import { resetBefore } from '../support/reset.ts'

let own: OwnStage
before(async () => {
  own = await openOwnStage()
})
after(() => own.close())

const oursIn = (names: readonly string[]) => names.filter((name) => name.startsWith('session'))

describe('a workflow of one’s own, array mode', { concurrency: true }, () => {
  // In each of these the workflow compares its messages with the store's before every request, byte for byte.
  test('B2 pressure compacts, the array stays the surface, one activity a step', async () => {
    const { handle, sessionId } = await own.start<typeof arrayAgent>('arrayAgent', { steps: 7 })
    const { history, messages = [] } = await handle.result()
    assert.deepEqual(
      history.map(({ cause, outcome }) => [cause, outcome]),
      [['pressure', 'compacted']],
    )
    own.requestsOf(sessionId).forEach(assertValid)
    assert.match(JSON.stringify(messages[0]), /Checkpoint written by code/)
    assert.equal(messages.at(-1)?.role, 'assistant')
    const ours = oursIn(await own.activitiesOf(sessionId))
    assert.equal(ours.filter((name) => name === 'sessionSync').length, 8, 'a step each, and the end')
    assert.equal(ours.filter((name) => name === 'sessionMessages').length, 1, 'only after the compaction')
  })

  test('C1 a refused request is compacted for and made again', async () => {
    const { handle, sessionId } = await own.start<typeof arrayAgent>('arrayAgent', { steps: 4 })
    own.refuseAbove.set(sessionId, 24_000)
    const { retries } = await handle.result()
    assert.ok(retries.length > 0 && retries.every(Boolean), String(retries))
    own.requestsOf(sessionId).forEach(assertValid)
  })

  test('C4 a surface that cannot shrink: no retry, and the provider’s own error', async () => {
    const { handle, sessionId } = await own.start<typeof arrayAgent>('arrayAgent', { steps: 2 })
    own.refuseAbove.set(sessionId, 10)
    await assert.rejects(handle.result(), (error: Error) => {
      assert.match(rootMessage(error), /^400 prompt is too long/)
      return true
    })
  })

  test('continue-as-new: the next run goes on with the same array', async () => {
    const { handle, sessionId } = await own.start<typeof arrayAgent>('arrayAgent', {
      steps: 3,
      turns: 3,
      rollOver: true,
    })
    const { history, carriedBytes } = await handle.result()
    assert.ok(history.length > 0)
    assert.ok(carriedBytes <= 4096, `${carriedBytes} bytes`)
    const types = await own.typesOf(sessionId)
    assert.equal(types.filter((type) => type === 'turn/end').length, 3)
    assert.equal(types.filter((type) => type === 'assistant/message').length, 9)
  })

  test('an array with a past: it is imported, and the turn begins with its last message', async () => {
    const past = [
      { role: 'user' as const, content: 'Earlier.' },
      { role: 'assistant' as const, content: 'Yes.' },
    ]
    const { handle, sessionId } = await own.start<typeof arrayAgent>('arrayAgent', {
      steps: 2,
      messages: past,
    })
    await handle.result()
    const events = await own.log(sessionId)
    const said = events.flatMap((event) => (event.type === 'user/message' ? [event.data.source] : []))
    assert.deepEqual(said, ['import', 'prompt'])
  })

  test('B10 a result over the intake limit is cut in the array, too, and stays whole in the log', async () => {
    const { handle, sessionId } = await own.start<typeof arrayAgent>('arrayAgent', { steps: 2 })
    own.words.set(sessionId, 6_000)
    const { messages = [] } = await handle.result()
    const shown = JSON.stringify(messages)
    assert.ok(shown.length < 25_000, `${shown.length} characters`)
    const [output] = (await own.log(sessionId)).filter(({ type }) => type === 'tool/output')
    assert.ok(JSON.stringify(output?.data).length > 30_000)
  })

  test('I8 reset with a model that never says the same: both ways are in the log, the array is the surface', async () => {
    const { handle, sessionId } = await own.start<typeof arrayAgent>('arrayAgent', { steps: 3 })
    own.talkative.add(sessionId)
    await handle.result()
    const before = await own.log(sessionId)
    await resetBefore(own.client, agentOf(sessionId), 'ACTIVITY_TASK_SCHEDULED', 'reply')
    const { messages = [] } = await own.client.workflow
      .getHandle<typeof arrayAgent>(agentOf(sessionId))
      .result()
    const after = await own.log(sessionId)
    assert.deepEqual(after.slice(0, before.length), before, 'the log is never rolled back')
    assert.equal(after.filter(({ type }) => type === 'assistant/message').length, 6)
    assertValid([
      ...messages,
      { role: 'user', content: [{ type: 'text', text: 'And then?' } as { type: string }] },
    ])
  })
})
