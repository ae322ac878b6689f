import o200k from 'js-tiktoken/ranks/o200k_base'
import { decodeBase64 } from './base64.ts'

/** Returned for bytes that are no token; above every rank. */
export const NO_RANK = 0x7fffffff

const RANK_BITS = 18
const RANK_MASK = (1 << RANK_BITS) - 1
const SLOT_COUNT = 1 << 19
const PAIR_COUNT = 1 << 14

/**
 * The 199,998 tokens of o200k_base with their ranks, in flat arrays: 5 MB instead of the 75 MB of js-tiktoken's maps.
 * The slots are a hash table with linear probing. Each holds a token's rank plus one and 14 bits of its hash, so that
 * a look-up that fails seldom has to compare bytes.
 */
export class Vocabulary {
  readonly #bytes: Uint8Array
  /** By rank plus one: where the token's bytes end. */
  readonly #ends = new Int32Array(RANK_MASK)
  readonly #slots = new Int32Array(SLOT_COUNT)
  #longestToken = 0
  /** A small cache of `rankOfPair`; a pair overwrites the one that had its place. */
  readonly #pairs = new Float64Array(PAIR_COUNT)
  readonly #pairRanks = new Int32Array(PAIR_COUNT)

  /** @param tokens - the tokens in base64, separated by single spaces, by rank from 0 */
  constructor(tokens: string) {
    this.#bytes = new Uint8Array((tokens.length / 4) * 3)
    let start = 0
    let from = 0
    for (let rank = 0; from < tokens.length; rank++) {
      const space = tokens.indexOf(' ', from)
      const to = space < 0 ? tokens.length : space
      const end = start + decodeBase64(tokens, from, to, this.#bytes, start)
      this.#insert(rank, start, end)
      start = end
      from = to + 1
    }
  }

  #insert(rank: number, start: number, end: number): void {
    this.#ends[rank + 1] = end
    if (end - start > this.#longestToken) this.#longestToken = end - start
    const hash = hashOf(this.#bytes, start, end)
    let slot = hash & (SLOT_COUNT - 1)
    while (this.#slots[slot] !== 0) slot = (slot + 1) & (SLOT_COUNT - 1)
    this.#slots[slot] = (hash & ~RANK_MASK) | (rank + 1)
  }

  /** Rank of the token that is exactly `bytes[start, end)`, or `NO_RANK`. */
  rankOf(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > this.#longestToken) return NO_RANK
    const hash = hashOf(bytes, start, end)
    let slot = hash & (SLOT_COUNT - 1)
    for (;;) {
      const entry = this.#slots[slot] as number
      if (entry === 0) return NO_RANK
      const rank = (entry & RANK_MASK) - 1
      if ((entry ^ hash) >>> RANK_BITS === 0 && this.#isToken(rank, bytes, start, end)) return rank
      slot = (slot + 1) & (SLOT_COUNT - 1)
    }
  }

  /** The same for the bytes of two tokens in a row, whose ranks are known; several times faster in repetitive text. */
  rankOfPair(left: number, right: number, bytes: Uint8Array, start: number, end: number): number {
    // Plus one, because an empty place is 0.
    const pair = left * (RANK_MASK + 1) + right + 1
    const place = (Math.imul(left, 0x9e3779b1) + Math.imul(right, 0x85ebca6b)) >>> 18
    if (this.#pairs[place] === pair) return this.#pairRanks[place] as number
    const rank = this.rankOf(bytes, start, end)
    this.#pairs[place] = pair
    this.#pairRanks[place] = rank
    return rank
  }

  #isToken(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    let at = this.#ends[rank] as number
    if ((this.#ends[rank + 1] as number) - at !== end - start) return false
    for (let index = start; index < end; index++) if (bytes[index] !== this.#bytes[at++]) return false
    return true
  }
}

/** FNV-1a, with its high bits mixed once more. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ (bytes[index] as number), 0x01000193)
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
}

let built: Vocabulary | undefined

/** The vocabulary of o200k_base, built at its first use: about 50 ms, once a process. */
export function vocabulary(): Vocabulary {
  built ??= new Vocabulary(tokensOf(o200k.bpe_ranks))
  return built
}

function tokensOf(ranks: string): string {
  if (!ranks.startsWith('! 0 ') || ranks.includes('\n')) {
    throw new Error(
      `the ranks of js-tiktoken must be one line that begins with "! 0 ", got "${ranks.slice(0, 12)}…": install js-tiktoken 1.0.21`,
    )
  }
  return ranks.slice(4)
}
