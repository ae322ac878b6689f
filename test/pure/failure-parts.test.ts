import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ModelCallError } from '../../src/shared/ports/model.ts'
import { errorFields } from '../../src/shared/refusals/error-fields.ts'
import { providerFailure } from '../../src/shared/refusals/provider-failure.ts'
import { redact } from '../../src/shared/refusals/redact.ts'
import { failureOf } from '../../src/shared/refusals/refusal-of.ts'
import { retryDelayMs } from '../../src/shared/refusals/retry-delay.ts'

describe('fields of an error', () => {
  test('a text, and what is no error', () => {
    for (const [error, text] of [
      ['prompt', 'prompt'],
      [undefined, 'undefined'],
      [null, 'null'],
      [7, '7'],
    ] as const) {
      const { headers, ...fields } = errorFields(error)
      assert.deepEqual(fields, { status: undefined, codes: [], text, said: text })
      assert.equal(headers('request-id'), undefined)
    }
  })

  test("an error's words stand in the text once, as they are, with those of its body", () => {
    const { text, said } = errorFields(
      Object.assign(new Error('said "no"'), { body: { why: 'quota' }, code: 'E_NO' }),
    )
    assert.deepEqual(
      text.split('\n').filter((line) => line !== ''),
      ['said "no"', '{"why":"quota"}', 'E_NO', 'Error'],
    )
    assert.equal(said, 'said "no"')
  })

  test('a body that is no error stands in the text as a whole', () => {
    assert.ok(errorFields({ detail: 'prompt is too long' }).text.includes('{"detail":"prompt is too long"}'))
  })

  test('codes are those of the error, of its body and of its causes, and only texts', () => {
    const cause = Object.assign(new Error('reset'), { code: 'ECONNRESET', type: 7 })
    const error = Object.assign(new Error('no', { cause }), {
      code: null,
      error: { type: 'error', error: { type: 'overloaded_error' }, details: { reason: 'FULL' } },
    })
    assert.deepEqual(errorFields(error).codes, [
      'Error',
      'error',
      'overloaded_error',
      'FULL',
      'ECONNRESET',
      'Error',
    ])
  })

  test('causes are followed to four causes deep', () => {
    const chain = (depth: number): Error =>
      Object.assign(new Error(`m${depth}`, depth === 6 ? {} : { cause: chain(depth + 1) }), {
        name: `n${depth}`,
      })
    assert.deepEqual(errorFields(chain(0)).codes, ['n0', 'n1', 'n2', 'n3', 'n4'])
    assert.equal(errorFields(chain(0)).said, 'm0: m1: m2: m3: m4')
  })

  test('the sentence for people is that of the innermost body, else the message with its causes', () => {
    assert.equal(errorFields({ message: 'outer', error: { error: { message: 'inner' } } }).said, 'inner')
    assert.equal(errorFields({ message: 'outer', error: 'inner' }).said, 'inner')
    assert.equal(errorFields({ message: 7, error: 7 }).said, '')
    assert.equal(errorFields(new Error('', { cause: new Error('why') })).said, 'why')
    assert.equal(errorFields(new Error('failed', { cause: 'a text' })).said, 'failed')
  })

  test('headers: of the error, then of its response; `Headers` or any object, in any case', () => {
    const read = (error: unknown, name = 'request-id') => errorFields(error).headers(name)
    assert.equal(read({ headers: new Headers({ 'Request-Id': 'a' }) }), 'a')
    assert.equal(read({ headers: { 'Request-ID': 'a' } }), 'a')
    assert.equal(read({ responseHeaders: { other: 'x', 'request-id': 'b' } }), 'b')
    assert.equal(read({ headers: { 'retry-after': 5 } }, 'retry-after'), '5')
    assert.equal(read({ headers: {}, response: { headers: { 'request-id': 'c' } } }), 'c')
    assert.equal(read({ headers: null, response: { headers: new Headers({ 'request-id': 'd' }) } }), 'd')
    for (const none of [
      { headers: { 'request-id': ['a'] } },
      { headers: { get: () => 7 } },
      { response: null },
    ])
      assert.equal(read(none), undefined, JSON.stringify(none))
  })
})

describe('a failed call of another copy of the package', () => {
  const failure = providerFailure({ status: 401, text: 'no', now: 0 })

  test('keeps its failure', () => {
    const copy = Object.assign(new Error('x'), { name: 'ModelCallError', failure })
    assert.equal(failureOf(copy, 0), failure)
  })

  test('only when it is one', () => {
    for (const other of [
      Object.assign(new Error('x'), { failure }),
      { name: 'ModelCallError', message: 'x', failure },
      Object.assign(new Error('x'), { name: 'ModelCallError' }),
      Object.assign(new Error('x'), { name: 'ModelCallError', failure: { kind: 'toString' } }),
    ])
      assert.equal(failureOf(other, 0).kind, 'unknown')
  })

  test('has a cause only when one is given', () => {
    assert.equal(Object.hasOwn(new ModelCallError(failure), 'cause'), false)
    assert.equal(new ModelCallError(failure, 'why').cause, 'why')
  })
})

