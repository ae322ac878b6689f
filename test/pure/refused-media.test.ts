import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { refusedMediaOf } from '../../src/shared/refusals/refused-media.ts'

// What providers say of one image or document, as people reported it, and what sounds alike and is none.

const refused = (status: number, message: string) =>
  Object.assign(new Error(`${status} ${message}`), { status })

const SAMPLES: readonly [string, object | null][] = [
  [
    '{"error":{"type":"invalid_request_error","message":"messages.108.content.3.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}',
    { message: 108, block: 3 },
  ],
  [
    'messages.7.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels',
    { message: 7, block: 2 },
  ],
  [
    'messages.2.content.0.tool_result.content.4.image.source.base64: image exceeds 5 MB maximum: 5348312 bytes > 5242880 bytes',
    { message: 2, block: 0, inner: 4 },
  ],
  [
    "Invalid 'messages[3].content[1].image_url.url'. Expected a base64-encoded data URL with an image MIME type",
    { message: 3, block: 1 },
  ],
  ['Could not process image', null],
  ['The PDF specified was not valid.', null],
  ['Image does not match the provided media type image/jpeg', null],
  [
    'messages.5.content.0.image.source.base64.media_type: Input should be image/jpeg, image/png',
    { message: 5, block: 0 },
  ],
]

describe('a refused image or document', () => {
  for (const [message, place] of SAMPLES)
    test(`is told by: ${message.slice(-70)}`, () => {
      const found = refusedMediaOf(refused(400, message))
      assert.ok(found !== null, 'it was not recognised')
      assert.deepEqual(found.place, place)
      assert.match(found.message, /^400 /)
    })

  test('for its sides: by how many pixels, and whether only among many', () => {
    const tooWide = (message: string) => refusedMediaOf(refused(400, message))?.tooWide
    const dimensions =
      'messages.1.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size'
    assert.deepEqual(tooWide(`${dimensions}: 8000 pixels`), { pixels: 8_000, many: false })
    assert.deepEqual(tooWide(`${dimensions} for many-image requests: 2000 pixels`), {
      pixels: 2_000,
      many: true,
    })
    assert.equal(tooWide('Could not process image'), null)
  })

  for (const [status, message] of [
    [400, 'prompt is too long: 207368 tokens > 200000 maximum'],
    [400, 'messages.3.content.1.tool_use.id: String should match pattern'],
    [400, 'messages: text content blocks must be non-empty'],
    [413, 'Request exceeds the maximum size'],
    [429, 'image requests: rate limit exceeded'],
    [500, 'Could not process image'],
  ] as const)
    test(`is not told by: ${status} ${message}`, () =>
      assert.equal(refusedMediaOf(refused(status, message)), null))
})
