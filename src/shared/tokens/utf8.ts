/**
 * Writes the UTF-8 of `text[start, end)` to the beginning of `bytes`, which needs three bytes for each UTF-16 unit.
 * Neither edge may split a surrogate pair. A lone surrogate becomes U+FFFD, as with TextEncoder, which takes several
 * times longer for pieces of a few bytes.
 * @returns the number of bytes written
 */
export function encodeUtf8(text: string, start: number, end: number, bytes: Uint8Array): number {
  let length = 0
  for (let index = start; index < end; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x80) {
      bytes[length++] = code
    } else if (code < 0x800) {
      bytes[length++] = 0xc0 | (code >> 6)
      bytes[length++] = 0x80 | (code & 0x3f)
    } else {
      const codePoint = (code & 0xf800) === 0xd800 ? scalarAt(text, index) : code
      if (codePoint > 0xffff) {
        index++
        bytes[length++] = 0xf0 | (codePoint >> 18)
        bytes[length++] = 0x80 | ((codePoint >> 12) & 0x3f)
      } else {
        bytes[length++] = 0xe0 | (codePoint >> 12)
      }
      bytes[length++] = 0x80 | ((codePoint >> 6) & 0x3f)
      bytes[length++] = 0x80 | (codePoint & 0x3f)
    }
  }
  return length
}

/** The code point of the surrogate pair at `index`, U+FFFD for a surrogate without its other half. */
function scalarAt(text: string, index: number): number {
  const codePoint = text.codePointAt(index) as number
  return codePoint > 0xffff ? codePoint : 0xfffd
}
