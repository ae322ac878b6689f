import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LIMITS } from '../../src/shared/limits.ts'
import { promptContent, promptProblem, utf8Bytes } from '../../src/shared/session/prompt-content.ts'

const text = (value: string) => ({ type: 'text', text: value })
const image = (source: unknown) => ({ type: 'image', source })

describe('a prompt', () => {
  test('is a text or blocks', () => {
    assert.deepEqual(promptContent('hi'), [text('hi')])
    const blocks = [image({ type: 'url', url: 'https://example.com/a.png' })]
    assert.equal(promptContent(blocks), blocks)
    assert.equal(promptProblem('hi'), undefined)
    assert.equal(promptProblem(blocks), undefined)
    assert.equal(promptProblem([text(' '), text('hi')]), undefined)
    assert.equal(promptProblem([text(''), ...blocks]), undefined)
  })

  for (const [what, blocks, problem] of [
    ['no content', [], /empty or blank/],
    ['blank text', [text(' \n'), text('')], /empty or blank/],
    ['a block without a type', [{ type: '' }], /must be text or a list of content blocks/],
    ['a text without a text', [text('hi'), { type: 'text' }], /type text must have a text/],
    ['a call', [text('hi'), { type: 'tool_use', id: 'a' }], /type tool_use cannot stand/],
    ['a call of the provider', [{ type: 'server_tool_use' }], /type server_tool_use cannot stand/],
    ['a result', [{ type: 'web_search_tool_result' }], /type web_search_tool_result cannot stand/],
    ['reasoning', [{ type: 'thinking' }], /type thinking cannot stand/],
    ['sealed reasoning', [{ type: 'redacted_thinking' }], /type redacted_thinking cannot stand/],
  ] as const)
    test(`${what} is refused`, () => assert.match(promptProblem(blocks) ?? 'accepted', problem))

  test('a block that no request can hold is refused with what may stand', () => {
    for (const type of ['image_url', 'input_audio', 'resource_link', 'tool_result_note', 'Image'])
      assert.equal(
        promptProblem([text('hi'), { type }]),
        `a block of type ${type} cannot stand in a prompt: allowed are text, image, document and search_result`,
      )
    for (const type of ['image', 'document', 'search_result'])
      assert.equal(promptProblem([{ type }]), undefined, type)
  })

  test('its texts together have a limit in bytes', () => {
    const half = LIMITS.promptTextBytes / 2
    assert.equal(promptProblem([text('a'.repeat(half)), text('b'.repeat(half))]), undefined)
    assert.equal(promptProblem('ä'.repeat(half)), undefined)
    assert.match(
      promptProblem([text('a'.repeat(half)), text('b'.repeat(half)), text('c')]) ?? 'accepted',
      /^text of 1048577 bytes, allowed are 1048576:/,
    )
    assert.match(promptProblem(`a${'ä'.repeat(half)}`) ?? 'accepted', /^text of 1048577 bytes/)
  })

  test('its media together have a limit in decoded bytes, and what is only referred to counts nothing', () => {
    // 20 MiB less two bytes, and what four characters hold: three.
    const most = image({ type: 'base64', data: 'A'.repeat(27_962_024) })
    assert.equal(promptProblem([most, image({ data: 'AAA' })]), undefined)
    assert.match(
      promptProblem([most, image({ data: 'AAAA' })]) ?? 'accepted',
      /^images of 20971521 bytes, allowed are 20971520:/,
    )
    for (const source of [null, undefined, 'text', { url: 'x' }, { data: 7 }])
      assert.equal(promptProblem([most, image(source)]), undefined, JSON.stringify(source))
  })
})

test('bytes of a text are those of its UTF-8, lone surrogates as three', () => {
  for (const value of [
    '',
    'abc\u007f',
    '\u0080\u07ff',
    '\u0800\uffff',
    '😀a😀',
    '\ud800',
    '\ud800a',
    '\udbff',
    '\udc00\ud800',
    '\ud800\ud800\udc00',
    '\ud7ff\udc00',
    '\ue000\udc00',
    '\udbff\udfff',
    '\ud800\udbff',
    '\ud800\ue000',
  ])
    assert.equal(utf8Bytes(value), new TextEncoder().encode(value).length, JSON.stringify(value))
})
