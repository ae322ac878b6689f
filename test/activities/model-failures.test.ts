import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApplicationFailure } from '@temporalio/common'
import type { ModelClient } from '../../src/shared/ports/model.ts'
import { openStage, RUN_1 } from '../support/activity-stage.ts'

// What Temporal is told of a failed call: type, delay, whether to try again. The delay is Temporal's, so that no worker waits.

const failing = (error: unknown): ModelClient => ({
  capacity: async () => ({ contextWindow: 100_000, maxOutputTokens: null }),
  generate: () => Promise.reject(error),
})

async function failureOfStep(error: unknown, attempt = 1): Promise<ApplicationFailure> {
  const stage = await openStage({ model: failing(error) })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'p1', message: 'Go.' })
  const failure = await stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 }, attempt).then(
    () => assert.fail('the step succeeded'),
    (thrown: unknown) => thrown,
  )
  await stage.store.close()
  assert.ok(failure instanceof ApplicationFailure, String(failure))
  return failure
}

const refused = (status: number, message: string, headers: Record<string, string> = {}) =>
  Object.assign(new Error(message), { status, headers: new Headers(headers) })

test('a rate limit is waited out by Temporal, a little longer than asked', async () => {
  const failure = await failureOfStep(
    refused(429, 'Slow down', { 'retry-after': '20', 'request-id': 'req_1' }),
  )
  assert.equal(failure.type, 'ModelFailed')
  assert.ok(!failure.nonRetryable)
  const delay = Number(failure.nextRetryDelay)
  assert.ok(delay >= 20_000 && delay <= 22_000, String(delay))
  const [details] = failure.details ?? []
  assert.deepEqual(details, {
    kind: 'rate-limit',
    retryable: true,
    retryAfterMs: 20_000,
    status: 429,
    requestId: 'req_1',
  })
})

test('a provider that asks for no wait is asked again after the wait of the policy: a wait of 0 would end the activity', async () => {
  for (const none of ['0', '-1', 'Wed, 21 Oct 2015 07:28:00 GMT']) {
    const failure = await failureOfStep(refused(429, 'Slow down', { 'retry-after': none }))
    assert.ok(!failure.nonRetryable, none)
    assert.equal(failure.nextRetryDelay, undefined, none)
  }
})

test('what no further attempt heals is final at once', async () => {
  for (const status of [400, 401, 402, 403, 404, 307]) {
    const failure = await failureOfStep(refused(status, 'No'))
    assert.ok(failure.nonRetryable, String(status))
    assert.equal(failure.nextRetryDelay, undefined)
  }
})

test('a provider that is down has ten attempts, one that breaks off five', async () => {
  const cut = new TypeError('terminated')
  for (const [error, last] of [
    [refused(500, 'Broken'), 10],
    [cut, 5],
  ] as const) {
    assert.ok(!(await failureOfStep(error, last - 1)).nonRetryable)
    assert.ok((await failureOfStep(error, last)).nonRetryable)
  }
})

test('no secret of an error stands in the failure, whoever throws it', async () => {
  const secret = 'sk-ant-api03-0123456789abcdef'
  const errors = [
    refused(401, `invalid x-api-key ${secret}`, { authorization: `Bearer ${secret}` }),
    new Error(`fetch with ${secret}`, { cause: new Error(secret) }),
    Object.assign(new RangeError(secret), { request: { headers: { 'x-api-key': secret } } }),
  ]
  for (const error of errors) {
    const failure = await failureOfStep(error)
    const all = JSON.stringify([failure.message, failure.details, failure.cause, failure.stack])
    assert.ok(!all.includes(secret), all)
  }
})
