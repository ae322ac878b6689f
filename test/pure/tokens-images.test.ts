import assert from 'node:assert/strict'
import { test } from 'node:test'
import { imageSize } from '../../src/shared/tokens/image-size.ts'
import { type ImageTier, imageTier, imageTokens, maxImageTokens } from '../../src/shared/tokens/images.ts'

const PRICES: readonly [width: number, height: number, tier: ImageTier, tokens: number, why: string][] = [
  [1000, 1000, 'standard', 1296, 'fits as it is'],
  [1920, 1080, 'standard', 1560, 'becomes 1456 × 819 by the token limit'],
  [1920, 1080, 'high', 2691, 'fits as it is'],
  [1075, 1520, 'standard', 33 * 47, 'a scan of A4, becomes 924 × 1307'],
  [1075, 1520, 'high', 39 * 55, 'a scan of A4 fits as it is'],
  [8000, 400, 'standard', 56 * 3, 'a panorama, by the edge limit: 1568 × 78'],
  [400, 8000, 'standard', 3 * 56, 'the same upright'],
  [8000, 400, 'high', 92 * 5, 'a panorama on the high tier: 2576 × 129'],
  [8000, 8000, 'standard', 39 * 39, 'a square, by the token limit'],
  [1568, 784, 'standard', 1568, 'exactly at both limits'],
  [1569, 784, 'standard', 1568, 'one pixel too long: 1568 × 784'],
  [1, 1, 'standard', 1, 'never less than one'],
  [28, 29, 'high', 2, 'patches are rounded up'],
  [100_000, 1, 'high', 92, 'the short edge never vanishes'],
]

for (const [width, height, tier, tokens, why] of PRICES) {
  test(`${width} × ${height}, ${tier} tier: ${why}`, () => {
    assert.equal(imageTokens({ width, height }, tier), tokens)
  })
}

test('an image is scaled down no further than its limits ask', () => {
  const patches = (pixels: number): number => Math.ceil(pixels / 28)
  for (let width = 20; width < 9000; width += 331) {
    for (let height = 20; height < 9000; height += 417) {
      const [long, short] = [Math.max(width, height), Math.min(width, height)]
      for (const [tier, edge] of [
        ['standard', 1568],
        ['high', 2576],
      ] as const) {
        let size = long
        const scaled = (): number => Math.max(1, Math.round(size / (long / short)))
        while (patches(size) * 28 > edge || patches(size) * patches(scaled()) > maxImageTokens(tier)) size--
        assert.equal(
          imageTokens({ width, height }, tier),
          patches(size) * patches(scaled()),
          `${width} × ${height}`,
        )
      }
    }
  }
})

const MODELS: readonly [model: string, tier: ImageTier][] = [
  ['claude-opus-4-6', 'standard'],
  ['claude-opus-4-7', 'high'],
  ['claude-opus-4-20250514', 'standard'],
  ['claude-sonnet-4-5-20250929', 'standard'],
  ['claude-3-5-sonnet-20241022', 'standard'],
  ['claude-3-opus-20240229', 'standard'],
  ['claude-haiku-4-5', 'standard'],
  ['claude-opus-5-5', 'high'],
  ['claude-sonnet-5-20260101', 'high'],
  ['claude-opus-4.10', 'high'],
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'standard'],
  ['claude-fable', 'high'],
  ['some-other-model-3', 'high'],
]

for (const [model, tier] of MODELS) {
  test(`${model} sees images on the ${tier} tier`, () => assert.equal(imageTier(model), tier))
}

/** Real files of 37 × 19 pixels. */
const FILES = {
  png: 'iVBORw0KGgoAAAANSUhEUgAAACUAAAATCAIAAACY31PkAAAAJUlEQVR42mM8IWfDQEfAxEBfMGrfqH2j9o3aN2rfqH2j9tEeAAAPvgFIMTDqbwAAAABJRU5ErkJggg==',
  gif: 'R0lGODdhJQATAIEAAMgePAAAAAAAAAAAACwAAAAAJQATAEAILAABCBxIsKDBgwgTKlzIsKHDhxAjSpxIsaLFixgzatzIsaPHjyBDihxJsmRAADs=',
  'jpeg, baseline':
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////2wBDAf//////////////////////////////////////////////////////////////////////////////////////wAARCAATACUDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAH/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAAAAL/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCACwAAAAAAAAAH/9k=',
  'jpeg, progressive':
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////2wBDAf//////////////////////////////////////////////////////////////////////////////////////wgARCAATACUDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAH/',
  'webp, lossy':
    'UklGRkIAAABXRUJQVlA4IDYAAAAwAwCdASolABMAP83m7XA/uDIrJWgD8DmJZwDLLA8Kvu4AAP7Qx7//WuVtoBJrErbLdAAAAAA=',
  'webp, lossless': 'UklGRh4AAABXRUJQVlA4TBEAAAAvJIAEAAdQjyKXp/+BiOh/AAA=',
  'webp, extended':
    'UklGRmYAAABXRUJQVlA4WAoAAAAQAAAAJAAAEgAAQUxQSAoAAAABB1CyiAhERP8DVlA4IDYAAAAwAwCdASolABMAP83m7XA/uDIrJWgD8DmJZwDLLA8Kvu4AAP7Qx7//WuVtoBJrErbLdAAAAAA=',
} as const

for (const [name, base64] of Object.entries(FILES)) {
  test(`size of an image is read from its header: ${name}`, () => {
    assert.deepEqual(imageSize(base64), { width: 37, height: 19 })
  })
  test(`a header that is cut is no size and no error: ${name}`, () => {
    for (let length = 0; length < base64.length; length++) {
      const size = imageSize(base64.slice(0, length))
      if (size !== undefined) assert.deepEqual(size, { width: 37, height: 19 })
    }
    assert.equal(imageSize(base64.slice(0, 8)), undefined)
  })
}

test('a JPEG with megabytes of profiles and previews before its frame', () => {
  const jpeg = Buffer.from(FILES['jpeg, baseline'], 'base64')
  const segment = Buffer.alloc(2 + 65_535, 0xff)
  segment.set([0xff, 0xe1, 0xff, 0xff])
  const padded = Buffer.concat([
    jpeg.subarray(0, 2),
    ...Array(60).fill(segment),
    Buffer.from([0xff, 0xff]),
    jpeg.subarray(2),
  ])
  assert.deepEqual(imageSize(padded.toString('base64')), { width: 37, height: 19 })
})

test('what is no image, or one without an end, has no size', () => {
  const endless = Buffer.alloc(1_000_000, Buffer.from([0xff, 0xe1, 0x00, 0x02]))
  endless.set([0xff, 0xd8])
  const fill = Buffer.alloc(1_000_000, 0xff)
  fill.set([0xff, 0xd8])
  const samples = [
    '',
    'A',
    '====',
    'not base64 at all!',
    Buffer.from('BM and so on').toString('base64'),
    'iVBORw0K\n'.repeat(9),
  ]
  for (const base64 of [...samples, endless.toString('base64'), fill.toString('base64')]) {
    assert.equal(imageSize(base64), undefined, base64.slice(0, 30))
  }
})

test('a size of nothing is no size', () => {
  const png = Buffer.from(FILES.png, 'base64')
  png.writeUInt32BE(0, 16)
  assert.equal(imageSize(png.toString('base64')), undefined)
})
