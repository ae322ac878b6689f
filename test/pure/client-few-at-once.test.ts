import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { fewAtOnce, MOST_UPDATES } from '../../src/client/few-at-once.ts'

test('of many updates of a session so many are on their way, in order; a failure gives its place to the next; other sessions do not wait', async () => {
  const client = {}
  const begun: number[] = []
  const ends: (() => void)[] = []
  const asked = Array.from({ length: 30 }, (_, n) =>
    fewAtOnce(client, 's', async () => {
      begun.push(n)
      await new Promise<void>((resolve) => ends.push(resolve))
      if (n % 3 === 0) throw new Error(`refused ${n}`)
      return n
    }),
  )
  const settled = Promise.allSettled(asked)
  assert.equal(await fewAtOnce(client, 'other', async () => 'at once'), 'at once')
  for (let done = 0; done < 30; done++) {
    await turn()
    assert.equal(begun.length, Math.min(30, done + MOST_UPDATES))
    ends[done]?.()
  }
  const failed = (await settled).flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))
  assert.deepEqual(failed, [0, 3, 6, 9, 12, 15, 18, 21, 24, 27])
  assert.deepEqual(
    begun,
    Array.from({ length: 30 }, (_, n) => n),
  )
})
