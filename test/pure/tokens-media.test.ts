import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ContentBlock } from '../../src/shared/session/content.ts'
import { byteAt, decodeBase64, decodedLength } from '../../src/shared/tokens/base64.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { cutToTokens, MAX_CHARS_PER_TOKEN } from '../../src/shared/tokens/cut-to-tokens.ts'
import { imageSize } from '../../src/shared/tokens/image-size.ts'
import { imageTier } from '../../src/shared/tokens/images.ts'
import { pdfTokens } from '../../src/shared/tokens/pdf.ts'
import { priceContent, priceOverhead, priceText, priceTools } from '../../src/shared/tokens/price.ts'

const base64 = (...parts: readonly (string | readonly number[])[]): string =>
  Buffer.concat(parts.map((part) => Buffer.from(part as never, 'latin1'))).toString('base64')

describe('base64', () => {
  test('is decoded up to what is none, from any group of four', () => {
    const decoded = (text: string, from = 0, to = text.length) => {
      const bytes = new Uint8Array(12)
      const length = decodeBase64(text, from, to, bytes, 1)
      return Buffer.from(bytes.subarray(1, 1 + length)).toString('latin1')
    }
    assert.equal(decoded('QUJDREVG'), 'ABCDEF')
    assert.equal(decoded('QUJDREVG', 4), 'DEF')
    assert.equal(decoded('QUJDREVG', 0, 4), 'ABC')
    assert.equal(decoded('QUJDREVG', 0, 7), 'ABCDE')
    assert.equal(decoded('+/+/'), '\u00fb\u00ff\u00bf')
    for (const end of ['=', '!', '\n', '\u0080', '\u0100', '中'])
      assert.equal(decoded(`QUJD${end}REVG`), 'ABC')
  })

  test('has the length of what it holds', () => {
    for (const bytes of [0, 1, 2, 3, 4, 5, 6]) {
      const text = Buffer.alloc(bytes, 7).toString('base64')
      assert.equal(decodedLength(text), bytes, text)
      assert.equal(decodedLength(text.replaceAll('=', '')), bytes)
    }
  })

  test('gives any byte alone, and -1 where there is none', () => {
    const text = base64([0, 1, 127, 128, 254, 255, 77])
    assert.deepEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((index) => byteAt(text, index)),
      [0, 1, 127, 128, 254, 255, 77, -1, -1, -1],
    )
    assert.deepEqual(
      [byteAt('!BCD', 0), byteAt('A!CD', 0), byteAt('AB!D', 1), byteAt('ABC!', 2)],
      [-1, -1, -1, -1],
    )
    assert.deepEqual([byteAt('\u0080BCD', 0), byteAt('A\u0080CD', 0)], [-1, -1])
  })
})

