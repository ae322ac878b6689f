import { NO_RANK, type Vocabulary } from './vocabulary.ts'
import { WindowMerge } from './window-merge.ts'

/** Up to this many bytes, looking through all pairs for the lowest rank is faster than a heap. */
const SCAN_BYTES = 96
/** Longer pieces are merged in windows, so that the working memory stays in the processor's cache. */
const WINDOW_BYTES = 512

/**
 * Number of tokens of the piece `bytes[0, length)`: byte pair merges, lowest rank first, the leftmost of equals.
 * O(n log n) time. The working memory is one window's, however long the piece, unless a piece defies windows.
 */
export function countMerged(vocabulary: Vocabulary, bytes: Uint8Array, length: number): number {
  return length <= SCAN_BYTES
    ? countByScan(vocabulary, bytes, length)
    : countByWindows(vocabulary, bytes, length, WINDOW_BYTES)
}

const starts = new Int32Array(SCAN_BYTES + 1)
const ranks = new Int32Array(SCAN_BYTES)

/** For short pieces: part `p` is `bytes[starts[p], starts[p + 1])`, and `ranks[p]` is that of parts `p` and `p + 1` together. */
function countByScan(vocabulary: Vocabulary, bytes: Uint8Array, length: number): number {
  let parts = length
  for (let part = 0; part <= parts; part++) starts[part] = part
  for (let part = 0; part < parts - 1; part++) ranks[part] = vocabulary.rankOf(bytes, part, part + 2)
  for (;;) {
    let lowest = NO_RANK
    let at = 0
    for (let part = 0; part < parts - 1; part++) {
      const rank = ranks[part] as number
      if (rank < lowest) {
        lowest = rank
        at = part
      }
    }
    if (lowest === NO_RANK) return parts
    parts--
    for (let part = at + 1; part < parts; part++) {
      starts[part] = starts[part + 1] as number
      ranks[part] = ranks[part + 1] as number
    }
    starts[parts] = length
    if (at + 1 < parts) ranks[at] = vocabulary.rankOf(bytes, starts[at] as number, starts[at + 2] as number)
    if (at > 0) ranks[at - 1] = vocabulary.rankOf(bytes, starts[at - 1] as number, starts[at + 1] as number)
  }
}

/**
 * Merges a long piece window by window, each beginning in the last quarter of the one before it.
 *
 * Why that is exact: no merge crosses a border of the result. So (1) a run of neighbouring tokens of a result is itself
 * the result of its bytes, and (2) a row of tokens is the result of its bytes when every two neighbours in it are.
 * A window begins where the one before it had a token. When it begins with that same token, every two neighbours of the
 * joined row stand side by side in one of both results, so by (1) and (2) the joined row is the result. When it does
 * not, the windows were too small for this piece, and it is merged again in larger ones.
 */
export function countByWindows(
  vocabulary: Vocabulary,
  bytes: Uint8Array,
  length: number,
  windowBytes: number,
): number {
  const merge = new WindowMerge(vocabulary, bytes, Math.min(windowBytes, length))
  let count = 0
  let from = 0
  let sharedLength = 0
  for (;;) {
    const size = Math.min(windowBytes, length - from)
    const tokens = merge.run(from, size)
    if (sharedLength !== 0 && merge.tokenEnd(0) !== sharedLength) break
    if (from + size === length) return count + tokens
    let handOver = 0
    while (handOver < 0.75 * size && merge.tokenEnd(handOver) < size) {
      handOver = merge.tokenEnd(handOver)
      count++
    }
    if (handOver === 0) break
    sharedLength = merge.tokenEnd(handOver) - handOver
    from += handOver
  }
  return countByWindows(vocabulary, bytes, length, 16 * windowBytes)
}
