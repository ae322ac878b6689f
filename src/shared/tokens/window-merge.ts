import { NO_RANK, type Vocabulary } from './vocabulary.ts'

const RANK_UNIT = 2 ** 32

/**
 * Merges `bytes[from, from + size)` with a heap of pairs and a linked list of parts: O(size log size), 32 bytes of memory
 * for each byte. A part is named by where it begins, relative to `from`. One instance serves many windows.
 */
export class WindowMerge {
  readonly #vocabulary: Vocabulary
  readonly #bytes: Uint8Array
  #from = 0
  #size = 0
  /** Where the part ends, which is where the next one begins. */
  readonly #ends: Int32Array
  readonly #before: Int32Array
  /** Rank of the part alone, and together with the next one. */
  readonly #own: Int32Array
  readonly #pair: Int32Array
  /** Binary heap of `pair rank * RANK_UNIT + part`, so that the lowest rank is on top, the leftmost of equals first. */
  readonly #heap: Float64Array
  #heapSize = 0

  constructor(vocabulary: Vocabulary, bytes: Uint8Array, maxSize: number) {
    this.#vocabulary = vocabulary
    this.#bytes = bytes
    this.#ends = new Int32Array(maxSize)
    this.#before = new Int32Array(maxSize + 1)
    this.#own = new Int32Array(maxSize)
    this.#pair = new Int32Array(maxSize)
    // A merge takes one entry away and adds at most two.
    this.#heap = new Float64Array(2 * maxSize)
  }

  tokenEnd(start: number): number {
    return this.#ends[start] as number
  }

  /** @returns the number of tokens */
  run(from: number, size: number): number {
    this.#from = from
    this.#size = size
    for (let part = 0; part < size; part++) {
      this.#ends[part] = part + 1
      this.#before[part + 1] = part
      this.#own[part] = this.#vocabulary.rankOf(this.#bytes, from + part, from + part + 1)
    }
    for (let part = 0; part < size; part++) this.#rankPair(part)
    let tokens = size
    while (this.#heapSize > 0) {
      const entry = this.#pop()
      const rank = Math.floor(entry / RANK_UNIT)
      const part = entry - rank * RANK_UNIT
      // An entry is stale when either of its parts has been merged since: a part only grows, so its rank is another.
      if (this.#pair[part] !== rank) continue
      const middle = this.#ends[part] as number
      const end = this.#ends[middle] as number
      this.#ends[part] = end
      this.#before[end] = part
      this.#own[part] = rank
      this.#pair[middle] = NO_RANK
      this.#rankPair(part)
      if (part > 0) this.#rankPair(this.#before[part] as number)
      tokens--
    }
    return tokens
  }

  #rankPair(part: number): void {
    const middle = this.#ends[part] as number
    let rank = NO_RANK
    if (middle < this.#size) {
      const from = this.#from
      const end = this.#ends[middle] as number
      rank = this.#vocabulary.rankOfPair(
        this.#own[part] as number,
        this.#own[middle] as number,
        this.#bytes,
        from + part,
        from + end,
      )
    }
    this.#pair[part] = rank
    if (rank !== NO_RANK) this.#push(rank * RANK_UNIT + part)
  }

  #push(entry: number): void {
    const heap = this.#heap
    let at = this.#heapSize++
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent] as number
      if (above <= entry) break
      heap[at] = above
      at = parent
    }
    heap[at] = entry
  }

  #pop(): number {
    const heap = this.#heap
    const top = heap[0] as number
    const last = heap[--this.#heapSize] as number
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.#heapSize) break
      if (child + 1 < this.#heapSize && (heap[child + 1] as number) < (heap[child] as number)) child++
      const below = heap[child] as number
      if (below >= last) break
      heap[at] = below
      at = child
    }
    heap[at] = last
    return top
  }
}
