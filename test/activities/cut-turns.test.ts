import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { type ActivityStage, RUN_1, SESSION } from '../support/activity-stage.ts'
import {
  bytesOf,
  cutResponse,
  cutsOf,
  type FarEnd,
  failsForRetry,
  openCutStage,
  surfaceOf,
  wholeFrom,
} from '../support/anthropic/cut-stream.ts'

// A streamed reply that is cut at every byte of it, through the official SDK and the activity: the whole message lands, or nothing does.

const REPLY: readonly ContentBlock[] = [
  { type: 'thinking', thinking: '🤔?', signature: 's' },
  text('Gut – 見る 👀'),
  { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'ä見' } },
  { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
]

const begin = (stage: ActivityStage) =>
  stage.run(RUN_1, 'sessionStartTurn', { requestId: 'p', message: 'Look.' })
const callModel = (stage: ActivityStage) => stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 })
async function landed({ store }: ActivityStage) {
  const event = await store.eventByKey(SESSION, keys.assistant(1, 1))
  return event?.type === 'assistant/message' ? event.data.content : null
}

describe('a stream that is cut at every byte', () => {
  test('a reply of a turn: no message, no call, and the next attempt lands it whole', async () => {
    const bytes = bytesOf(REPLY)
    const far: FarEnd = { answer: () => cutResponse(bytes, 'ends') }
    const stage = await openCutStage(far)
    await begin(stage)
    const before = await surfaceOf(stage)
    for (const { at, end } of cutsOf(bytes)) {
      far.answer = () => cutResponse(bytes.subarray(0, at), end)
      await failsForRetry(callModel(stage), `${end} at byte ${at}`)
      assert.equal(await landed(stage), null)
    }
    assert.equal(await surfaceOf(stage), before)
    far.answer = () => cutResponse(bytes, 'ends')
    const reply = await callModel(stage)
    assert.deepEqual(await landed(stage), REPLY)
    assert.ok(reply.kind === 'reply')
    assert.deepEqual(
      reply.calls.map(({ callId }) => callId),
      ['toolu_1', 'toolu_2'],
    )
    await stage.store.close()
  })

  test('a reply of which only the end of the connection is missing: it counts whole, or not at all', async () => {
    const bytes = bytesOf(REPLY)
    for (const end of ['ends', 'breaks'] as const)
      for (let at = wholeFrom(bytes); at <= bytes.length; at++) {
        const stage = await openCutStage({ answer: () => cutResponse(bytes.subarray(0, at), end) })
        await begin(stage)
        const attempt = callModel(stage)
        await attempt.catch(() => undefined)
        const content = await landed(stage)
        if (content === null) await failsForRetry(attempt, `${end} at byte ${at}`)
        else assert.deepEqual(content, REPLY)
        if (at === bytes.length) assert.notEqual(content, null, 'all of it came')
        await stage.store.close()
      }
  })

  test('a reply that comes byte by byte is the same reply', async () => {
    const bytes = bytesOf(REPLY)
    const stage = await openCutStage({ answer: () => cutResponse(bytes, 'ends', 1) })
    await begin(stage)
    await callModel(stage)
    assert.deepEqual(await landed(stage), REPLY)
    await stage.store.close()
  })
})
