import { type ContentBlock, isText } from '../shared/session/content.ts'
import { utf8Bytes } from '../shared/session/prompt-content.ts'

/** Keeps at most `maxBytes` of text (UTF-8), counting the rest; blocks that are no text are kept. */
export function keepBytes(
  content: readonly ContentBlock[],
  maxBytes: number,
): { content: readonly ContentBlock[]; droppedBytes: number } {
  let left = maxBytes
  let droppedBytes = 0
  const kept = content.flatMap((block): ContentBlock[] => {
    if (!isText(block)) return [block]
    const bytes = utf8Bytes(block.text)
    const keep = bytes <= left ? block.text : prefixOfBytes(block.text, left)
    const keptBytes = keep === block.text ? bytes : utf8Bytes(keep)
    droppedBytes += bytes - keptBytes
    left -= keptBytes
    return keep === '' ? [] : [keep === block.text ? block : { ...block, text: keep }]
  })
  return { content: kept, droppedBytes }
}

/** The longest prefix of whole code points within the bytes; at most four bytes shorter than possible. */
function prefixOfBytes(value: string, maxBytes: number): string {
  let low = 0
  let high = value.length
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (utf8Bytes(value.slice(0, middle)) <= maxBytes) low = middle
    else high = middle - 1
  }
  const last = value.charCodeAt(low - 1)
  return value.slice(0, last >= 0xd800 && last <= 0xdbff ? low - 1 : low)
}
