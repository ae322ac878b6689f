import { countMerged } from './merge.ts'
import { pieceEnd } from './pieces.ts'
import { encodeUtf8 } from './utf8.ts'
import { NO_RANK, vocabulary } from './vocabulary.ts'

/** Pieces of more UTF-16 units are rare, and are not kept. */
const CACHED_UNITS = 128
/** Pieces in one generation of the cache, which then takes 1 to 5 MB in all. */
const CACHED_PIECES = 8192

/** Counts of pieces of more than one token. When `young` is full it becomes `old`, and `old` is dropped. */
let young = new Map<string, number>()
let old = new Map<string, number>()

/** UTF-8 of one piece; long pieces get an array of their own. */
const shared = new Uint8Array(4096)

/**
 * Number of o200k_base tokens of `text`: exactly `encode(text, [], [])` of js-tiktoken, so that special tokens such as
 * `<|endoftext|>` are plain text and a lone surrogate counts as U+FFFD. Never throws.
 *
 * The first call in a process builds the vocabulary (5 MB, about 50 ms). Time is linear for all practical purposes, on
 * unbroken runs too: some 10 MB a second on ordinary text, and at most 2 seconds for any million characters.
 */
export function countTokens(text: string): number {
  const ranks = vocabulary()
  let count = 0
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = pieceEnd(text, start)
    const bytes = 3 * (end - start) <= shared.length ? shared : new Uint8Array(3 * (end - start))
    const length = encodeUtf8(text, start, end, bytes)
    if (ranks.rankOf(bytes, 0, length) !== NO_RANK) count++
    else if (end - start > CACHED_UNITS) count += countMerged(ranks, bytes, length)
    else {
      const piece = text.slice(start, end)
      const known = young.get(piece) ?? old.get(piece)
      const tokens = known ?? countMerged(ranks, bytes, length)
      if (known === undefined) remember(piece, tokens)
      count += tokens
    }
  }
  return count
}

function remember(piece: string, tokens: number): void {
  if (young.size >= CACHED_PIECES) {
    old = young
    young = new Map()
  }
  // V8 copies a slice of up to 12 units; a longer one would keep the whole text alive.
  young.set(piece.length <= 12 ? piece : piece.split('').join(''), tokens)
}
