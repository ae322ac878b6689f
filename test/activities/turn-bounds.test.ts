import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'

// Turns bound appends: what comes back after its turn has ended is written nowhere.

/** Runs in the middle of a model call or a tool. */
let meanwhile: () => Promise<unknown> = async () => undefined
const model = scriptedModel(async ({ index }) => {
  if (index > 0) await meanwhile()
  return index === 0 ? { content: [{ type: 'tool_use', id: 'c', name: 'large', input: {} }] } : 'Done.'
})
const large: Tool = {
  name: 'large',
  description: 'Large.',
  input: { jsonSchema: { type: 'object' } },
  async run() {
    await meanwhile()
    return 'word '.repeat(60_000)
  },
}

/** Turn 1, whose first reply has called the tool. */
async function openTurn(): Promise<ActivityStage> {
  meanwhile = async () => undefined
  const stage = await openStage({ model, tools: [large] })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'a', message: 'Go.' })
  const reply = await stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 })
  assert.deepEqual(reply.kind === 'reply' && reply.calls.map(({ callId }) => callId), ['c'])
  return stage
}

const endTurn = (stage: ActivityStage) => stage.run(RUN_1, 'sessionEndTurn', { turn: 1, reason: 'aborted' })

const typesOf = async ({ store }: ActivityStage) =>
  (await store.events(SESSION)).map((event) =>
    event.turn === null ? event.type : `${event.turn} ${event.type}`,
  )

const closed = (running: Promise<unknown>) =>
  assert.rejects(running, (error: unknown) => {
    const { type, nonRetryable } = error as { type: string; nonRetryable: boolean }
    return type === 'TurnClosed' && nonRetryable
  })

describe('† turns bound appends', () => {
  test('a reply that comes after its turn has ended is TurnClosed, and its call is counted as lost', async () => {
    const stage = await openTurn()
    await stage.run(RUN_1, 'sessionRunTool', { turn: 1, step: 1, callId: 'c' })
    meanwhile = () => endTurn(stage)
    await closed(stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 2 }))
    assert.deepEqual((await typesOf(stage)).slice(-3), ['1 step/end', '1 turn/end', 'assistant/lost'])
  })

  test('a result that comes after its turn has ended: the call keeps the result that the end gave it, its output is nowhere', async () => {
    const stage = await openTurn()
    meanwhile = () => endTurn(stage)
    await closed(stage.run(RUN_1, 'sessionRunTool', { turn: 1, step: 1, callId: 'c' }))
    const types = await typesOf(stage)
    assert.deepEqual(types.slice(-3), ['1 tool/result', '1 step/end', '1 turn/end'])
    assert.ok(!types.includes('1 tool/output'))
    const [result] = (await stage.store.events(SESSION)).filter((event) => event.type === 'tool/result')
    assert.equal(result?.type === 'tool/result' && result.data.isError, true)
    assert.equal(types.filter((type) => type.endsWith('tool/result')).length, 1)
  })

  test('no step begins in a turn that has ended: nobody is paid', async () => {
    const stage = await openTurn()
    await endTurn(stage)
    let asked = 0
    meanwhile = async () => asked++
    await closed(stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 2 }))
    assert.equal(asked, 0)
  })

  test('the next turn is not touched by what belongs to the one before', async () => {
    const stage = await openTurn()
    await endTurn(stage)
    await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'b', message: 'Again.' })
    const before = await typesOf(stage)
    await closed(stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 2 }))
    assert.deepEqual(await typesOf(stage), before)
    assert.equal((await stage.run(RUN_1, 'sessionCallModel', { turn: 2, step: 1 })).kind, 'reply')
  })
})
