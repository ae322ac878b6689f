import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ContextOverflowError } from '../../src/shared/ports/model.ts'
import type { RefusalKind } from '../../src/shared/refusals/classify.ts'
import { overflowOf, refusalOf } from '../../src/shared/refusals/refusal-of.ts'

/** Near the recorded wordings: a word more or less, another separator. */
const WORDINGS: readonly (readonly [RefusalKind, ...string[]])[] = [
  [
    'context-overflow',
    'context_window_exceeded',
    'model_context_window_exceeded',
    'input too long',
    'longer than the models context length',
    "longer than the model's context length",
    'exceeds the models context',
    "exceeds the model's maximum context",
    'please reduce the length of messages',
    'please reduce the length of the messages',
    'the token count of 1,234 exceeds it',
    'size limit exceeded by 1,234 tokens',
    'context length exceeded',
    'context window is exceeded',
    'too many tokens',
    'too many input tokens',
  ],
  [
    'rate-limit',
    'ratelimit',
    'rate limit',
    'rate_limit',
    'rate-limit',
    'one token per minute',
    'tokens per minute',
    'tokens_per_hour',
    'TPM: 30000',
    'ITPM: 30000',
    'OTPM: 30000',
    'try again in 5s',
  ],
  [
    'output-limit',
    'max_tokens must be less than or equal to 4096',
    '`max_tokens` must be less than or equal to 4096',
  ],
  ['request-bytes', 'payload too large', 'payload is too large', 'image exceeds 5 MB', 'image exceeds 20MB'],
]

describe('words of a refusal', () => {
  for (const [kind, ...texts] of WORDINGS)
    for (const text of texts) test(`${kind}: ${text}`, () => assert.equal(refusalOf(text)?.kind, kind))

  test('numbers are read where their words differ a little', () => {
    const overflow = { kind: 'context-overflow' }
    assert.deepEqual(refusalOf('maximum context length 8,192'), { ...overflow, windowTokens: 8192 })
    assert.deepEqual(refusalOf('range of input length should be [10,98304]'), {
      ...overflow,
      windowTokens: 98_304,
    })
    assert.deepEqual(refusalOf('too many tokens: requested 9000 tokens'), {
      ...overflow,
      requestTokens: 9000,
    })
  })

  test('a page of a proxy is not searched to its end', () => {
    assert.equal(refusalOf(new Error(`${'.'.repeat(20_000)}prompt is too long`)), null)
    assert.equal(refusalOf(new Error(`${'.'.repeat(19_000)}prompt is too long`))?.kind, 'context-overflow')
  })
})

describe('where clients keep the words', () => {
  const tooLarge = { kind: 'request-bytes' }

  test('the status alone says it, wherever it stands', () => {
    for (const fields of [
      { status: 413 },
      { response: null, statusCode: 413 },
      { $metadata: { httpStatusCode: 413 } },
      { response: { status: 413 } },
      { status: 'Payload', statusCode: 413 },
    ])
      assert.deepEqual(refusalOf(Object.assign(new Error('no'), fields)), tooLarge, JSON.stringify(fields))
    for (const fields of [{ response: null }, { $metadata: null }, { status: '413' }, { status: 400 }])
      assert.equal(refusalOf(Object.assign(new Error('no'), fields)), null, JSON.stringify(fields))
  })

  test('a cause is searched, to four causes deep', () => {
    let error = new Error('prompt is too long')
    for (let depth = 1; depth <= 4; depth++) {
      error = new Error('request failed', { cause: error })
      assert.equal(refusalOf(error)?.kind, 'context-overflow', `${depth} deep`)
    }
    assert.equal(refusalOf(new Error('request failed', { cause: error })), null)
  })
})

describe('the error that asks for a compaction', () => {
  test('has the numbers that are known, and the words of the provider', () => {
    const both = overflowOf(new Error('prompt is too long: 210000 tokens > 200000 maximum'))
    assert.ok(both instanceof ContextOverflowError)
    assert.equal(both.message, 'prompt is too long: 210000 tokens > 200000 maximum')
    assert.deepEqual(both.named, { windowTokens: 200_000, requestTokens: 210_000 })
    const none = overflowOf('input too long')
    assert.equal(none?.message, 'input too long')
    assert.deepEqual(none?.named, {})
  })

  test('is there for too many bytes too, and for nothing else', () => {
    assert.ok(overflowOf(Object.assign(new Error('no'), { status: 413 })) instanceof ContextOverflowError)
    for (const other of [new Error('rate limit'), new Error('maximum output tokens'), new Error('no'), null])
      assert.equal(overflowOf(other), null)
  })
})
