import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ContentBlock } from '../../src/shared/session/content.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { type PriceOptions, priceContent, priceText, priceTools } from '../../src/shared/tokens/price.ts'

const EMPTY_MESSAGE = priceContent([])
const STANDARD: PriceOptions = { imageTier: 'standard' }

/** Price of one block without its message. */
const price = (block: ContentBlock, options?: PriceOptions): number =>
  priceContent([block], options) - EMPTY_MESSAGE

const PIXEL_PNG =
  'iVBORw0KGgoAAAANSUhEUgAAACUAAAATCAIAAACY31PkAAAAJUlEQVR42mM8IWfDQEfAxEBfMGrfqH2j9o3aN2rfqH2j9tEeAAAPvgFIMTDqbwAAAABJRU5ErkJggg=='

function image(width: number, height: number, bytes = 90): ContentBlock {
  const png = Buffer.alloc(bytes, Buffer.from(PIXEL_PNG, 'base64'))
  png.writeUInt32BE(width, 16)
  png.writeUInt32BE(height, 20)
  return { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } }
}

const pdf = (body: string | Buffer): ContentBlock => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: Buffer.from(body).toString('base64') },
})

test('a message costs a little more than its text, and the parts add up', () => {
  const hello: ContentBlock = { type: 'text', text: 'Hello, world' }
  assert.ok(EMPTY_MESSAGE > 0 && EMPTY_MESSAGE < 10)
  assert.equal(price(hello), countTokens('Hello, world'))
  assert.equal(priceContent([hello, hello]), EMPTY_MESSAGE + 2 * price(hello))
  assert.equal(priceText('Hello, world'), price(hello))
})

test('cache marks and citations change no price of text', () => {
  const plain: ContentBlock = { type: 'text', text: 'abc' }
  assert.equal(price({ ...plain, cache_control: { type: 'ephemeral' } }), price(plain))
  assert.equal(
    price({ type: 'unknown', value: 1, cache_control: { type: 'ephemeral' } }),
    price({ type: 'unknown', value: 1 }),
  )
})

test('an image costs its pixels, however many bytes it has', () => {
  assert.equal(price(image(1000, 1000)), 1296)
  assert.equal(price(image(1000, 1000, 4_000_000)), 1296)
  assert.equal(price(image(1920, 1080)), 2691)
  assert.equal(price(image(1920, 1080), STANDARD), 1560)
})

test('an image of unknown size costs the most that its tier allows', () => {
  const sources = [
    { type: 'url', url: 'https://example.com/a.png' },
    { type: 'file', file_id: 'file_1' },
    { type: 'base64', media_type: 'image/png', data: 'AAAA'.repeat(1000) },
    undefined,
  ]
  for (const source of sources) {
    assert.equal(price({ type: 'image', source }), 4784)
    assert.equal(price({ type: 'image', source }, STANDARD), 1568)
  }
})

test('a call costs its name and its input as JSON, and the framing of both call and result', () => {
  const input = { path: 'src/a.ts', lines: [1, 2] }
  const call: ContentBlock = { type: 'tool_use', id: 'toolu_1', name: 'read_file', input }
  const framing = price(call) - countTokens('read_file') - countTokens(JSON.stringify(input))
  assert.ok(framing >= 50 && framing <= 90, `framing ${framing}`)
  assert.equal(price({ ...call, id: 'toolu_with_a_much_longer_id_01A09q90qw90lq917835lq9' }), price(call))
  assert.equal(price({ ...call, type: 'server_tool_use' }), price(call))
  assert.equal(price({ ...call, type: 'mcp_tool_use', server_name: 'x' }), price(call))
  assert.equal(
    price({ type: 'tool_use', id: 'a', name: 'now' }),
    framing + countTokens('now') + countTokens('{}'),
  )
})

test('a result costs its content, all the way down', () => {
  const result = (content: unknown): ContentBlock => ({
    type: 'tool_result',
    tool_use_id: 'toolu_1',
    content,
  })
  assert.equal(price(result('12 files')), countTokens('12 files'))
  assert.equal(
    price(result([{ type: 'text', text: '12 files' }, image(1000, 1000)])),
    countTokens('12 files') + 1296,
  )
  assert.equal(price(result([result([result('deep')])])), countTokens('deep'))
  assert.equal(price(result(undefined)), 0)
  assert.equal(price(result(null)), 0)
  const searched = { type: 'web_search_result', title: 'A', url: 'https://example.com' }
  assert.equal(
    price({ type: 'web_search_tool_result', tool_use_id: 'a', content: [searched] }),
    countTokens(JSON.stringify(searched)),
  )
  const failed = { type: 'web_search_tool_result_error', error_code: 'unavailable' }
  assert.equal(
    price({ type: 'web_search_tool_result', tool_use_id: 'a', content: failed }),
    countTokens(JSON.stringify(failed)),
  )
})

test('text that a model wrote or a tool returned is text, whatever it looks like', () => {
  const base64 = 'iVBORw0KGgo'.repeat(1000)
  assert.equal(price({ type: 'text', text: base64 }), countTokens(base64))
  assert.equal(price({ type: 'tool_result', tool_use_id: 'a', content: base64 }), countTokens(base64))
  assert.ok(price({ type: 'tool_use', id: 'a', name: 'write', input: { base64 } }) > countTokens(base64))
})

