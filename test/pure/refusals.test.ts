import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { refusalOf } from '../../src/shared/refusals/refusal-of.ts'
import { HOSTED } from '../support/refusal-samples/hosted.ts'
import { OTHERS } from '../support/refusal-samples/others.ts'
import { thrown } from '../support/refusal-samples/sample.ts'
import { SERVERS } from '../support/refusal-samples/servers.ts'

const OVERFLOWS = [...HOSTED, ...SERVERS]

describe('refusals of providers', () => {
  test('C9 the table is long enough', () => assert.ok(OVERFLOWS.length + OTHERS.length >= 90))

  for (const sample of OVERFLOWS)
    test(`C9 too long for the window: ${sample.from}`, () =>
      assert.deepEqual(refusalOf(thrown(sample)), sample.is))

  for (const sample of OTHERS)
    test(`C9 ${sample.is?.kind ?? 'neither size nor rate'}: ${sample.from}`, () =>
      assert.deepEqual(refusalOf(thrown(sample)), sample.is))

  test('C9 a body without an error around it, a text, and what is none', () => {
    for (const sample of OVERFLOWS.filter(({ body }) => !(body instanceof Error)))
      assert.equal(refusalOf(sample.body)?.kind, 'context-overflow', sample.from)
    for (const value of [undefined, null, 7, true, Symbol('x'), () => 'prompt is too long'])
      assert.equal(refusalOf(typeof value === 'function' ? undefined : value), null)
  })

  test('C9 cyclic errors, getters that throw and pages of megabytes do no harm', () => {
    const cyclic: Record<string, unknown> = { message: 'prompt is too long' }
    cyclic['error'] = cyclic
    assert.equal(refusalOf(cyclic)?.kind, 'context-overflow')
    const own = new Error('prompt is too long')
    own.cause = own
    assert.equal(refusalOf(own)?.kind, 'context-overflow')
    const before = performance.now()
    assert.equal(refusalOf(new Error('<p>no</p>'.repeat(1_000_000))), null)
    assert.ok(performance.now() - before < 10_000)
  })
})
