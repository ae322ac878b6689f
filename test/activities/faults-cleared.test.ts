import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptedModel } from '../../src/worker/index.ts'
import { openStage, RUN_1, SESSION } from '../support/activity-stage.ts'

// What was cleared is kept by the log alone: neither the surface that each request is made of nor what the workflow gets grows with it.

test('fault N06 a session of many windows of results: surface, requests and what travels stay within one window', async () => {
  const STEPS = 16
  const CALLS = 8
  const W = 100_000
  const BYTES = 25_000
  const bodies: number[] = []
  const model = scriptedModel(
    ({ index, messages }) => {
      bodies.push(JSON.stringify(messages).length)
      const call = (n: number) => ({ type: 'tool_use', id: `c${index}-${n}`, name: 'work', input: {} })
      return index < STEPS ? { content: Array.from({ length: CALLS }, (_, n) => call(n)) } : 'Done.'
    },
    { capacity: { contextWindow: W } },
  )
  const tool = {
    name: 'work',
    description: 'Works.',
    input: { jsonSchema: { type: 'object' } },
    run: async () => 'word '.repeat(BYTES / 5),
  }
  const policy = { micro: { minReclaimTokens: 0 } }
  const stage = await openStage({ model, tools: [tool], policy })
  const travelled: number[] = []
  const size = (value: unknown) => JSON.stringify(value).length
  travelled.push(size(await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'a', message: 'Go.' })))
  for (let step = 1; step <= STEPS + 1; step++) {
    travelled.push(size(await stage.run(RUN_1, 'sessionCallModel', { turn: 1, step })))
    if (step > STEPS) break
    for (let n = 0; n < CALLS; n++) {
      const callId = `c${step - 1}-${n}`
      travelled.push(size(await stage.run(RUN_1, 'sessionRunTool', { turn: 1, step, callId })))
    }
  }
  const { nodes } = await stage.store.surface(SESSION)
  const log = await stage.store.events(SESSION, { limit: 10_000 })
  assert.ok(size(log) > 5 * 4 * W, 'more than five windows were produced, and are kept to be read back')
  assert.ok(size(nodes) < 4 * W, `${size(nodes)} bytes of surface`)
  assert.ok(Math.max(...bodies) < 4 * W, `${Math.max(...bodies)} bytes of request`)
  assert.ok(Math.max(...travelled) < 2_000, `${Math.max(...travelled)} bytes to the workflow`)
})
