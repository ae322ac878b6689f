import { type ContentBlock, isText, text } from './content.ts'
import { utf8Bytes } from './prompt-content.ts'

/**
 * Keeps at most `maxBytes` of a tool's output (UTF-8) and counts the rest. Text keeps its beginning; a block of another kind that is too large becomes a
 * sentence. Linear in the size of the output.
 */
export function keepBytes(
  content: readonly ContentBlock[],
  maxBytes: number,
): { content: readonly ContentBlock[]; droppedBytes: number } {
  let left = maxBytes
  let droppedBytes = 0
  const kept = content.flatMap((block): ContentBlock[] => {
    const bytes = utf8Bytes(isText(block) ? block.text : JSON.stringify(block))
    if (bytes <= left) {
      left -= bytes
      return [block]
    }
    if (!isText(block)) {
      droppedBytes += bytes
      return [text(`[a block of type ${block.type} with ${bytes} bytes was not kept]`)]
    }
    const prefix = prefixOfBytes(block.text, left)
    droppedBytes += bytes - prefix.bytes
    left = 0 // What follows a gap would read as if it followed the kept text.
    return prefix.text === '' ? [] : [{ ...block, text: prefix.text }]
  })
  return { content: kept, droppedBytes }
}

/** The longest prefix of whole code points within the bytes, of well-formed text. */
function prefixOfBytes(value: string, maxBytes: number): { text: string; bytes: number } {
  let units = 0
  let bytes = 0
  while (units < value.length) {
    const unit = value.charCodeAt(units)
    const isPair = unit >= 0xd800 && unit <= 0xdbff
    const size = isPair ? 4 : unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
    if (bytes + size > maxBytes) break
    bytes += size
    units += isPair ? 2 : 1
  }
  return { text: value.slice(0, units), bytes }
}
