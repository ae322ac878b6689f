import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LIMITS } from '../../src/shared/limits.ts'
import { type NamedPrompt, PromptQueue } from '../../src/workflows/prompt-queue.ts'

const inline = (
  requestId: string,
  content = `text of ${requestId}`,
  rest: Partial<NamedPrompt> = {},
): NamedPrompt => ({
  requestId,
  content,
  ...rest,
})

function queueOf(...messages: NamedPrompt[]): PromptQueue {
  const queue = new PromptQueue()
  for (const message of messages) {
    assert.equal(queue.refusal(message), undefined)
    queue.add(message)
  }
  return queue
}

function take(queue: PromptQueue): string | undefined {
  const requestId = queue.next
  if (requestId !== undefined) queue.begin(requestId)
  return requestId
}

describe('prompt queue', () => {
  test('gives prompts in the order of arrival, once each', () => {
    const queue = queueOf({ requestId: 'a' }, { requestId: 'b', delivery: 'next-step' }, { requestId: 'c' })
    assert.deepEqual([take(queue), take(queue), take(queue), take(queue)], ['a', 'b', 'c', undefined])
  })

  test('an inline body is given only after it was stored', () => {
    const queue = queueOf(inline('a'))
    assert.equal(take(queue), undefined)
    assert.equal(queue.isEmpty, false)
    assert.deepEqual(queue.inline(1000), [{ requestId: 'a', delivery: 'next-turn', content: 'text of a' }])
    queue.markStored(['a'])
    assert.equal(queue.hasInline, false)
    assert.equal(take(queue), 'a')
  })

  test('bodies are stored in batches below a size, at least one at a time', () => {
    const queue = queueOf(
      inline('a', 'x'.repeat(60)),
      inline('b', 'x'.repeat(60)),
      inline('c', 'x'.repeat(300)),
    )
    assert.deepEqual(
      queue.inline(130).map(({ requestId }) => requestId),
      ['a', 'b'],
    )
    queue.markStored(['a', 'b'])
    assert.deepEqual(
      queue.inline(130).map(({ requestId }) => requestId),
      ['c'],
    )
  })

  test('the same id again is known; with another body it is a conflict, also after the body was stored', () => {
    const queue = queueOf(inline('a'))
    assert.equal(queue.refusal(inline('a')), undefined)
    assert.equal(queue.add(inline('a')), 'known')
    assert.equal(queue.refusal(inline('a', 'other'))?.error, 'KeyConflict')
    queue.markStored(['a'])
    assert.equal(queue.refusal(inline('a', 'other'))?.error, 'KeyConflict')
    assert.equal(queue.size, 1)
  })

  test('the running prompt is known, and forgotten when its turn ends', () => {
    const queue = queueOf(inline('a'))
    queue.markStored(['a'])
    take(queue)
    assert.equal(queue.add(inline('a')), 'known')
    assert.equal(queue.refusal(inline('a', 'other'))?.error, 'KeyConflict')
    queue.end()
    assert.equal(queue.add(inline('a')), 'queued')
  })

  test('a no-wake prompt begins no turn: its stored body waits for the next one', () => {
    const queue = queueOf(inline('quiet', 'x', { delivery: 'no-wake' }), {
      requestId: 'stored-quiet',
      delivery: 'no-wake',
    })
    assert.equal(queue.hasInline, true)
    queue.markStored(['quiet'])
    assert.equal(queue.isEmpty, true)
    assert.equal(take(queue), undefined)
    assert.equal(queue.size, 1)
  })

  test('quiet prompts count as waiting until a turn takes them', () => {
    const queue = new PromptQueue()
    for (let i = 0; i < LIMITS.waitingPrompts; i++) queue.add(inline(`q${i}`, 'x', { delivery: 'no-wake' }))
    queue.markStored(queue.inline(1e9).map(({ requestId }) => requestId))
    const refusal = queue.refusal({ requestId: 'p' })
    assert.equal(refusal?.error, 'QueueFull')
    assert.match(refusal.why, /100 wait already, allowed are 100/)
    queue.adopt([{ requestId: 'p', delivery: 'next-turn' }])
    assert.equal(take(queue), 'p')
    assert.equal(queue.refusal({ requestId: 'p2' }), undefined)
  })

  test('a full queue still knows the prompts that wait in it', () => {
    const queue = new PromptQueue()
    for (let i = 0; i < LIMITS.waitingPrompts; i++) queue.add({ requestId: `p${i}` })
    assert.equal(queue.refusal({ requestId: 'p7' }), undefined)
    assert.equal(queue.refusal({ requestId: 'new' })?.error, 'QueueFull')
  })

  test('blank, forbidden and oversized bodies are refused with one sentence', () => {
    const queue = new PromptQueue()
    for (const content of ['', '  \n ', 'é'.repeat(LIMITS.inlineBytes / 2 + 1)]) {
      const refusal = queue.refusal(inline('a', content))
      assert.equal(refusal?.error, 'InvalidInput')
      assert.match(refusal.why, /^prompt: [^\n]+$/)
    }
    assert.equal(
      queue.refusal({ requestId: 'a', content: [{ type: 'tool_result', tool_use_id: 'x' }] })?.error,
      'InvalidInput',
    )
    assert.equal(queue.refusal(inline('a', 'é'.repeat(LIMITS.inlineBytes / 2))), undefined)
  })

  test('what waits in the store comes in the order of the store, what is only here after it', () => {
    const queue = queueOf(inline('here'), { requestId: 'b' })
    queue.adopt([
      { requestId: 'a', delivery: 'next-turn' },
      { requestId: 'b', delivery: 'next-step' },
    ])
    queue.markStored(['here'])
    assert.deepEqual(queue.carry(), [
      { requestId: 'a', delivery: 'next-turn' },
      { requestId: 'b', delivery: 'next-turn' },
      { requestId: 'here', delivery: 'next-turn' },
    ])
  })

  test('dropping says where the body was', () => {
    const queue = queueOf(inline('a'), { requestId: 'b' })
    assert.equal(queue.drop('a'), 'inline')
    assert.equal(queue.drop('b'), 'stored')
    assert.equal(queue.drop('b'), 'absent')
    assert.equal(queue.isEmpty, true)
  })

  test('carried prompts go on in their order', () => {
    const carried = queueOf({ requestId: 'a' }, { requestId: 'b', delivery: 'next-step' }).carry()
    assert.deepEqual(new PromptQueue(carried).carry(), carried)
  })
})
