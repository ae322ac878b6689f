import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renderHits, renderPart } from '../../src/shared/recall/answers.ts'
import type { Recalled } from '../../src/shared/recall/event-text.ts'
import { text } from '../../src/shared/session/content.ts'

const event = (words: string, seq = 7): Recalled => ({
  seq,
  time: 0,
  key: `u${seq}`,
  type: 'user/message',
  turn: 1,
  step: null,
  data: { content: [text(words)], source: 'prompt' },
  tokens: 0,
  surfaceOp: 'append',
})

/** One token a character: a limit then says exactly how long an answer may be. */
const most = (maxTokens: number) => ({ maxTokens, count: (page: string) => page.length })

const PLACE = /^\[#7\] the user, characters (\d+) to (\d+) of (\d+):\n/
function placeOf(page: string | undefined): [from: number, to: number] {
  const [, from, to] = PLACE.exec(page ?? '') ?? assert.fail(`no place in ${page}`)
  return [Number(from), Number(to)]
}

describe('parts of an event', () => {
  test('fill the limit, and are never over it', () => {
    const long = event('x'.repeat(5_000))
    for (let limit = 150; limit < 200; limit++) {
      const page = renderPart(long, 0, most(limit)) ?? ''
      assert.ok(page.length <= limit && page.length > limit - 25, `${page.length} of ${limit}`)
    }
  })

  test('an answer of exactly the limit is whole', () => {
    const whole = '[#7] the user:\nabcdef'
    assert.equal(renderPart(event('abcdef'), 0, most(whole.length)), whole)
    assert.equal(renderPart(event('aaaa\naaaa\naaaa\nb'), 0, most(31)), '[#7] the user:\naaaa\naaaa\naaaa\nb')
  })

  test('one of at least two characters comes under any limit', () => {
    assert.deepEqual(placeOf(renderPart(event('x'.repeat(500)), 100, most(10))), [100, 102])
    assert.equal(renderPart(event('x'), 0, most(1)), '[#7] the user:\nx')
  })

  test('ends with a whole line where one ends near, in later parts too', () => {
    const lines = event('123456789\n'.repeat(100))
    for (let limit = 150; limit < 170; limit++) {
      const [, to] = placeOf(renderPart(lines, 0, most(limit)))
      assert.equal(to % 10, 0)
      assert.ok(to > 0)
      const [from, next] = placeOf(renderPart(lines, to, most(limit)))
      assert.equal(from, to)
      assert.equal(next % 10, 0)
      assert.ok(next > from)
    }
  })

  test('goes on in a long line when the last one ended far back', () => {
    const [, to] = placeOf(renderPart(event(`short\n${'x'.repeat(900)}`), 0, most(180)))
    assert.ok(to > 50, `${to}`)
  })

  test('the last one goes to the end, past its last line', () => {
    const lines = event(`${'123456789\n'.repeat(100)}end`)
    const page = renderPart(lines, 950, most(200))
    assert.deepEqual(placeOf(page), [950, 1_003])
    assert.match(page ?? '', /end\n\[That is its end\.\]$/)
  })

  test('never begins inside a code point', () => {
    assert.match(renderPart(event('a😀b'), 2, most(500)) ?? '', /characters 1 to 4 of 4:\n😀b/)
  })
})

describe('answers with hits', () => {
  const long = (seq: number) => event(`${'before '.repeat(70)}needle${' after'.repeat(70)}`, seq)
  const ten = Array.from({ length: 10 }, (_, n) => long(40 - n))

  test('give each hit its share: all ten are there, and the answer is not over the limit', () => {
    const page = renderHits(ten, 'needle', 0, most(1_000))
    assert.match(page, /^Hits 1 to 10, all of them:/)
    assert.equal(page.match(/needle/g)?.length, 10)
    assert.ok(page.length <= 1_000 && page.length > 700, `${page.length}`)
  })

  test('show fewer when their frame makes them too long, and say how to go on', () => {
    const frames = (maxTokens: number) => ({
      maxTokens,
      count: (page: string) => (page.startsWith('Hits') ? page.length : 0),
    })
    const hits = ten.slice(0, 5)
    const two = renderHits(hits, 'needle', 3, frames(1_300))
    assert.match(two, /^Hits 4 to 5, there are more:/)
    assert.match(two, /the same query with "from": 5\.\]$/)
    assert.equal(two.match(/needle/g)?.length, 2)
    assert.equal(renderHits(hits, 'needle', 3, frames(two.length)), two)
    assert.match(renderHits(hits, 'needle', 3, frames(two.length - 1)), /^Hits 4 to 4, there are more:/)
  })

  test('show one under any limit', () => {
    const page = renderHits(ten, 'needle', 0, most(100))
    assert.match(page, /^Hits 1 to 1, there are more:/)
    assert.match(page, /\[#40\] the user:\n….{0,5}n.{0,12}…\n/)
  })

  test('keep their surroundings when these are just the share', () => {
    const page = renderHits(ten, 'needle', 0, { maxTokens: 100, count: () => 8 })
    assert.equal(page.match(/before /g)?.length, 170)
    assert.ok(page.includes(' after after '))
  })

  test('name the place only in texts of more than 2,000 characters', () => {
    const padded = (length: number) => event(`needle ${'x'.repeat(length - 7)}`)
    assert.match(renderHits([padded(2_000)], 'needle', 0, most(9_000)), /\[#7\] the user:\nneedle/)
    assert.match(
      renderHits([padded(2_001)], 'needle', 0, most(9_000)),
      /\[#7\] the user, at character 0 of 2001:/,
    )
  })
})
