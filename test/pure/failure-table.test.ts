import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type FailedCall,
  type FailureKind,
  LONGEST_WAIT_MS,
  providerFailure,
} from '../../src/shared/refusals/provider-failure.ts'

const failed = (call: Partial<FailedCall>) => providerFailure({ text: '', now: 0, ...call })
const kindOf = (call: Partial<FailedCall>) => failed(call).kind

const CODES: readonly (readonly [FailureKind, ...string[]])[] = [
  ['billing', 'billing_error', 'insufficient_quota', 'billing_hard_limit_reached', 'Billing_Not_Active'],
  ['authentication', 'authentication_error', 'invalid_api_key', 'UNAUTHENTICATED'],
  ['permission', 'permission_error', 'PERMISSION_DENIED', 'AccessDeniedException'],
  ['model-gone', 'not_found_error', 'model_not_found', 'DeploymentNotFound', 'deployment_not_found'],
  ['content-filter', 'content_filter', 'ResponsibleAIPolicyViolation', 'data_inspection_failed'],
  ['overloaded', 'overloaded_error', 'engine_overloaded_error', 'ModelNotReadyException'],
  ['timeout', 'timeout_error', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_TIMEOUT', 'TimeoutError'],
  ['untrusted-server', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ['untrusted-server', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT', 'ERR_TLS_CERT'],
  ['timeout', 'CallTimeout'],
  ['cut-stream', 'CutStream'],
  ['broken-reply', 'BrokenReply'],
  ['too-large-reply', 'TooLargeReply'],
  ['server', 'api_error', 'server_error', 'internal_server_error'],
  ['rate-limit', 'rate_limit_error', 'rate_limit_exceeded'],
  ['invalid-request', 'invalid_request_error'],
]

/** Said without a status. */
const WORDS: readonly (readonly [FailureKind, ...string[]])[] = [
  [
    'billing',
    'insufficient balance',
    'insufficient account credits',
    'Insufficient credit',
    'insufficient funds',
  ],
  ['content-filter', 'content filter', 'contentfilter', 'content-filter', 'content policy'],
  ['content-filter', 'content management policy', 'blocked by safety', 'blocked by our content rules'],
  ['authentication', 'invalid apikey', 'missing x-api-key', 'no api key', 'Incorrect api_key'],
  [
    'model-gone',
    'model x not found',
    'model `gpt-x` is not found',
    'model "y" was not found',
    'no such model',
  ],
  ['overloaded', 'server busy', 'the server is busy', 'at capacity'],
  ['untrusted-server', 'self signed certificate', 'self-signed certificate'],
  ['timeout', 'timeout', 'timed out', 'time out', 'deadline exceeded'],
  ['cut-stream', 'premature close', 'closed prematurely: prematurely closed', 'terminated'],
  ['connection', 'connect ECONNREFUSED', 'ECONNX', 'UND_ERR_DESTROYED', 'UND_ERR_X', 'EPIPE'],
]

const STATUSES: readonly (readonly [FailureKind, ...number[]])[] = [
  ['authentication', 401, 498],
  ['billing', 402],
  ['permission', 403],
  ['model-gone', 404],
  ['timeout', 408, 499, 504, 524],
  ['server', 409, 425, 500, 501, 502, 503, 599],
  ['request-bytes', 413],
  ['rate-limit', 429],
  ['overloaded', 529],
  ['invalid-request', 400, 405, 418, 422],
  ['redirect', 300, 302, 307, 399],
  ['broken-reply', 200, 299],
]

describe('what a failure is', () => {
  for (const [kind, ...codes] of CODES)
    for (const code of codes)
      test(`by the code ${code}, alone and not as a part of another`, () => {
        assert.equal(kindOf({ codes: [code] }), kind)
        assert.equal(kindOf({ type: code }), kind)
        assert.equal(kindOf({ type: 'other', codes: ['another', code] }), kind)
        assert.equal(kindOf({ codes: [`x-${code}`, `${code}-x`] }), 'unknown')
      })

  for (const [kind, ...texts] of WORDS)
    for (const text of texts) test(`by the words: ${text}`, () => assert.equal(kindOf({ text }), kind))

  for (const [kind, ...statuses] of STATUSES)
    for (const status of statuses)
      test(`by the status ${status}`, () => assert.equal(kindOf({ status }), kind))

  test('a code is surer than a status, 401 and 402 than words, words than other statuses', () => {
    assert.equal(kindOf({ status: 500, codes: ['invalid_api_key'] }), 'authentication')
    assert.equal(kindOf({ status: 401, text: 'blocked by content policy' }), 'authentication')
    assert.equal(kindOf({ status: 402, text: 'blocked by content policy' }), 'billing')
    assert.equal(kindOf({ status: 403, text: 'blocked by content policy' }), 'content-filter')
    assert.equal(kindOf({ status: 400, text: 'insufficient funds' }), 'billing')
  })

  test('words about the service count where the status leaves room for them', () => {
    assert.equal(kindOf({ status: 500, text: 'Overloaded' }), 'overloaded')
    assert.equal(kindOf({ status: 400, text: 'Overloaded' }), 'invalid-request')
    assert.equal(kindOf({ status: 500, text: 'timeout' }), 'server')
    assert.equal(kindOf({ status: 400, text: 'no such model' }), 'model-gone')
    assert.equal(kindOf({ status: 400, text: 'no api key' }), 'authentication')
    assert.equal(kindOf({ status: 200, text: 'stream ended' }), 'cut-stream')
    assert.equal(kindOf({ text: 'timeout', codes: ['server_error'] }), 'server')
  })
})

describe('all that a failure says', () => {
  test('no field without a value', () => {
    assert.deepEqual(failed({ text: 'boom' }), { kind: 'unknown', retryable: true, message: 'boom' })
    assert.deepEqual(failed({ status: 500, text: 'boom' }), {
      kind: 'server',
      retryable: true,
      message: 'server: 500 boom.',
      status: 500,
    })
  })

  test('an overflow has the numbers that were named, an output limit has none', () => {
    const overflow = failed({ status: 400, text: 'prompt is too long: 210000 tokens > 200000 maximum' })
    assert.equal(overflow.kind, 'context-overflow')
    assert.deepEqual([overflow.requestTokens, overflow.windowTokens], [210_000, 200_000])
    const unnamed = failed({ text: 'prompt is too long' })
    assert.deepEqual(Object.keys(unnamed), ['kind', 'retryable', 'message'])
    const reply = failed({
      status: 400,
      text: "This model's maximum context length is 8192 tokens. However, you requested 18192 tokens (10 in the messages, 18182 in the completion).",
    })
    assert.deepEqual(Object.keys(reply), ['kind', 'retryable', 'message', 'status'])
    assert.equal(reply.kind, 'output-limit')
  })

  test('the first request id that is not empty', () => {
    const ids: Record<string, string> = { 'request-id': '', 'x-request-id': 'req_2', 'cf-ray': 'ray_3' }
    const { requestId, message } = failed({ status: 500, text: 'boom', headers: (name) => ids[name] })
    assert.equal(requestId, 'req_2')
    assert.equal(message, 'server: 500 boom (request req_2).')
    assert.equal(
      failed({ status: 500, text: 'boom in req_2', headers: (name) => ids[name] }).message,
      'server: 500 boom in req_2.',
    )
  })

  test('half an hour is waited for, in parts; more is not', () => {
    const after = (seconds: number) =>
      failed({
        status: 529,
        text: 'Overloaded',
        headers: (name) => (name === 'retry-after' ? `${seconds}` : undefined),
      })
    assert.deepEqual([after(1800).retryable, after(1800).retryAfterMs], [true, LONGEST_WAIT_MS])
    assert.deepEqual([after(1801).retryable, after(1801).retryAfterMs], [false, undefined])
    assert.equal(
      after(1801).message,
      'overloaded: 529 Overloaded. It asks to wait 31 minutes, longer than a turn waits: try again then.',
    )
  })
})

describe('the sentence for people', () => {
  const messageOf = (text: string, call: Partial<FailedCall> = { status: 500 }) =>
    failed({ text, ...call }).message

  test('the status once, one full stop, the advice after it', () => {
    assert.equal(messageOf('500 Broken. Badly.'), 'server: 500 Broken. Badly.')
    assert.equal(messageOf('Broken 500'), 'server: 500 Broken 500.')
    assert.equal(messageOf(''), 'server: 500 no words.')
    assert.equal(messageOf('overloaded', {}), 'overloaded: overloaded.')
    assert.equal(
      messageOf('no', { status: 401 }),
      'authentication: 401 no. Give the worker a valid key for this provider.',
    )
  })

  test('of what nothing is known, only the words', () => {
    assert.equal(messageOf('boom.', {}), 'boom.')
    assert.equal(messageOf('', {}), 'no words')
    assert.equal(
      messageOf('boom', { headers: (name) => (name === 'retry-after' ? '7200' : undefined) }),
      'unknown: boom. It asks to wait 120 minutes, longer than a turn waits: try again then.',
    )
  })

  test('what is said for people goes before the whole text, its first 600 characters, trimmed', () => {
    assert.equal(messageOf('overloaded {"a":1}', { said: 'busy', status: 500 }), 'overloaded: 500 busy.')
    assert.equal(messageOf(`  ${'x'.repeat(700)}`), `server: 500 ${'x'.repeat(598)}.`)
    assert.equal(messageOf(' boom '), 'server: 500 boom.')
  })

  test('a page is told by its title, what stands before it stays', () => {
    const title = '<html><head><title lang="en"> Bad Gateway </title></head></html>'
    assert.equal(messageOf(`502 ${title}`, { status: 502 }), 'server: 502 an HTML page (Bad Gateway).')
    assert.equal(messageOf('<body>no</body>'), 'server: 500 an HTML page (no title).')
    assert.equal(
      messageOf(`<html><title>${'x'.repeat(300)}`),
      `server: 500 an HTML page (${'x'.repeat(200)}).`,
    )
  })
})