describe('a time that a provider names', () => {
  const NOW = Date.parse('2026-11-30T12:00:00Z')
  const asked = (headers: Record<string, string>, text = '') =>
    retryDelayMs((name) => headers[name], text, NOW)

  test('a number is the whole value, spaces aside', () => {
    assert.equal(asked({ 'retry-after-ms': ' 1500 ' }), 1500)
    assert.equal(asked({ 'retry-after': '2.25' }), 2250)
    for (const value of ['x5', '5x', '5 5', '', '.'])
      assert.equal(asked({ 'retry-after-ms': value }), undefined, value)
  })

  test('words name hours, minutes and parts of a second', () => {
    assert.equal(asked({}, 'try again in 1h2m3.25s'), 3_723_250)
    assert.equal(asked({}, 'Retry in 1m 30s.'), 90_000)
    assert.equal(asked({}, '"retryDelay": "34s"'), 34_000)
    assert.equal(asked({}, '"retryDelay":"34s"'), 34_000)
    assert.equal(asked({}, 'took 34s'), undefined)
  })

  test('of limits that are used up the longest; of all when none says what remains', () => {
    const reset = (seconds: number) => new Date(NOW + seconds * 1000).toISOString()
    const both = {
      'anthropic-ratelimit-requests-reset': reset(20),
      'anthropic-ratelimit-tokens-reset': reset(50),
    }
    assert.equal(asked(both), 50_000)
    assert.equal(asked({ ...both, 'anthropic-ratelimit-requests-remaining': '0' }), 20_000)
    assert.equal(asked({ ...both, 'anthropic-ratelimit-requests-remaining': '1' }), undefined)
    assert.equal(asked({ 'anthropic-ratelimit-unified-reset': reset(30) }), 30_000)
    assert.equal(asked({ 'x-ratelimit-reset-requests': '1.25s' }), 1250)
  })
})

describe('secrets', () => {
  const PRIVATE = 'MIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC'
  for (const [secret, kept] of [
    ['github_pat_11ABCDEFG0123456789abcdef', ''],
    ['ya29.a0AfH6SMBx-1234567890abcdef', ''],
    [`-----BEGIN RSA PRIVATE KEY-----\n${PRIVATE}\n-----END RSA PRIVATE KEY-----`, ''],
    [`-----BEGIN PRIVATE KEY-----\n${PRIVATE}\n-----END PRIVATE KEY-----`, ''],
    ['Bearer   0123456789abcdef', 'Bearer '],
    ['apikey=0123456789abcdef', 'apikey='],
    ['password: 0123456789abcdef', 'password: '],
    ['"client_secret" : "0123456789abcdef', '"client_secret" : "'],
    ['password=hunter2', 'password='],
    ['db_passwd: hunter2', 'db_passwd: '],
    ['"token":"abcdefgh12345678', '"token":"'],
    ['Authorization: Token 0123456789abcdef', 'Authorization: Token '],
    ['AccountKey=0123456789abcdef==', 'AccountKey='],
    ['SG.0123456789abcdefAB.0123456789abcdefAB', ''],
    ['glsa_0123456789abcdef0123', ''],
  ] as const)
    test(`${secret.slice(0, 20)} goes, what stands around it stays`, () =>
      assert.equal(redact(`before ${secret} after`), `before ${kept}[secret removed] after`))

  test('reads 4,000 characters: a body that a proxy echoes would stop the worker for minutes', () => {
    const begun = process.cpuUsage().user
    for (const run of ['a.', 'aa-bb-cc-', 'eyJ', '-----BEGIN '])
      assert.ok(redact(run.repeat(200_000)).length <= 4_000, run)
    assert.ok(process.cpuUsage().user - begun < 5_000_000, 'it takes minutes')
  })

  test('the password of an address goes, also one with a slash', () => {
    assert.equal(redact('at mysql://root:pa/ss@h:3306/x'), 'at mysql://[secret removed]@h:3306/x')
    for (const said of ['http://h:80/path', 'bypass: true', 'pass: ok']) assert.equal(redact(said), said)
  })

  test('a private key that was cut goes to its end', () => {
    assert.equal(redact(`key: -----BEGIN EC PRIVATE KEY-----\n${PRIVATE}`), 'key: [secret removed]')
  })

  test('what is too short stays', () => {
    for (const said of ['github_pat_x', 'ya29.x', 'sk-x', 'Bearer x', 'apikey=x'])
      assert.equal(redact(said), said)
  })
})
