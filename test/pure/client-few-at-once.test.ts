import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { askWorker } from '../../src/client/ask-worker.ts'
import { fewAtOnce, MOST_UPDATES } from '../../src/client/few-at-once.ts'

const NEVER = new AbortController().signal

test('of many updates of a session so many are on their way, in order; a failure gives its place to the next; other sessions do not wait', async () => {
  const client = {}
  const begun: number[] = []
  const ends: (() => void)[] = []
  const asked = Array.from({ length: 30 }, (_, n) =>
    fewAtOnce(
      client,
      's',
      async () => {
        begun.push(n)
        await new Promise<void>((resolve) => ends.push(resolve))
        if (n % 3 === 0) throw new Error(`refused ${n}`)
        return n
      },
      NEVER,
    ),
  )
  const settled = Promise.allSettled(asked)
  assert.equal(await fewAtOnce(client, 'other', async () => 'at once', NEVER), 'at once')
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

test('who does not want to wait any more leaves at once, with the reason, and the others go on in order', async () => {
  const client = {}
  const begun: string[] = []
  const ends: (() => void)[] = []
  const ask = (name: string, until = NEVER) =>
    fewAtOnce(
      client,
      's',
      async () => {
        begun.push(name)
        await new Promise<void>((resolve) => ends.push(resolve))
      },
      until,
    )
  const first = Array.from({ length: MOST_UPDATES }, () => ask('first'))
  const impatient = new AbortController()
  const left = ask('left', impatient.signal)
  const next = ask('next')
  impatient.abort(new Error('enough'))
  await assert.rejects(left, { message: 'enough' })
  await assert.rejects(ask('never', impatient.signal), { message: 'enough' })
  ends[0]?.()
  await first[0]
  await turn()
  assert.deepEqual(begun, [...Array<string>(MOST_UPDATES).fill('first'), 'next'])
  for (const end of ends) end()
  await Promise.all([...first, next])
})

test('who waits for a place when the time for a worker is over is told so, and does not wait for those before', async () => {
  const client = { withDeadline: (_: number, ask: () => Promise<unknown>) => ask() }
  const ends: (() => void)[] = []
  const first = Array.from({ length: MOST_UPDATES }, () =>
    fewAtOnce(client, 's', () => new Promise<void>((resolve) => ends.push(resolve)), NEVER),
  )
  const options = { client: client as never, sessionId: 's', taskQueue: 'q', workerTimeoutMs: 50 }
  await assert.rejects(
    askWorker(options, (until) => fewAtOnce(client, 's', async () => assert.fail('it was sent'), until)),
    { name: 'WorkerUnavailable' },
  )
  for (const end of ends) end()
  await Promise.all(first)
})
