import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Tiktoken } from 'js-tiktoken/lite'
import o200k from 'js-tiktoken/ranks/o200k_base'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { countByWindows } from '../../src/shared/tokens/merge.ts'
import { pieceEnd } from '../../src/shared/tokens/pieces.ts'
import { vocabulary } from '../../src/shared/tokens/vocabulary.ts'
import { anyText, MAX_UNITS, unbrokenText } from './tokens-texts.ts'

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 10_000)
console.log(`FC_SEED=${seed} FC_RUNS=${numRuns}`)

const reference = new Tiktoken(o200k)

/** js-tiktoken takes time with the square of a piece's bytes, so that this compares short strings only. */
test(`counts what js-tiktoken counts, on ${numRuns} strings of up to ${MAX_UNITS} characters`, () => {
  fc.assert(
    fc.property(anyText, (text) => {
      assert.equal(countTokens(text), reference.encode(text, [], []).length)
    }),
    { seed, numRuns },
  )
})

function piecesOf(text: string): string[] {
  const pieces: string[] = []
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = pieceEnd(text, start)
    pieces.push(text.slice(start, end))
  }
  return pieces
}

test('cuts pieces where the pattern of o200k_base does', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      assert.deepEqual(piecesOf(text), text.match(new RegExp(o200k.pat_str, 'gu')) ?? [])
    }),
    { seed, numRuns },
  )
})

test('merges a long piece in windows of any size as in one', () => {
  fc.assert(
    fc.property(unbrokenText(3 * MAX_UNITS), fc.integer({ min: 2, max: 200 }), (text, windowBytes) => {
      const bytes = new TextEncoder().encode(text)
      const whole = countByWindows(vocabulary(), bytes, bytes.length, bytes.length)
      assert.equal(countByWindows(vocabulary(), bytes, bytes.length, windowBytes), whole)
    }),
    { seed, numRuns: Math.ceil(numRuns / 5) },
  )
})
