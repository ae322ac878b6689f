import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  RawValue,
  RetryState,
  TerminatedFailure,
  TimeoutFailure,
  TimeoutType,
} from '@temporalio/common'
import { closeSchema, promptMessageSchema } from '../../src/shared/protocol.ts'
import { childError, stageError } from '../../src/workflows/attempt-errors.ts'
import {
  failureMessage,
  failureType,
  overflowGeneration,
  sessionFailure,
} from '../../src/workflows/failures.ts'
import { isContextOverflow } from '../../src/workflows/own/context-overflow.ts'
import { readSignal } from '../../src/workflows/signal-input.ts'

const ofActivity = (cause: Error) =>
  new ActivityFailure('Activity task failed', 'sessionX', '1', RetryState.NON_RETRYABLE_FAILURE, 'w', cause)
const ofChild = (cause: Error) =>
  new ChildWorkflowFailure(
    'default',
    { workflowId: 'c', runId: 'r' },
    'sessionCompaction',
    RetryState.NON_RETRYABLE_FAILURE,
    cause,
  )
const timeout = () => new TimeoutFailure('activity Heartbeat timeout', undefined, TimeoutType.HEARTBEAT)
const typed = (type: string, message = 'why') => ApplicationFailure.nonRetryable(message, type)

describe('failures', () => {
  test('a request that is too long is known by our type, and by a provider’s own words that were passed on', () => {
    for (const failure of [
      typed('ContextOverflow'),
      typed('ContextOverflowError'),
      typed('BadRequest', 'prompt is too long: 215000 tokens > 200000 maximum'),
      typed('400', "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."),
    ])
      assert.equal(isContextOverflow(ofActivity(failure)), true, failure.message)
    for (const failure of [
      typed('429', 'This request would exceed your rate limit of 30,000 input tokens per minute'),
      typed('413', 'request_too_large: Request exceeds the maximum size'),
      timeout(),
    ])
      assert.equal(isContextOverflow(ofActivity(failure)), false, failure.message)
  })

  test('type and message are found inside the wrappers', () => {
    const failure = ofChild(ofActivity(typed('InvalidSpan', '7 is not on the surface')))
    assert.equal(failureType(failure), 'InvalidSpan')
    assert.equal(failureMessage(failure), '7 is not on the surface')
    assert.equal(failureType(ofActivity(timeout())), undefined)
    assert.equal(failureMessage(ofActivity(timeout())), 'activity Heartbeat timeout')
    assert.equal(failureMessage(typed('X', '')), 'no message')
  })

  test('an overflow names the generation of its request; nothing else is one', () => {
    const overflow = (details: unknown[]) =>
      ofActivity(ApplicationFailure.nonRetryable('too long', 'ContextOverflow', ...details))
    assert.equal(overflowGeneration(overflow([{ generation: 7 }])), 7)
    for (const other of [
      overflow([]),
      overflow([null]),
      overflow([{ generation: '7' }]),
      ofActivity(typed('ModelFailed')),
      new Error('x'),
    ]) {
      assert.equal(overflowGeneration(other), undefined)
    }
  })

  test('the session fails with the type of what failed it', () => {
    assert.equal(sessionFailure(ofActivity(typed('Fenced'))).type, 'Fenced')
    assert.equal(sessionFailure(ofActivity(timeout())).type, 'SessionFailed')
    assert.equal(sessionFailure(ofActivity(typed('Fenced'))).nonRetryable, true)
  })
})

describe('what compact/end says', () => {
  const cases: [string, 'prepare' | 'summarize' | 'commit', Error, string][] = [
    ['a cancel', 'summarize', ofActivity(new CancelledFailure('x')), 'cancelled'],
    ['a cancel between two activities', 'commit', new CancelledFailure('x'), 'cancelled'],
    ['a run that lost its session', 'prepare', ofActivity(typed('Fenced')), 'interrupted'],
    ['a summary that failed after its retries', 'summarize', ofActivity(typed('ModelFailed')), 'summary'],
    ['a summary that ran out of time', 'summarize', ofActivity(timeout()), 'summary'],
    ['a commit that the log refused', 'commit', ofActivity(typed('LogRejected')), 'commit'],
    ['a commit without an answer', 'commit', ofActivity(timeout()), 'persistence'],
    ['a commit to a store that is away', 'commit', ofActivity(typed('StoreUnavailable')), 'persistence'],
    ['a bracket that could not be opened', 'prepare', ofActivity(typed('StoreUnavailable')), 'persistence'],
  ]
  for (const [what, stage, failure, code] of cases) {
    test(`${what}: ${code}`, () => {
      const error = stageError(stage, failure)
      assert.deepEqual([error.code, error.stage], [code, stage])
      assert.notEqual(error.message, '')
    })
  }

  const children: [string, Error, string, RegExp][] = [
    ['terminated', ofChild(new TerminatedFailure('x')), 'interrupted', /terminated/],
    [
      'timed out',
      ofChild(new TimeoutFailure('x', undefined, TimeoutType.START_TO_CLOSE)),
      'interrupted',
      /ran out of time/,
    ],
    ['cancelled', ofChild(new CancelledFailure('x')), 'cancelled', /cancelled/],
    ['cancelled before it began', new CancelledFailure('x'), 'cancelled', /cancelled/],
    ['failed', ofChild(ofActivity(typed('SessionNotFound', 'gone'))), 'interrupted', /gone/],
  ]
  for (const [what, failure, code, message] of children) {
    test(`of a child that was ${what}: ${code}`, () => {
      const error = childError(failure)
      assert.equal(error.code, code)
      assert.match(error.message, message)
    })
  }
})

describe('signal input', () => {
  const raw = (value: unknown) => new RawValue(value)
  const bytes = (encoding: string, data: string) =>
    RawValue.fromPayload({ metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) })

  test('a good one is decoded and checked', () => {
    assert.deepEqual(readSignal(raw({ content: 'x' }), promptMessageSchema, 'prompt'), {
      message: { content: 'x' },
    })
  })

  test('none, null and an empty object are the same', () => {
    for (const input of [undefined, raw(undefined), raw(null), raw({})])
      assert.deepEqual(readSignal(input, closeSchema, 'close'), { message: {} })
  })

  test('what cannot be decoded or has another shape is a problem in one sentence', () => {
    const inputs = [
      raw(5),
      raw('x'),
      raw([]),
      raw({ junk: 1 }),
      bytes('json/plain', '{"x'),
      bytes('no/such', 'x'),
      RawValue.fromPayload({}),
    ]
    for (const input of inputs) {
      const read = readSignal(input, closeSchema, 'close')
      assert.ok('problem' in read)
      assert.match(read.problem, /^close: [^\n]+$/)
    }
  })
})
