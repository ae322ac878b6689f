import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { WorkflowHandle } from '@temporalio/client'
import type { Session } from '../../src/client/index.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import type { agentSession } from '../../src/workflows/index.ts'
import { eventually } from '../support/eventually.ts'
import { Gate } from '../support/gate.ts'
import { runIds } from '../support/history.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'
import { resetBefore } from '../support/reset.ts'
import { assertWhole, ofType } from '../support/whole-log.ts'

// What the workflows do to the log of a session: real activities and store, a scripted model.

const REPLIES = 6
const call = (id: string) => ({ type: 'tool_use', id, name: 'words', input: {} })
const words: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'word '.repeat(1_000),
}
/** Compacts before the last replies. */
const PRESSING = { thresholdTokens: 5_000, retainTokens: 1_500 }

/** By session id: what holds its summaries, or its first reply. */
const summaries = new Map<string, Gate>()
const firstReplies = new Map<string, Gate>()
const model = scriptedModel(
  async ({ index, sessionId }) => {
    if (index === 0) await firstReplies.get(sessionId)?.wait()
    return index < REPLIES ? { content: [call(`c${index}`)] } : 'Done.'
  },
  {
    capacity: { contextWindow: 16_000, maxOutputTokens: 4_000 },
    summaries: async ({ sessionId }) => {
      await summaries.get(sessionId)?.wait()
      return 'Words were read. Next: go on.'
    },
  },
)

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [words])
})
after(() => real.close())

const workflowOf = (session: Session) => real.client.workflow.getHandle<typeof agentSession>(session.id)

async function begin(policy: object = {}, hold: 'summaries' | 'nothing' = 'nothing') {
  const session = await real.start({ policy: { ...policy } })
  const gate = new Gate()
  if (hold === 'summaries') summaries.set(session.id, gate)
  else gate.open()
  const turn = await session.prompt('Read the words.', { requestId: 'A' })
  return { session, gate, turn }
}

describe('the real path', { concurrency: true }, () => {
  test('B2 under pressure: a turn compacts itself and goes on', async () => {
    const { session, turn } = await begin(PRESSING)
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    const events = await assertWhole(real, session)
    assert.ok(ofType(events, 'compact/summary').length >= 1)
    assert.equal(ofType(events, 'step/start').length, REPLIES + 1)
  })

  test('a next-step prompt joins the running turn and is the next request’s newest message', async () => {
    const session = await real.start()
    const gate = new Gate()
    firstReplies.set(session.id, gate)
    const turn = await session.prompt('Read the words.', { requestId: 'A' })
    await gate.reached
    await session.prompt('And tell me how many.', { requestId: 'B', delivery: 'next-step' })
    gate.open()
    await turn.result({ timeoutMs: 120_000 })
    const events = await assertWhole(real, session)
    const joined = ofType(events, 'user/message').find(({ data }) => data.requestId === 'B')
    assert.deepEqual([joined?.turn, joined?.step], [1, 2])
    await whenIdle(session)
    assert.equal(ofType(await real.log(session), 'turn/start').length, 1)
  })

  test('continue-as-new between steps and turns: one life, nothing twice', async () => {
    const session = await real.start({ policy: { ...PRESSING } })
    await workflowOf(session).terminate()
    await real.client.workflow.start<typeof agentSession>('agentSession', {
      workflowId: session.id,
      taskQueue: real.taskQueue,
      args: [{ v: 1, rollOver: { events: 40 } }],
    })
    const turn = await session.prompt('Read the words.', { requestId: 'A' })
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    const events = await assertWhole(real, session)
    assert.equal(ofType(events, 'assistant/message').length, REPLIES + 1)
    assert.equal(ofType(events, 'tool/claim').length, REPLIES, 'no tool ran twice')
    assert.equal(
      ofType(events, 'session/end-seed').length,
      1,
      'the life that was terminated, and the one that rolled over',
    )
    await eventually(
      () => runIds(real.client, session.id),
      (runs) => runs.length > 3,
    )
  })

  test('† I8 reset to before a compaction that runs: its attempt ends as interrupted, the log keeps all, the turn completes', async () => {
    const { session, gate, turn } = await begin(PRESSING, 'summaries')
    await gate.reached
    const before = await real.log(session)
    await resetBefore(real.client, session.id, 'START_CHILD_WORKFLOW_EXECUTION_INITIATED')
    summaries.delete(session.id)
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    gate.open()
    const events = await assertWhole(real, session)
    assert.deepEqual(events.slice(0, before.length), before)
    const [end] = ofType(events, 'compact/end')
    assert.equal(end?.data.error?.code, 'interrupted')
    const { compactionId } = end?.data ?? { compactionId: '' }
    const old = (await real.client.workflow.getHandle(`${session.id}/compact/${compactionId}`).result()) as {
      outcome: string
    }
    assert.equal(old.outcome, 'failed', 'the old child wrote nothing and returns the recorded end')
  })

  test('I2 terminated while it compacts: the child closes its bracket; a new life goes on with every accepted prompt', async () => {
    const { session, gate } = await begin(PRESSING, 'summaries')
    await gate.reached
    await session.prompt('Then say hello.', { requestId: 'B' })
    await workflowOf(session).terminate()
    const ends = await eventually(
      async () => ofType(await real.log(session), 'compact/end'),
      (found) => found.length === 1,
    )
    assert.equal(ends[0]?.data.error?.code, 'cancelled')
    summaries.delete(session.id)
    gate.open()
    const third = await session.prompt('And goodbye.', { requestId: 'C' })
    await third.result({ timeoutMs: 120_000 })
    const events = await assertWhole(real, session)
    assert.deepEqual(
      ofType(events, 'turn/start').map(({ data }) => data.requestId),
      ['A', 'B', 'C'],
    )
    assert.deepEqual(
      ofType(events, 'turn/end').map(({ data }) => data.reason),
      ['interrupted', 'completed', 'completed'],
    )
  })

  test('D11 cancelled while it compacts: turn and bracket are closed, then the workflow', async () => {
    const { session, gate } = await begin(PRESSING, 'summaries')
    await gate.reached
    await workflowOf(session).cancel()
    await assert.rejects((workflowOf(session) as WorkflowHandle).result(), /cancelled/)
    const events = await assertWhole(real, session)
    assert.equal(ofType(events, 'compact/end')[0]?.data.error?.code, 'cancelled')
    assert.deepEqual(
      ofType(events, 'turn/end').map(({ data }) => data.reason),
      ['aborted'],
    )
  })
})
