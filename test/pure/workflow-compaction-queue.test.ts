import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LIMITS } from '../../src/shared/limits.ts'
import { type AskedAttempt, CompactionQueue } from '../../src/workflows/compaction-queue.ts'

const IDLE = false
const BUSY = true

function runFirst(queue: CompactionQueue): AskedAttempt {
  const asked = queue.take()
  assert.ok(asked)
  queue.running = asked
  return asked
}

const idsOf = (asked: AskedAttempt | undefined): string[] => [...(asked?.requestIds ?? [])]

describe('compaction queue', () => {
  test('requests with the same focus and span join, others queue', () => {
    const queue = new CompactionQueue()
    assert.equal(queue.add({ requestId: 'a', focus: 'x' }, IDLE, 'refuse'), 'queued')
    assert.equal(queue.add({ requestId: 'b', focus: ' x ' }, IDLE, 'refuse'), 'joined')
    assert.equal(queue.add({ requestId: 'c', focus: 'y' }, IDLE, 'wait'), 'queued')
    assert.equal(
      queue.add({ requestId: 'd', focus: 'x', span: { start: 1, end: 2 } }, IDLE, 'wait'),
      'queued',
    )
    assert.equal(
      queue.add({ requestId: 'e', focus: 'x', span: { start: 1, end: 2 } }, BUSY, 'refuse'),
      'joined',
    )
    assert.deepEqual(idsOf(queue.take()), ['a', 'b'])
    assert.deepEqual(idsOf(queue.take()), ['c'])
    assert.deepEqual(idsOf(queue.take()), ['d', 'e'])
    assert.equal(queue.take(), undefined)
  })

  test('a blank focus is none', () => {
    const queue = new CompactionQueue()
    queue.add({ requestId: 'a', focus: '  ' }, IDLE, 'wait')
    assert.equal(queue.add({ requestId: 'b' }, IDLE, 'wait'), 'joined')
    assert.equal('focus' in (queue.take() ?? {}), false)
  })

  test('busy refuses only those who asked for that', () => {
    const queue = new CompactionQueue()
    assert.equal(queue.add({ requestId: 'a' }, BUSY, 'refuse'), 'busy')
    assert.equal(queue.size, 0)
    assert.equal(queue.add({ requestId: 'b' }, BUSY, 'wait'), 'queued')
    assert.equal(queue.add({ requestId: 'c', focus: 'other' }, IDLE, 'refuse'), 'busy', 'another one waits')
    assert.equal(
      queue.add({ requestId: 'd' }, BUSY, 'refuse'),
      'joined',
      'what is asked for is coming anyway',
    )
  })

  test('requests join the running attempt, unless it is being cancelled', () => {
    const queue = new CompactionQueue()
    queue.add({ requestId: 'a' }, IDLE, 'wait')
    const asked = runFirst(queue)
    assert.equal(queue.add({ requestId: 'b' }, BUSY, 'refuse'), 'joined')
    assert.deepEqual(idsOf(asked), ['a', 'b'])
    assert.equal(queue.withdraw('a'), 'withdrawn')
    assert.equal(queue.withdraw('b'), 'last')
    assert.equal(queue.add({ requestId: 'c' }, BUSY, 'refuse'), 'busy')
    assert.equal(queue.add({ requestId: 'd' }, BUSY, 'wait'), 'queued')
  })

  test('an id that waits or runs is known, also when it joined', () => {
    const queue = new CompactionQueue()
    queue.add({ requestId: 'a' }, IDLE, 'wait')
    queue.add({ requestId: 'b' }, IDLE, 'wait')
    runFirst(queue)
    for (const requestId of ['a', 'b']) assert.equal(queue.add({ requestId }, BUSY, 'refuse'), 'known')
    assert.equal(queue.refusal({ requestId: 'b', focus: 'other' }, BUSY, 'wait')?.error, 'KeyConflict')
    assert.equal(queue.refusal({ requestId: 'b' }, BUSY, 'wait'), undefined)
  })

  test('only the last caller who takes a waiting request back removes it', () => {
    const queue = new CompactionQueue()
    queue.add({ requestId: 'a' }, IDLE, 'wait')
    queue.add({ requestId: 'b' }, IDLE, 'wait')
    assert.equal(queue.withdraw('a'), 'withdrawn')
    assert.equal(queue.size, 1)
    assert.equal(queue.withdraw('b'), 'withdrawn')
    assert.equal(queue.size, 0)
    assert.equal(queue.withdraw('b'), 'absent')
  })

  test('what waits fits into half of the carried state', () => {
    const queue = new CompactionQueue()
    let asked = 0
    for (; asked < 1000; asked++) {
      const request = { requestId: `r${asked}`, focus: `${asked} ${'☂'.repeat(700)}` }
      const refusal = queue.refusal(request, IDLE, 'wait')
      if (refusal !== undefined) {
        assert.equal(refusal.error, 'QueueFull')
        break
      }
      queue.add(request, IDLE, 'wait')
    }
    assert.ok(asked >= 3 && asked < 10, `${asked} were taken`)
    assert.ok(Buffer.byteLength(JSON.stringify(queue.carry())) <= LIMITS.carriedBytes / 2)
    runFirst(queue)
    assert.equal(
      queue.refusal({ requestId: 'late', focus: `0 ${'☂'.repeat(700)}` }, BUSY, 'wait'),
      undefined,
      'the running one is not carried',
    )
  })

  test('carried requests go on with those who joined', () => {
    const queue = new CompactionQueue()
    queue.add({ requestId: 'a', focus: 'x' }, IDLE, 'wait')
    queue.add({ requestId: 'b', focus: 'x' }, IDLE, 'wait')
    queue.add({ requestId: 'c', span: { start: 3, end: 1 } }, IDLE, 'wait')
    const next = new CompactionQueue(queue.carry())
    assert.deepEqual(next.carry(), queue.carry())
    assert.deepEqual(next.dropAll(), ['a', 'b', 'c'])
    assert.equal(next.size, 0)
  })
})