describe('sizes of images at the edges of their formats', () => {
  const u16 = (value: number) => [value >> 8, value & 255]
  const png = (width: number, height: number) =>
    base64([0x89], 'PNG\r\n\u001a\n', [0, 0, 0, 13], 'IHDR', [0, 0], u16(width), [0, 0], u16(height))
  const frame = (marker: number) => [0xff, marker, 0, 17, 8, ...u16(300), ...u16(400)]
  const jpeg = (...segments: readonly (readonly number[])[]) => imageSize(base64([0xff, 0xd8], ...segments))
  const SIZE = { width: 400, height: 300 }

  test('a signature alone is none', () => {
    assert.deepEqual(imageSize(png(400, 300)), SIZE)
    assert.equal(
      imageSize(base64([0x89], 'PNG\r\n\u001a\n', [0, 0, 0, 13], 'IDAT', [0, 0, 1, 0, 0, 0, 1, 0])),
      undefined,
    )
    assert.equal(
      imageSize(base64([0x88], 'PNG\r\n\u001a\n', [0, 0, 0, 13], 'IHDR', [0, 0, 1, 0, 0, 0, 1, 0])),
      undefined,
    )
    const webp = (riff: string, kind: string) =>
      imageSize(base64(riff, [0, 0, 0, 0], kind, Array(30).fill(1)))
    assert.deepEqual(webp('RIFF', 'WEBPVP8X'), { width: 1 + 0x01_01_01, height: 1 + 0x01_01_01 })
    assert.equal(webp('RIFX', 'WEBPVP8X'), undefined)
    assert.equal(webp('RIFF', 'WAVEVP8X'), undefined)
    assert.equal(webp('RIFF', 'WEBPVP8Z'), undefined)
  })

  test('a size whose last byte is missing is none', () => {
    const whole = png(400, 300)
    assert.equal(imageSize(base64([...Buffer.from(whole, 'base64').subarray(0, 23)])), undefined)
    const gif = (bytes: number) =>
      imageSize(base64([...Buffer.from('GIF89a\u0090\u0001\u002c\u0001', 'latin1').subarray(0, bytes)]))
    assert.deepEqual(gif(10), SIZE)
    assert.equal(gif(9), undefined)
    const lossy = (bytes: number) =>
      imageSize(
        base64([
          ...Buffer.from(`RIFF....WEBPVP8 ${'.'.repeat(10)}\u0090\u0001\u002c\u0001`, 'latin1').subarray(
            0,
            bytes,
          ),
        ]),
      )
    assert.deepEqual(lossy(30), SIZE)
    assert.equal(lossy(29), undefined)
    assert.equal(lossy(27), undefined)
  })

  test('a lossless WebP of one pixel has its size', () => {
    assert.deepEqual(imageSize(base64('RIFF....WEBPVP8L....', [0x2f, 0, 0, 0, 0])), { width: 1, height: 1 })
  })

  for (let marker = 0xc0; marker <= 0xcf; marker++) {
    const isFrame = marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    test(`the JPEG marker ${marker.toString(16)} ${isFrame ? 'begins a frame' : 'is a segment like others'}`, () => {
      assert.deepEqual(jpeg(frame(marker)), isFrame ? SIZE : undefined)
      assert.deepEqual(jpeg([0xff, marker, 0, 2, ...Array(15).fill(0)]), undefined)
    })
  }

  test('segments, empty ones, markers alone and fill bytes are passed over', () => {
    for (const marker of [0xbf, 0xc4, 0xc8, 0xcc, 0xd9, 0xe0, 0xfe]) {
      assert.deepEqual(jpeg([0xff, marker, 0, 4, 9, 9], frame(0xc0)), SIZE, `segment ${marker}`)
      assert.deepEqual(jpeg([0xff, marker, 0, 2], frame(0xc0)), SIZE, `empty segment ${marker}`)
    }
    for (const marker of [0x01, 0xd0, 0xd3, 0xd7, 0xd8])
      assert.deepEqual(jpeg([0xff, marker], frame(0xc2)), SIZE)
    assert.deepEqual(jpeg([0xff, 0xff, 0xff], frame(0xc0)), SIZE)
  })

  test('what is no marker, or no JPEG, ends the search', () => {
    assert.equal(jpeg([0, 0xe0, 0, 2], frame(0xc0)), undefined)
    assert.equal(jpeg([0xff, 0xe0, 0, 0], frame(0xc0)), undefined)
    assert.equal(imageSize(base64([0xff, 0xd9], frame(0xc0))), undefined)
    assert.equal(imageSize(base64([0, 0], frame(0xc0))), undefined)
  })
})

test('the tier of a model is that of its version, the high one when it is not known', () => {
  for (const model of [
    'claude-3-5-sonnet-20241022',
    'claude-opus-4-1',
    'claude-sonnet-4-20250514',
    'claude-4',
    'claude-4.6',
  ])
    assert.equal(imageTier(model), 'standard', model)
  for (const model of [
    'claude-opus-4-7',
    'claude-4.7',
    'claude-opus-4-10',
    'claude-5',
    'claude-next-10',
    'gpt-5',
    'claude',
    'claude-instant',
  ])
    assert.equal(imageTier(model), 'high', model)
})

describe('pages of a PDF', () => {
  /** Of so few bytes a page costs its picture and a token for two bytes. */
  const pagesOf = (file: string) => Math.floor(pdfTokens(base64(file)) / 1600)

  for (const [what, file, pages] of [
    ['a count with more space before it', '<< /Type /Pages /Count   12 >>', 12],
    ['a count on the next line', '<< /Type\n/Pages /Count\r\n12 >>', 12],
    ['a linearized file with more space', '<< /Linearized 1 /N \n 7 >>', 7],
    [
      'the largest of several counts',
      '<< /Type/Pages /Count 3 >> << /Type/Pages /Count 9 >> << /Type/Pages /Count 5 >>',
      9,
    ],
    ['page objects without a space', '<</Type/Page>><</Type/Page/Parent 1 0 R>>', 2],
    ['page objects with two spaces', '<</Type  /Page>><</Type  /Page>><</Type  /Page>>', 3],
    ['no page objects but others', '<</Type/PageLabels>><</Type/Page>>', 1],
    ['streams directly behind their dictionary', '<</Length 5>>stream <</Length 6>>stream', 2],
    [
      'streams on the next line',
      '<</Length 5>>\r\nstream <</Length 6>>\r\nstream <</Length 6>>\r\nstream',
      3,
    ],
    [
      'streams of fonts and images are none',
      '<</Length 5>>stream <</Subtype/Image>>stream <</Length1 5>>stream',
      1,
    ],
  ] as const)
    test(`${what}: ${pages}`, () => assert.equal(pagesOf(file), pages))

  test('half a token for each byte of a page, up to 1,400', () => {
    const tree = '<< /Type /Pages /Count 2 >>'
    const file = (bytes: number) => base64(tree.padEnd(bytes, ' '))
    assert.equal(pdfTokens(file(2000)), 2 * (1600 + 500))
    assert.equal(pdfTokens(file(5600)), 2 * 3000)
    assert.equal(pdfTokens(file(50_000)), 2 * 3000)
  })
})

