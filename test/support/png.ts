import type { ContentBlock } from '../../src/shared/session/content.ts'

/** A PNG of this size in pixels by its header, and in bytes by what follows, which is no picture. */
export function png(width: number, height: number, bytes: number): ContentBlock {
  const data = Buffer.alloc(bytes, 7)
  data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52])
  data.writeUInt32BE(width, 16)
  data.writeUInt32BE(height, 20)
  return {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: data.toString('base64') },
  }
}
