import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { WorkflowUpdateFailedError } from '@temporalio/client'
import { promptSignal, sessionStateQuery, submitPromptUpdate } from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import type { Script } from '../support/fake-session.ts'
import { Gate } from '../support/gate.ts'
import { openSessions, type TestSessions } from '../support/sessions.ts'

let sessions: TestSessions
before(async () => {
  sessions = await openSessions()
})
after(() => sessions.close())

const holdFirstTurn = (gate: Gate): Script => ({
  async callModel({ turn }) {
    if (turn === 1) await gate.wait()
    return {}
  },
})

describe('prompts', { concurrency: true }, () => {
  test('run in order, one turn each', async () => {
    const { handle, session } = await sessions.start()
    for (const id of ['a', 'b', 'c'])
      await handle.signal(promptSignal, { requestId: id, content: `prompt ${id}` })
    await session.whenEnded(3)
    assert.deepEqual(session.lines('turn'), [
      'turn 1 start a',
      'turn 1 end completed',
      'turn 2 start b',
      'turn 2 end completed',
      'turn 3 start c',
      'turn 3 end completed',
    ])
  })

  test('a prompt without an id gets one that names life, count and content, and runs once', async () => {
    const { handle, session } = await sessions.start()
    await handle.signal(promptSignal, { content: 'same' })
    await handle.signal(promptSignal, { content: 'same' })
    await session.whenEnded(2)
    const [first, second] = session.turns.map((turn) => turn.requestId)
    assert.match(first ?? '', /^auto-[0-9a-f]{8}-1-[0-9a-f]{8}$/)
    assert.equal(second, first?.replace('-1-', '-2-'))
  })

  test('a stored prompt is named by its id alone; one that nobody stored is refused and the session goes on', async () => {
    const { handle, session } = await sessions.start()
    session.put({ requestId: 'stored' })
    await handle.signal(promptSignal, { requestId: 'nowhere' })
    await handle.signal(promptSignal, { requestId: 'stored' })
    await session.whenEnded(1)
    assert.deepEqual(session.lines('turn 1'), ['turn 1 start stored', 'turn 1 end completed'])
    assert.deepEqual(session.lines('accept'), [], 'a stored body costs no activity')
    await eventually(
      () => handle.query(sessionStateQuery),
      (state) => state.refusedMessages === 1,
    )
    await eventually(
      () => session.lines('settle'),
      (lines) => lines.length === 1,
    )
    assert.match(session.lines('settle')[0] ?? '', /^settle nowhere refused InvalidInput: /)
  })

  test('next-step joins the running turn before its next request, inline and stored', async () => {
    const gate = new Gate()
    const { handle, session } = await sessions.start({
      async callModel({ step }) {
        if (step > 1) return {}
        await gate.wait()
        return { calls: [{ callId: 'c', timeoutMs: 1000 }] }
      },
    })
    await handle.signal(promptSignal, { requestId: 'a', content: 'go' })
    await gate.reached
    session.put({ requestId: 'stored', delivery: 'next-step' })
    await handle.signal(promptSignal, { requestId: 'stored', delivery: 'next-step' })
    await handle.signal(promptSignal, { requestId: 'inline', content: 'and this', delivery: 'next-step' })
    gate.open()
    await session.whenEnded(1)
    assert.deepEqual(session.lines('joined'), ['joined stored t1.s2', 'joined inline t1.s2'])
    await eventually(
      () => handle.query(sessionStateQuery),
      (state) => state.status === 'idle',
    )
    assert.equal(session.turns.length, 1, 'a joined prompt begins no turn of its own')
  })

  test('next-step without a running turn begins one', async () => {
    const { handle, session } = await sessions.start()
    await handle.signal(promptSignal, { requestId: 'a', content: 'go', delivery: 'next-step' })
    await session.whenEnded(1)
    assert.deepEqual(session.lines('turn 1 start'), ['turn 1 start a'])
  })

  test('a next-step prompt that came too late for its turn begins the next one', async () => {
    const gate = new Gate()
    const { handle, session } = await sessions.start(holdFirstTurn(gate))
    await handle.signal(promptSignal, { requestId: 'a', content: 'go' })
    await gate.reached
    await handle.signal(promptSignal, { requestId: 'late', content: 'more', delivery: 'next-step' })
    gate.open()
    await session.whenEnded(2)
    assert.deepEqual(session.lines('turn 2 start'), ['turn 2 start late'])
  })

  test('no-wake waits for the next turn and is stored meanwhile', async () => {
    const { handle, session } = await sessions.start()
    await handle.signal(promptSignal, { requestId: 'quiet', content: 'by the way', delivery: 'no-wake' })
    await eventually(
      () => session.lines('accept'),
      (lines) => lines.length === 1,
    )
    await eventually(
      () => handle.query(sessionStateQuery),
      (state) => state.status === 'idle',
    )
    assert.deepEqual(session.turns, [])
    await handle.signal(promptSignal, { requestId: 'a', content: 'go' })
    await session.whenEnded(1)
    assert.deepEqual(session.lines('turn 1 start'), ['turn 1 start a quiet'])
  })

  test('the same id again runs once, while it waits, while it runs and after it ended', async () => {
    const gate = new Gate()
    const { handle, session } = await sessions.start(holdFirstTurn(gate))
    const send = (requestId: string) =>
      handle.executeUpdate(submitPromptUpdate, { args: [{ requestId, content: `text of ${requestId}` }] })
    assert.deepEqual(await send('a'), { requestId: 'a', status: 'queued', stored: false })
    await gate.reached
    assert.equal((await send('a')).status, 'known')
    assert.equal((await send('b')).status, 'queued')
    assert.equal((await send('b')).status, 'known')
    gate.open()
    await session.whenEnded(2)
    assert.equal(
      (await send('a')).status,
      'queued',
      'the workflow keeps no window of seen ids: the store knows them',
    )
    await send('c')
    await session.whenEnded(3)
    assert.deepEqual(
      session.turns.map((turn) => turn.requestId),
      ['a', 'b', 'c'],
    )
  })

  test('D15 the same id with other content is refused and disturbs nothing else', async () => {
    const gate = new Gate()
    const { handle, session } = await sessions.start(holdFirstTurn(gate))
    const send = (requestId: string, content: string) =>
      handle.executeUpdate(submitPromptUpdate, { args: [{ requestId, content }] })
    await send('a', 'one')
    await gate.reached
    await send('b', 'two')
    await assert.rejects(send('b', 'other'), hasType('KeyConflict'))
    gate.open()
    await session.whenEnded(2)
    await handle.signal(promptSignal, { requestId: 'b', content: 'other' })
    await eventually(
      () => handle.query(sessionStateQuery),
      (state) => state.refusedMessages === 1,
    )
    assert.equal(session.turns.length, 2)
  })

  test('the 101st waiting prompt is refused: by an update with its reason, by a signal in the count', async () => {
    const gate = new Gate()
    const { handle, session } = await sessions.start(holdFirstTurn(gate))
    await handle.signal(promptSignal, { requestId: 'first', content: 'go' })
    await gate.reached
    await Promise.all(
      Array.from({ length: 101 }, (_, i) =>
        handle.signal(promptSignal, { requestId: `p${i}`, content: 'x' }),
      ),
    )
    const state = await handle.query(sessionStateQuery)
    assert.deepEqual([state.waitingPrompts, state.refusedMessages], [100, 1])
    const refused = handle.executeUpdate(submitPromptUpdate, {
      args: [{ requestId: 'one more', content: 'x' }],
    })
    await assert.rejects(refused, hasType('QueueFull', /100 wait already, allowed are 100/))
    gate.open()
    await session.whenEnded(101)
  })
})

function hasType(type: string, message = /./) {
  return (error: unknown) => {
    assert.ok(error instanceof WorkflowUpdateFailedError)
    const cause = error.cause as { type?: string; message: string }
    assert.equal(cause.type, type)
    assert.match(cause.message, message)
    return true
  }
}
