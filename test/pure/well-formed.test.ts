import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headOf, tailOf, wellFormed } from '../../src/shared/session/well-formed.ts'

test('O14 lone surrogates become U+FFFD in every string of a value, keys included; pairs and the rest stay', () => {
  const value = { 'k\ud800': ['a\udc00b', { deep: '😀\ud83d' }], number: 1, none: null }
  assert.deepEqual(wellFormed(value), {
    'k\ufffd': ['a\ufffdb', { deep: '😀\ufffd' }],
    number: 1,
    none: null,
  })
})

test('a key named __proto__ stays data', () => {
  const value = wellFormed(JSON.parse('{"__proto__":{"polluted":"\\ud800"}}') as Record<string, unknown>)
  assert.ok(Object.hasOwn(value, '__proto__'))
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.deepEqual(JSON.stringify(value), '{"__proto__":{"polluted":"\ufffd"}}')
})

test('O14 head and tail of a text never split a surrogate pair', () => {
  assert.equal(headOf('a😀b', 2), 'a')
  assert.equal(headOf('a😀b', 3), 'a😀')
  assert.equal(tailOf('a😀b', 2), 'b')
  assert.equal(tailOf('a😀b', 3), '😀b')
  assert.equal(tailOf('abc', 0), '')
})
