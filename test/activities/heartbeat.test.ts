import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { cancellationSignal } from '@temporalio/activity'
import { CancelledFailure } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { whileBeating } from '../../src/activities/heartbeat.ts'
import { eventually } from '../support/eventually.ts'

describe('whileBeating', () => {
  test('beats at once and twice a second, and no more when the work is done', async () => {
    const environment = new MockActivityEnvironment()
    let beats = 0
    environment.on('heartbeat', () => beats++)
    const begun = performance.now()
    const work = async () => {
      await eventually(
        () => beats,
        (count) => count >= 3,
      )
      return 'done'
    }
    assert.equal(await environment.run(() => whileBeating(work)), 'done')
    assert.ok(performance.now() - begun >= 900, 'three beats within a second')
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
