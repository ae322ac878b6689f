import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEventData } from '../../src/shared/session/events.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { INTERRUPTED_RESULT, interruptedResult } from '../../src/shared/session/repair.ts'
import { priceContent } from '../../src/shared/tokens/price.ts'

test('the interrupted result carries its true price', () => {
  assert.equal(INTERRUPTED_RESULT.tokens, priceContent(INTERRUPTED_RESULT.content))
})

test('it stands where the real result would stand, so that only one of them can be written', () => {
  const event = interruptedResult({ callId: 'toolu_1', name: 'run_command', turn: 3, step: 2 })
  assert.equal(event.key, keys.toolResult(3, 2, 'toolu_1'))
  assert.deepEqual([event.turn, event.step, event.surfaceOp], [3, 2, 'append'])
  assert.deepEqual(parseEventData('tool/result', event.data), event.data)
  assert.equal(event.data.isError, true)
})

test('two of them share no content', () => {
  const [one, two] = ['a', 'b'].map((callId) => interruptedResult({ callId, name: 'x', turn: 1, step: 1 }))
  assert.notEqual(one?.data.content, two?.data.content)
})
