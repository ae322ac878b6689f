import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { WorkflowUpdateFailedError } from '@temporalio/client'
import type { ApplicationFailure } from '@temporalio/common'
import {
  promptSignal,
  sessionStateQuery,
  submitCompactionUpdate,
  submitPromptUpdate,
} from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import { openSessions, type TestSessions } from '../support/sessions.ts'

let sessions: TestSessions
before(async () => {
  sessions = await openSessions()
})
after(() => sessions.close())

/** Sends bytes that no SDK would. */
function signalRaw(
  workflowId: string,
  signalName: string,
  ...payloads: readonly { encoding: string; data: string }[]
) {
  const { workflowService, options } = sessions.client
  return workflowService.signalWorkflowExecution({
    namespace: options.namespace,
    workflowExecution: { workflowId },
    signalName,
    input: {
      payloads: payloads.map(({ encoding, data }) => ({
        metadata: { encoding: Buffer.from(encoding) },
        data: Buffer.from(data),
      })),
    },
  })
}

const json = (data: string) => ({ encoding: 'json/plain', data })

describe('bad messages', { concurrency: true }, () => {
  for (const name of ['prompt', 'requestCompaction', 'cancelTurn', 'cancelCompaction', 'close']) {
    test(`† ${name}: numbers, broken JSON and unknown fields are counted, and the session goes on`, async () => {
      const { handle, session, sessionId } = await sessions.start()
      const bad = [
        json('5'),
        json('"text"'),
        json('[]'),
        json('{"broken'),
        json(''),
        json('{"junk":1}'),
        { encoding: 'no/such', data: 'x' },
      ]
      for (const payload of bad) await signalRaw(sessionId, name, payload)
      await eventually(
        () => handle.query(sessionStateQuery),
        (state) => state.refusedMessages === bad.length,
      )
      await handle.signal(promptSignal, { requestId: 'a', content: 'still here?' })
      await session.whenEnded(1)
      assert.equal((await handle.describe()).status.name, 'RUNNING')
    })
  }

  test('an unknown signal does no harm, broken or not', async () => {
    const { handle, session, sessionId } = await sessions.start()
    await signalRaw(sessionId, 'noSuchSignal', json('{"broken'))
    await handle.signal(promptSignal, { requestId: 'a', content: 'still here?' })
    await session.whenEnded(1)
  })

  test('prompts that say nothing are counted', async () => {
    const { handle, sessionId } = await sessions.start()
    for (const data of [
      '{}',
      '{"content":"  "}',
      '{"requestId":"a","content":[]}',
      '{"requestId":"","content":"x"}',
      '{"content":"x","delivery":"soon"}',
    ]) {
      await signalRaw(sessionId, 'prompt', json(data))
    }
    await eventually(
      () => handle.query(sessionStateQuery),
      (state) => state.refusedMessages === 5,
    )
  })

  test('a signal without an argument is an empty request', async () => {
    const { session, sessionId } = await sessions.start()
    await signalRaw(sessionId, 'requestCompaction')
    await eventually(
      () => session.lines('compact'),
      (lines) => lines.length === 3,
    )
  })

  test('text that looks like a prototype stays data', async () => {
    const [one, other] = [await sessions.start(), await sessions.start()]
    await signalRaw(
      one.sessionId,
      'prompt',
      json('{"requestId":"__proto__","content":[{"type":"text","text":"x","__proto__":{"polluted":true}}]}'),
    )
    await one.session.whenEnded(1)
    assert.equal(one.session.turns[0]?.requestId, '__proto__')
    await other.handle.signal(promptSignal, { requestId: 'a', content: 'x' })
    await other.session.whenEnded(1)
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
  })

  test('updates are refused with one sentence before anything is written', async () => {
    const { handle } = await sessions.start()
    await eventually(
      () => handle.query(sessionStateQuery),
      (state) => state.status === 'idle',
    )
    const length = async () => (await handle.describe()).historyLength
    const before = await length()
    const prompts: [unknown, RegExp][] = [
      [5, /^prompt: .*number/],
      [{ content: 'x' }, /prompt\.requestId: an update needs one/],
      [{ requestId: 'a', content: '' }, /empty or blank/],
      [{ requestId: 'a', content: 'x'.repeat(256 * 1024 + 1) }, /262145 bytes inline, allowed are 262144/],
      [{ requestId: 'a', content: 'x', junk: 1 }, /junk/],
      [{ requestId: 'a'.repeat(257), content: 'x' }, /requestId/],
    ]
    for (const [message, expected] of prompts) {
      await refused(handle.executeUpdate(submitPromptUpdate, { args: [message as never] }), expected)
    }
    const compactions: [unknown, RegExp][] = [
      ['now', /^compaction: /],
      [{ focus: 'x' }, /compaction\.requestId/],
      [{ requestId: 'a', focus: 'x'.repeat(801) }, /focus/],
      [{ requestId: 'a', span: { start: -1, end: 2 } }, /span\.start/],
      [{ requestId: 'a', whenBusy: 'maybe' }, /whenBusy/],
    ]
    for (const [message, expected] of compactions) {
      await refused(handle.executeUpdate(submitCompactionUpdate, { args: [message as never] }), expected)
    }
    assert.equal(await length(), before, 'a rejected update leaves nothing in history')
  })
})

const refused = (running: Promise<unknown>, expected: RegExp) =>
  assert.rejects(running, (error: unknown) => {
    assert.ok(error instanceof WorkflowUpdateFailedError)
    const cause = error.cause as ApplicationFailure
    assert.equal(cause.type, 'InvalidInput')
    assert.match(cause.message, expected)
    assert.doesNotMatch(cause.message, /\n/)
    return true
  })
