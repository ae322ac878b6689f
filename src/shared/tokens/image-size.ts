import { byteAt } from './base64.ts'
import type { ImageSize } from './images.ts'

/** Segments that may stand before a JPEG's frame header. Large profiles and previews take some hundred of 64 KB each. */
const JPEG_MAX_SEGMENTS = 2000

/**
 * Size in pixels of a PNG, JPEG, GIF or WebP image in base64, from its header alone: only the bytes that are looked at
 * are decoded, however large the image. The bytes say which format it is, since declared media types are often wrong.
 * @returns undefined for another format, and for a header that is cut or broken
 */
export function imageSize(base64: string): ImageSize | undefined {
  const size = pngSize(base64) ?? gifSize(base64) ?? webpSize(base64) ?? jpegSize(base64)
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined
}

function startsWith(base64: string, at: number, bytes: readonly number[]): boolean {
  return bytes.every((byte, index) => byteAt(base64, at + index) === byte)
}

const ascii = (text: string): number[] => Array.from(text, (character) => character.charCodeAt(0))

/** Unsigned integers; not positive when a byte is missing, which `imageSize` refuses. */
function bigEndian(base64: string, at: number, bytes: number): number {
  let value = 0
  for (let index = 0; index < bytes; index++) {
    const byte = byteAt(base64, at + index)
    if (byte < 0) return -1
    value = value * 256 + byte
  }
  return value
}

function littleEndian(base64: string, at: number, bytes: number): number {
  let value = 0
  for (let index = bytes - 1; index >= 0; index--) {
    const byte = byteAt(base64, at + index)
    if (byte < 0) return -1
    value = value * 256 + byte
  }
  return value
}

function pngSize(base64: string): ImageSize | undefined {
  if (!startsWith(base64, 0, [0x89, ...ascii('PNG')]) || !startsWith(base64, 12, ascii('IHDR')))
    return undefined
  return { width: bigEndian(base64, 16, 4), height: bigEndian(base64, 20, 4) }
}

function gifSize(base64: string): ImageSize | undefined {
  if (!startsWith(base64, 0, ascii('GIF8'))) return undefined
  return { width: littleEndian(base64, 6, 2), height: littleEndian(base64, 8, 2) }
}

function webpSize(base64: string): ImageSize | undefined {
  if (!startsWith(base64, 0, ascii('RIFF')) || !startsWith(base64, 8, ascii('WEBPVP8'))) return undefined
  switch (String.fromCharCode(byteAt(base64, 15))) {
    case 'X': // extended: 24 bits each, minus one
      return { width: 1 + littleEndian(base64, 24, 3), height: 1 + littleEndian(base64, 27, 3) }
    case 'L': {
      // lossless: 14 bits each, minus one, after a signature byte
      const bits = littleEndian(base64, 21, 4)
      return bits < 0 ? undefined : { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) }
    }
    case ' ': {
      // lossy: 14 bits each, after a frame tag and a start code
      const width = littleEndian(base64, 26, 2)
      const height = littleEndian(base64, 28, 2)
      return width < 0 || height < 0 ? undefined : { width: width & 0x3fff, height: height & 0x3fff }
    }
  }
  return undefined
}

/** Walks from segment to segment, by their lengths, to the frame header (SOF). */
function jpegSize(base64: string): ImageSize | undefined {
  if (!startsWith(base64, 0, [0xff, 0xd8])) return undefined
  let at = 2
  for (let segment = 0; segment < JPEG_MAX_SEGMENTS; segment++) {
    if (byteAt(base64, at) !== 0xff) return undefined
    const marker = byteAt(base64, at + 1)
    if (marker === 0xff)
      at++ // a fill byte
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8))
      at += 2 // a marker without a segment
    else if (isFrame(marker))
      return { height: bigEndian(base64, at + 5, 2), width: bigEndian(base64, at + 7, 2) }
    else {
      const length = bigEndian(base64, at + 2, 2)
      if (length < 2) return undefined
      at += 2 + length
    }
  }
  return undefined
}

/** SOF0 to SOF15; among them DHT, JPG and DAC are other things. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
