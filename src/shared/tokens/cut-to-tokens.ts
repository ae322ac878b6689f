import { measureContent, pruneContent } from '../compaction/prune.ts'
import type { ContentBlock } from '../session/content.ts'
import { priceContent } from './price.ts'

/** Share of the kept characters that come from the head. */
const HEAD_SHARE = 0.65
/** Each round shrinks by the measured ratio; text of very uneven density needs a few. */
const MAX_ROUNDS = 12

/** Head, marker and tail of a result so that its price is at most `maxTokens`; the marker names the event with the whole. */
export function cutToTokens(
  content: readonly ContentBlock[],
  maxTokens: number,
  fullSeq: number,
): readonly ContentBlock[] {
  let chars = measureContent(content)
  let cut = content
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const tokens = priceContent(cut)
    if (tokens <= maxTokens) return cut
    chars = Math.max(0, Math.floor(chars * (maxTokens / tokens) * 0.95) - 1)
    const headChars = Math.floor(chars * HEAD_SHARE)
    cut =
      pruneContent(content, { thresholdChars: 0, headChars, tailChars: chars - headChars }, fullSeq) ?? cut
  }
  return cut
}
