import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { ContextOverflowError, ModelCallError } from '../../src/shared/ports/model.ts'
import { type FailureKind, LONGEST_WAIT_MS } from '../../src/shared/refusals/provider-failure.ts'
import { redact } from '../../src/shared/refusals/redact.ts'
import { failureOf, modelErrorOf } from '../../src/shared/refusals/refusal-of.ts'

const NOW = Date.parse('2026-11-30T12:00:00Z')

/** As the official SDK makes it of a response. */
const sdk = (status: number, type: string, message: string, headers: Record<string, string> = {}) =>
  Anthropic.APIError.generate(
    status,
    { type: 'error', error: { type, message } },
    message,
    new Headers(headers),
  )

/** As fetch throws it: the code stands in the cause. */
const fetchFailed = (code: string, message = code) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) })

const openai = (
  status: number | undefined,
  code: string | null,
  message: string,
  type: string | null = null,
) =>
  Object.assign(new Error(`${status ?? ''} ${message}`.trim()), {
    status,
    code,
    type,
    error: { message, code, type },
    headers: new Headers({ 'x-request-id': 'req_openai' }),
  })

const CASES: readonly (readonly [FailureKind, string, unknown])[] = [
  ['authentication', '401', sdk(401, 'authentication_error', 'invalid x-api-key')],
  ['authentication', 'a local server, 400', openai(400, null, 'Invalid API key')],
  ['permission', '403', sdk(403, 'permission_error', 'Your API key does not have permission')],
  [
    'permission',
    '403 of a proxy',
    Object.assign(new Error('403 <html><title>Forbidden</title>'), { status: 403 }),
  ],
  ['billing', '402', sdk(402, 'billing_error', 'Payment required')],
  [
    'billing',
    '400 for a low balance',
    sdk(400, 'invalid_request_error', 'Your credit balance is too low to access the Anthropic API.'),
  ],
  [
    'billing',
    '429 without quota',
    openai(429, 'insufficient_quota', 'You exceeded your current quota', 'insufficient_quota'),
  ],
  ['model-gone', '404', sdk(404, 'not_found_error', 'model: claude-1')],
  ['model-gone', 'Ollama', openai(404, null, "model 'llama9' not found", 'api_error')],
  [
    'model-gone',
    'a gateway, 400',
    openai(400, null, 'The model `x` does not exist or you do not have access to it.'),
  ],
  [
    'rate-limit',
    '429',
    sdk(429, 'rate_limit_error', "This request would exceed your organization's rate limit"),
  ],
  ['overloaded', '529', sdk(529, 'overloaded_error', 'Overloaded')],
  ['overloaded', '503 while a model is loaded', openai(503, null, 'Loading model', 'unavailable_error')],
  [
    'overloaded',
    'an error event after a 200',
    new Anthropic.APIError(
      undefined,
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      undefined,
      new Headers(),
      'overloaded_error',
    ),
  ],
  ['server', '500', sdk(500, 'api_error', 'Internal server error')],
  [
    'server',
    '502 with a page',
    Object.assign(new Error('502 <html><head><title>Bad Gateway</title></head></html>'), { status: 502 }),
  ],
  [
    'server',
    'an error event after a 200',
    openai(undefined, null, 'The server had an error', 'server_error'),
  ],
  ['timeout', '504', sdk(504, 'timeout_error', 'Request timed out')],
  ['timeout', 'of the client', new Anthropic.APIConnectionTimeoutError()],
  ['timeout', 'no headers', fetchFailed('UND_ERR_HEADERS_TIMEOUT')],
  ['connection', 'refused', fetchFailed('ECONNREFUSED')],
  [
    'connection',
    'refused, as the SDK wraps it',
    new Anthropic.APIConnectionError({ message: 'Connection error.', cause: fetchFailed('ECONNREFUSED') }),
  ],
  ['connection', 'no such host', fetchFailed('ENOTFOUND', 'getaddrinfo ENOTFOUND api.invalid')],
  ['connection', 'reset', fetchFailed('ECONNRESET')],
  ['untrusted-server', 'self-signed', fetchFailed('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate')],
  ['untrusted-server', 'another name', fetchFailed('ERR_TLS_CERT_ALTNAME_INVALID')],
  ['redirect', '307', Object.assign(new Error('307 status code (no body)'), { status: 307 })],
  [
    'redirect',
    'refused by fetch',
    new TypeError('fetch failed', { cause: new Error('unexpected redirect') }),
  ],
  [
    'cut-stream',
    'the socket closed',
    new TypeError('terminated', {
      cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
    }),
  ],
  ['cut-stream', 'no end', new Error('stream ended without producing a Message with role=assistant')],
  ['broken-reply', 'no JSON', new SyntaxError('Unexpected token \'<\', "<html>" is not valid JSON')],
  ['broken-reply', 'no gzip', new TypeError('terminated', { cause: new Error('incorrect header check') })],
  [
    'content-filter',
    'Azure',
    openai(
      400,
      'content_filter',
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    ),
  ],
  [
    'content-filter',
    'Anthropic',
    sdk(400, 'invalid_request_error', 'Output blocked by content filtering policy'),
  ],
  ['invalid-request', '400', sdk(400, 'invalid_request_error', 'messages: roles must alternate')],
  ['invalid-request', '422', sdk(422, 'invalid_request_error', 'max_tokens: Field required')],
  [
    'context-overflow',
    '400',
    sdk(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
  ],
  ['context-overflow', 'llama.cpp, 500', openai(500, null, 'the request exceeds the available context size')],
  [
    'output-limit',
    '400',
    sdk(
      400,
      'invalid_request_error',
      'max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for x',
    ),
  ],
  ['request-bytes', '413', sdk(413, 'request_too_large', 'Request exceeds the maximum size')],
  ['unknown', 'no words', new Error('boom')],
  ['unknown', 'no error', undefined],
]

const PASSING: readonly FailureKind[] = [
  'rate-limit',
  'overloaded',
  'server',
  'timeout',
  'connection',
  'cut-stream',
  'broken-reply',
  'unknown',
]

describe('failures of providers', () => {
  for (const [kind, what, error] of CASES)
    test(`${kind}: ${what}`, () => {
      const failure = failureOf(error, NOW)
      assert.equal(failure.kind, kind, failure.message)
      assert.equal(failure.retryable, PASSING.includes(kind))
    })

  test('a client throws what may be compacted as an overflow, and everything else as a failed call', () => {
    for (const [kind, what, error] of CASES) {
      const thrown = modelErrorOf(error, NOW)
      const isOverflow = kind === 'context-overflow' || kind === 'request-bytes'
      assert.ok(thrown instanceof (isOverflow ? ContextOverflowError : ModelCallError), what)
      assert.equal(modelErrorOf(thrown, NOW), thrown)
    }
  })

  test('status, words, request id and advice stand in the message, a page only with its title', () => {
    assert.equal(
      failureOf(sdk(401, 'authentication_error', 'invalid x-api-key', { 'request-id': 'req_7' }), NOW)
        .message,
      'authentication: 401 invalid x-api-key (request req_7). Give the worker a valid key for this provider.',
    )
    assert.equal(failureOf(openai(500, null, 'Broken'), NOW).requestId, 'req_openai')
    const page = `<!DOCTYPE html><html><head><title>Bad Gateway</title></head>${'<p>x</p>'.repeat(100_000)}`
    const { message } = failureOf(Object.assign(new Error(page), { status: 502 }), NOW)
    assert.equal(message, 'server: 502 an HTML page (Bad Gateway).')
  })

  test('an error that lies about itself does no harm', () => {
    const odd = Object.defineProperties(new Error('odd'), {
      status: { get: () => assert.fail('read') },
      headers: { value: { get: () => 7 } },
      cause: { value: null },
    })
    assert.equal(failureOf(odd, NOW).kind, 'unknown')
    const cyclic: Record<string, unknown> = {}
    cyclic['error'] = cyclic
    assert.equal(failureOf(cyclic, NOW).kind, 'unknown')
  })
})

describe('how long a provider asks to wait', () => {
  const limited = (headers: Record<string, string>, message = 'Slow down') =>
    failureOf(sdk(429, 'rate_limit_error', message, headers), NOW)
  const cases: readonly (readonly [string, Record<string, string>, number | undefined])[] = [
    ['nothing', {}, undefined],
    ['seconds', { 'retry-after': '20' }, 20_000],
    ['parts of a second', { 'retry-after': '0.25' }, 250],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['no wait, which is no answer', { 'retry-after': '0' }, undefined],
    ['milliseconds, which are surer', { 'retry-after': '20', 'retry-after-ms': '1500' }, 1500],
    ['a date', { 'retry-after': 'Mon, 30 Nov 2026 12:00:30 GMT' }, 30_000],
    ['a date in the past', { 'retry-after': 'Mon, 30 Nov 2026 11:00:00 GMT' }, undefined],
    ['what is no time', { 'retry-after': 'soon' }, undefined],
    ['more than a session waits at once', { 'retry-after': '1000' }, LONGEST_WAIT_MS],
    [
      'the limit that is used up',
      {
        'anthropic-ratelimit-requests-remaining': '7',
        'anthropic-ratelimit-requests-reset': '2026-11-30T12:04:00Z',
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2026-11-30T12:00:40Z',
      },
      40_000,
    ],
    ['seconds since 1970', { 'anthropic-ratelimit-unified-reset': String(NOW / 1000 + 60) }, 60_000],
    ["OpenAI's", { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1m2.5s' }, 62_500],
  ]
  for (const [what, headers, ms] of cases) test(what, () => assert.equal(limited(headers).retryAfterMs, ms))

  test('words of the body', () => {
    assert.equal(limited({}, 'Please try again in 6m0s.').retryAfterMs, LONGEST_WAIT_MS)
    assert.equal(limited({}, 'Please try again in 120ms.').retryAfterMs, 120)
  })

  test('who asks for hours gets no further attempt, and the message says the time', () => {
    const { retryable, retryAfterMs, message } = limited({ 'retry-after': '7200' })
    assert.deepEqual([retryable, retryAfterMs], [false, undefined])
    assert.match(message, /asks to wait 120 minutes/)
  })

  test('a provider that says not to retry is believed', () => {
    const failure = failureOf(sdk(500, 'api_error', 'Broken', { 'x-should-retry': 'false' }), NOW)
    assert.equal(failure.retryable, false)
  })
})

describe('secrets in what providers say', () => {
  const SECRETS = [
    'sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz012345',
    'sk-proj-AbCdEfGhIjKl',
    'gsk_AbCdEfGhIjKlMnOpQrSt',
    'AIzaSyA1234567890abcdefghijklmnopqrstuv',
    'AKIAIOSFODNN7EXAMPLE',
    'ghp_0123456789abcdef0123456789abcdef0123',
    'xoxb-123456789012-abcdefghij',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
    'Bearer 0123456789abcdef',
    'Basic dXNlcjpwYXNzd29yZA==',
    'https://user:hunter22hunter@h',
    'x-api-key: 0123456789abcdef',
    '"access_token":"0123456789abcdef"',
    'https://api.local/v1?key=0123456789abcdef',
  ]
  for (const [at, secret] of SECRETS.entries())
    test(`form ${at + 1} reaches neither message nor error`, () => {
      const hidden = secret
        .replace(/^(?:Bearer|Basic) |^[^:]*: |^.*?[=]/, '')
        .replace(/@h$/, '')
        .slice(-10)
      const error = sdk(401, 'authentication_error', `Incorrect API key provided: ${secret}.`)
      assert.ok(!failureOf(error, NOW).message.includes(hidden), failureOf(error, NOW).message)
      const overflow = modelErrorOf(new Error(`prompt is too long (${secret})`), NOW)
      assert.ok(!overflow.message.includes(hidden), overflow.message)
    })

  test('numbers and plain words stay', () => {
    const said =
      'max_tokens: 128000 > 64000; token count: 20000; the model `gpt-5` is a task-oriented one; password must be set'
    assert.equal(redact(said), said)
  })
})
