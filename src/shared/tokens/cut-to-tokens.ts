import { measureContent, pruneContent } from '../compaction/prune.ts'
import type { ContentBlock } from '../session/content.ts'
import { priceContent } from './price.ts'

/** Share of the kept characters that come from the head. */
const HEAD_SHARE = 0.65
/** Each round shrinks by the measured ratio; text of very uneven density needs a few. */
const MAX_ROUNDS = 12

/** More than text has, unless it is mostly blanks. What is beyond it is cut off before anything is counted, for many megabytes take seconds to count. */
export const MAX_CHARS_PER_TOKEN = 16

export interface WholeOutput {
  /** The event that holds the uncut output. */
  readonly seq: number
  /** Whether the model can read it back. */
  readonly historyTool: boolean
}

/** Head, marker and tail of a result so that its price is at most `maxTokens`; the marker names the event with the whole. */
export function cutToTokens(
  content: readonly ContentBlock[],
  maxTokens: number,
  whole: WholeOutput,
): readonly ContentBlock[] {
  const all = measureContent(content)
  let chars = Math.min(all, maxTokens * MAX_CHARS_PER_TOKEN)
  let cut = chars < all ? shortened(content, chars, whole) : content
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const tokens = priceContent(cut)
    if (tokens <= maxTokens) return cut
    chars = Math.max(0, Math.floor(chars * (maxTokens / tokens) * 0.95) - 1)
    cut = shortened(content, chars, whole)
  }
  return cut
}

function shortened(
  content: readonly ContentBlock[],
  chars: number,
  { seq, historyTool }: WholeOutput,
): readonly ContentBlock[] {
  const headChars = Math.floor(chars * HEAD_SHARE)
  const sizes = { thresholdChars: 0, headChars, tailChars: chars - headChars }
  return pruneContent(content, sizes, seq, historyTool) ?? content
}