test('thinking costs its text, not its signature', () => {
  const thinking: ContentBlock = { type: 'thinking', thinking: 'Let me see.', signature: 'E'.repeat(2000) }
  assert.equal(price(thinking), countTokens('Let me see.'))
})

test('thinking without its text is priced by the length of what is sealed', () => {
  // 4,000 bytes of text, sealed: 235 characters of frame, then base64.
  const sealed = 'E'.repeat(235 + (4000 / 3) * 4)
  assert.equal(price({ type: 'thinking', thinking: '', signature: sealed }), 1000)
  assert.equal(price({ type: 'redacted_thinking', data: sealed }), 1000)
  assert.equal(price({ type: 'thinking', thinking: '', signature: 'EqQB' }), 0)
  assert.equal(price({ type: 'redacted_thinking' }), 0)
})

test('a block of unknown type costs its JSON', () => {
  const block: ContentBlock = { type: 'container_upload', file_id: 'file_1', nested: [{ a: 'b' }] }
  assert.equal(price(block), countTokens(JSON.stringify(block)))
  assert.equal(price({ type: 'text' }), countTokens('{"type":"text"}'))
})

test('long base64 in a block of unknown type is priced by size, and never above an image', () => {
  const around = countTokens(JSON.stringify({ type: 'audio', data: '' }))
  const audio = (data: string): number => price({ type: 'audio', data }) - around
  assert.equal(audio('QUJD'.repeat(1000)), (4000 * 3) / 16)
  assert.equal(audio(`data:audio/wav;base64,${'QUJD'.repeat(1000)}`), Math.ceil(((4000 + 22) * 3) / 16))
  assert.equal(audio('QUJD'.repeat(1_000_000)), 4784)
  assert.ok(audio('QUJD'.repeat(499)) > 600, 'shorter strings count as text')
  assert.ok(audio('QUJD, '.repeat(1000)) > 1500, 'and so do other long strings')
})

test('a document of text costs its text, title and context', () => {
  const source = { type: 'text', media_type: 'text/plain', data: 'Once upon a time' }
  assert.equal(price({ type: 'document', source }), countTokens('Once upon a time'))
  assert.equal(
    price({ type: 'document', source, title: 'Tales', context: 'A book' }),
    countTokens('Once upon a time') + countTokens('Tales') + countTokens('A book'),
  )
  const nested = { type: 'content', content: [{ type: 'text', text: 'Part one' }, image(1000, 1000)] }
  assert.equal(price({ type: 'document', source: nested }), countTokens('Part one') + 1296)
  assert.equal(
    price({ type: 'document', source: { type: 'content', content: 'Part one' } }),
    countTokens('Part one'),
  )
})

const pages = (count: number, bytes: number): number =>
  count * (1600 + Math.min(1400, Math.ceil(bytes / count / 2)))

test('a PDF costs its pages, counted where the file tells them', () => {
  const tree = '%PDF-1.4\n1 0 obj << /Type /Pages /Kids [3 0 R 4 0 R] /Count 12 >> endobj'
  assert.equal(price(pdf(tree)), pages(12, tree.length))
  const turned =
    '%PDF-1.4\n1 0 obj <</Count 7/Kids[3 0 R]/Type/Pages>> endobj << /Type /Outlines /Count 99 >>'
  assert.equal(price(pdf(turned)), pages(7, turned.length))
  const linear = '%PDF-1.5\n5 0 obj << /Linearized 1 /L 9000 /N 30 /T 800 >> endobj'
  assert.equal(price(pdf(linear)), pages(30, linear.length))
  const objects = `%PDF-1.4\n${'4 0 obj << /Type /Page /Parent 1 0 R >> endobj\n'.repeat(5)}`
  assert.equal(price(pdf(objects)), pages(5, objects.length))
  const streams = `%PDF-1.5\n${'4 0 obj << /Length 5 /Filter /FlateDecode >>\nstream\nabcde\nendstream endobj\n'.repeat(9)}<< /Type /ObjStm /N 40 /Length 5 >> stream`
  assert.equal(price(pdf(streams)), pages(9, streams.length))
})

test('a page tree at the end of a large PDF is found', () => {
  const large = Buffer.concat([
    Buffer.from('%PDF-1.4\n'),
    Buffer.alloc(3_000_000, 'x'),
    Buffer.from('1 0 obj << /Type /Pages /Count 40 >> endobj'),
  ])
  assert.equal(price(pdf(large)), pages(40, large.length))
})

test('a PDF that tells nothing costs by its size, and one that is elsewhere costs ten pages', () => {
  assert.equal(price(pdf(Buffer.alloc(1_000_000, 'x'))), 20 * 3000)
  assert.equal(price(pdf(Buffer.alloc(60_000_000, 'x'))), 600 * 3000)
  assert.equal(price(pdf('')), 1600)
  for (const source of [
    { type: 'url', url: 'https://example.com/a.pdf' },
    { type: 'file', file_id: 'f' },
    undefined,
  ]) {
    assert.equal(price({ type: 'document', source }), 30_000)
  }
})

test('tools cost their definitions, and instructions that come with the first', () => {
  const tool = { name: 'read_file', description: 'Reads a file.', inputSchema: { type: 'object' } }
  const definition = countTokens(JSON.stringify(tool))
  assert.equal(priceTools([]), 0)
  const instructions = priceTools([tool]) - definition
  assert.ok(instructions > 200 && instructions < 600)
  assert.equal(priceTools([tool, tool]), instructions + 2 * definition)
})
