import { isObject, type Json } from './valid-blocks.ts'

// Sides of the images of a request, in the words of the API: 8,000 pixels at most, 2,000 when there are more than twenty.

const MOST_PIXELS = 8_000
const MANY = 20
const MOST_PIXELS_OF_MANY = 2_000

export function imageProblems(messages: unknown): string[] {
  const images = (Array.isArray(messages) ? messages : []).flatMap((message, index) =>
    isObject(message) ? imagesIn(message['content'], `messages.${index}`) : [],
  )
  const most = images.length > MANY ? MOST_PIXELS_OF_MANY : MOST_PIXELS
  const why = images.length > MANY ? ' for many-image requests' : ''
  return images
    .filter(({ side }) => side > most)
    .map(
      ({ at }) =>
        `${at}.image.source.base64.data: At least one of the image dimensions exceed max allowed size${why}: ${most} pixels`,
    )
}

interface Found {
  readonly at: string
  /** The longer one, in pixels; 0 when it cannot be read. */
  readonly side: number
}

function imagesIn(content: unknown, path: string): Found[] {
  if (!Array.isArray(content)) return []
  return content.filter(isObject).flatMap((block, index) => {
    const at = `${path}.content.${index}`
    if (block['type'] === 'tool_result') return imagesIn(block['content'], `${at}.tool_result`)
    return block['type'] === 'image' ? [{ at, side: sideOf(block['source']) }] : []
  })
}

function sideOf(source: unknown): number {
  const data = isObject(source) ? String((source as Json)['data']) : ''
  const bytes = Buffer.from(data, 'base64')
  const [width, height] = sizeOf(bytes)
  return Math.max(width, height)
}

type Size = readonly [width: number, height: number]

function sizeOf(bytes: Buffer): Size {
  const begins = bytes.toString('latin1', 0, 4)
  if (begins === '\x89PNG' && bytes.length >= 24) return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
  if (begins === 'GIF8' && bytes.length >= 10) return [bytes.readUInt16LE(6), bytes.readUInt16LE(8)]
  if (begins.startsWith('\xff\xd8')) return jpegSize(bytes)
  return [0, 0]
}

/** From marker to marker, to the one of the frame. */
function jpegSize(bytes: Buffer): Size {
  for (let at = 2; at + 9 <= bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1] ?? 0
    if (marker >= 0xc0 && marker <= 0xc3) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)]
  }
  return [0, 0]
}
