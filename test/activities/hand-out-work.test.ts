import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isText } from '../../src/shared/session/content.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { activityTool, scriptedModel } from '../../src/worker/index.ts'
import { type ActivityStage, openStage, RUN_1, RUN_2, SESSION } from '../support/activity-stage.ts'
import { failsAs } from '../support/fails-as.ts'
import { ofType } from '../support/of-type.ts'

// Calls that the workflow runs: who may hand one out, and that one lands once.

const CALL = { turn: 1, step: 1, callId: 'c' }

async function called(name: 'pay' | 'read'): Promise<ActivityStage> {
  const model = scriptedModel([{ content: [{ type: 'tool_use', id: 'c', name, input: {} }] }])
  const inputSchema = { type: 'object' }
  const tools = [
    activityTool({ name: 'pay', activity: 'payNow', inputSchema }),
    activityTool({ name: 'read', activity: 'readNow', inputSchema, idempotent: true, taskQueue: 'q' }),
  ]
  const stage = await openStage({ model, tools })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'a', message: 'Go.' })
  await stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 })
  return stage
}

const resultOf = async ({ store }: ActivityStage) => {
  const results = ofType(await store.events(SESSION), 'tool/result')
  assert.ok(results.length <= 1)
  return results[0]?.data.content.find(isText)?.text
}

/** What a new run that took the session over gets for the call. */
const afterReset = (stage: ActivityStage) => {
  stage.server.setCurrent(RUN_2)
  return stage.run(RUN_2, 'sessionRunTool', CALL)
}

describe('a call that the workflow runs', () => {
  test('is handed out with all that the workflow needs, and is not answered', async () => {
    const stage = await called('read')
    const { work } = await stage.run(RUN_1, 'sessionRunTool', CALL)
    assert.deepEqual(work, {
      activity: 'readNow',
      taskQueue: 'q',
      input: {},
      context: { sessionId: SESSION, callId: 'c', idempotencyKey: 's1.t1.s1.tool.c' },
      timeoutMs: 120_000,
      queueTimeoutMs: 300_000,
      attempts: 3,
    })
    assert.equal(await resultOf(stage), undefined)
  })

  test('whose worker died before the workflow heard of it is handed out again: nothing has run', async () => {
    const stage = await called('pay')
    const first = await stage.run(RUN_1, 'sessionRunTool', CALL)
    const second = await stage.run(RUN_1, 'sessionRunTool', CALL, 2)
    assert.deepEqual(second.work, first.work)
    assert.equal(second.work?.attempts, 1)
  })

  test('that was handed to the run before a reset is not handed out again, unless it is idempotent', async () => {
    const pay = await called('pay')
    await pay.run(RUN_1, 'sessionRunTool', CALL)
    assert.deepEqual(
      [(await afterReset(pay)).work, (await resultOf(pay))?.slice(0, 16)],
      [undefined, 'Outcome unknown:'],
    )
    const read = await called('read')
    await read.run(RUN_1, 'sessionRunTool', CALL)
    assert.equal((await afterReset(read)).work?.activity, 'readNow')
  })

  test('that a worker of another release has begun itself is not handed out', async () => {
    const stage = await called('pay')
    const data = { callId: 'c', runId: RUN_1.runId, attempt: 1 }
    const claim = {
      key: keys.toolClaim(1, 1, 'c'),
      type: 'tool/claim',
      turn: 1,
      step: 1,
      data,
      tokens: 0,
    } as const
    await stage.store.append({ sessionId: SESSION, actor: RUN_1, turn: 1, events: [claim] })
    assert.equal((await stage.run(RUN_1, 'sessionRunTool', CALL, 2)).work, undefined)
    assert.match((await resultOf(stage)) ?? '', /^Outcome unknown: /)
  })

  test('lands once: another attempt finds the result, whatever it brings', async () => {
    const stage = await called('pay')
    await stage.run(RUN_1, 'sessionRunTool', CALL)
    const end = { content: [{ type: 'text', text: 'paid' }], isError: false }
    await stage.run(RUN_1, 'sessionLandTool', { ...CALL, end })
    const failure = { kind: 'failed', message: 'x' } as const
    const again = await stage.run(RUN_1, 'sessionLandTool', { ...CALL, end: { failure } }, 2)
    assert.deepEqual([again.isError, await resultOf(stage)], [false, 'paid'])
  })
})

describe('a worker does not start with an activity tool', () => {
  const bad = (options: object, problem: RegExp) =>
    failsAs(
      'InvalidInput',
      openStage({
        tools: [
          activityTool({ name: 'pay', activity: 'payNow', inputSchema: { type: 'object' }, ...options }),
        ],
      }),
      problem,
    )

  test('that names no activity or an empty queue', async () => {
    await bad({ activity: '' }, /Tool pay must name its activity/)
    await bad({ taskQueue: '' }, /Tool pay must name its activity, and a task queue/)
  })

  test('whose times are none, or that has retries and is not idempotent', async () => {
    await bad(
      { queueTimeoutMs: 0 },
      /queueTimeoutMs of tool pay must be a whole number from 1 to 86400000, got 0/,
    )
    await bad({ heartbeatTimeoutMs: 1.5 }, /heartbeatTimeoutMs of tool pay .*got 1.5/)
    await bad({ retries: 2 }, /Tool pay has retries and is not idempotent/)
  })
})