describe('prices of the rest of a request', () => {
  const tool = { name: 'read_file', description: 'Reads a file.', inputSchema: { type: 'object' } }
  const price = (block: { type: string; [field: string]: unknown }) =>
    priceContent([block]) - priceContent([])

  test('system and tools together', () => {
    assert.equal(priceOverhead({ system: 'You help.', tools: [] }), priceText('You help.'))
    assert.equal(
      priceOverhead({ system: 'You help.', tools: [tool] }),
      priceText('You help.') + priceTools([tool]),
    )
  })

  test('fields of a wrong type count as nothing, or as what is unknown', () => {
    assert.equal(price({ type: 'document', source: { type: 'text', data: 7 } }), 30_000)
    assert.equal(price({ type: 'document', source: ['x'] }), 30_000)
    assert.equal(
      price({ type: 'document', source: { type: 'text', data: 'one two' }, title: 7 }),
      countTokens('one two'),
    )
    assert.equal(price({ type: 'thinking', thinking: 7, signature: 'E'.repeat(235 + 1600) }), 300)
    assert.equal(
      price({ type: 'tool_result', content: [7, null, { text: 'x' }] }),
      countTokens('7') + countTokens('null') + countTokens('{"text":"x"}'),
    )
  })

  test('a string of 2,000 characters of base64 is opaque, a shorter or a mixed one is text', () => {
    const around = countTokens(JSON.stringify({ type: 'audio', data: '' }))
    const audio = (data: string) => price({ type: 'audio', data }) - around
    const opaque = (chars: number) => Math.ceil((chars * 3) / 16)
    const chars = 'QUJDREVGR0hJSktM'.repeat(125)
    assert.equal(audio(chars), opaque(2000))
    assert.equal(audio(`${chars}==`), opaque(2002))
    assert.equal(audio(`${chars.slice(0, -2)}-_`), opaque(2000))
    assert.equal(audio(`data:${'x'.repeat(100)},${chars}`), opaque(2106))
    for (const text of [
      chars.slice(1),
      `${chars}===`,
      `!${chars}`,
      `${chars}!`,
      `data:,${chars}`,
      `data:${'x'.repeat(101)},${chars}`,
    ])
      assert.ok(Math.abs(audio(text) - opaque(text.length)) > 50, text.slice(0, 20))
  })
})

describe('an output that is cut', () => {
  const whole = { seq: 412, historyTool: true }
  const text = (value: string) => [{ type: 'text', text: value }]
  const textOf = (content: readonly ContentBlock[]) => String(content[0]?.['text'])

  test('costs no more than it may, and not much less; two thirds of it are the head', () => {
    const lines = Array.from({ length: 4000 }, (_, line) => `line ${line} of the output`).join('\n')
    const cut = cutToTokens(text(lines), 1000, whole)
    assert.ok(priceContent(cut) <= 1000 && priceContent(cut) > 800, `${priceContent(cut)}`)
    const [head = '', tail = ''] = textOf(cut).split(/\n\[….*…\]\n/)
    assert.ok(lines.startsWith(head) && lines.endsWith(tail))
    const share = head.length / (head.length + tail.length)
    assert.ok(share > 0.64 && share < 0.66, `${share}`)
    assert.match(textOf(cut), /412/)
  })

  test('one that costs exactly what it may stays as it is', () => {
    const content = text('one two three four five six seven eight nine ten '.repeat(20))
    assert.equal(cutToTokens(content, priceContent(content), whole), content)
    assert.notEqual(cutToTokens(content, priceContent(content) - 1, whole), content)
  })

  test('one with far more characters than tokens is cut before it is counted', () => {
    const blanks = (count: number) => text(' '.repeat(count))
    const most = 100 * MAX_CHARS_PER_TOKEN
    assert.ok(priceContent(blanks(most + 500)) < 100)
    assert.deepEqual(cutToTokens(blanks(most), 100, whole), blanks(most))
    const cut = textOf(cutToTokens(blanks(most + 500), 100, whole))
    assert.ok(cut.length < most + 200 && cut.length > most, `${cut.length}`)
  })

  test('one that cannot become smaller comes back whole', () => {
    const image = [{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }]
    assert.deepEqual(cutToTokens(image, 100, whole), image)
    const both = [...text('word '.repeat(2000)), ...image]
    assert.deepEqual(cutToTokens(both, 100, whole).at(-1), image[0])
    assert.ok(priceContent(cutToTokens(both, 100, whole)) < 5000)
  })
})
