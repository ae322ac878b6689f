import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { cancellationSignal } from '@temporalio/activity'
import { CancelledFailure } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { whileBeating } from '../../src/activities/heartbeat.ts'

describe('whileBeating', () => {
  test('beats at once and twice a second, and no more when the work is done', async () => {
    const environment = new MockActivityEnvironment()
    let beats = 0
    environment.on('heartbeat', () => beats++)
    const answer = await environment.run(() => whileBeating(async () => sleep(1_200, 'done')))
    assert.equal(answer, 'done')
    assert.ok(beats >= 3, `${beats} beats in 1.2 s`)
    const atEnd = beats
    await sleep(700)
    assert.equal(beats, atEnd)
  })

  test("a call that the cancel aborted ends with Temporal's cancel, not with the error of the call", async () => {
    const environment = new MockActivityEnvironment()
    const work = environment.run(() =>
      whileBeating(async () => {
        await sleep(10_000, undefined, { signal: cancellationSignal() })
      }),
    )
    setTimeout(() => environment.cancel(), 50)
    await assert.rejects(work, (error) => error instanceof CancelledFailure)
  })

  test('a failure without a cancel stays what it is', async () => {
    const failure = new Error('boom')
    await assert.rejects(
      new MockActivityEnvironment().run(() => whileBeating(async () => Promise.reject(failure))),
      failure,
    )
  })
})
