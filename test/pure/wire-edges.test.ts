import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ContentBlock, type Message, text } from '../../src/shared/session/content.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { INTERRUPTED_RESULT, interruptedResult } from '../../src/shared/session/repair.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { pairTools } from '../../src/shared/session/tool-pairs.ts'
import { headOf, tailOf } from '../../src/shared/session/well-formed.ts'
import { isBlank, wireCall, wireResult } from '../../src/shared/session/wire-calls.ts'
import { surface } from './surface-builder.ts'

const call = (id: string, fields: object = {}): ContentBlock => ({
  type: 'tool_use',
  id,
  name: 'run_command',
  input: {},
  ...fields,
})
const image: ContentBlock = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }

function valid(nodes: Parameters<typeof deriveMessages>[0]): Message[] {
  const messages = deriveMessages(nodes)
  assert.deepEqual(requestProblems(messages), [])
  return messages
}

describe('a call as the API takes it', () => {
  test('one that is right stays the same object', () => {
    const block = call('a')
    assert.equal(wireCall(block, 'a'), block)
    assert.deepEqual(wireCall(block, 'b'), { ...block, id: 'b' })
  })

  test('a name is of its alphabet, 128 characters long, and never empty', () => {
    assert.equal(wireCall(call('a', { name: 'fs.read file' }), 'a')['name'], 'fs_read_file')
    assert.equal(wireCall(call('a', { name: 'x'.repeat(200) }), 'a')['name'], 'x'.repeat(128))
    for (const name of ['', 7, undefined]) assert.equal(wireCall(call('a', { name }), 'a')['name'], 'unnamed')
  })

  test('an input is an object', () => {
    const inputOf = (input: unknown) => wireCall(call('a', { input }), 'a')['input']
    assert.deepEqual(inputOf({ x: 1 }), { x: 1 })
    assert.deepEqual(inputOf(undefined), {})
    for (const value of [null, 'x', 7, [1]]) assert.deepEqual(inputOf(value), { value })
  })

  test('an id that comes again gets another one of at most 64 characters', () => {
    const id = 'i'.repeat(64)
    const { nodes } = surface().user('go').reply('', [id]).result(id, 'A').reply('', [id]).result(id, 'B')
    const messages = valid(nodes)
    assert.deepEqual(
      messages.flatMap(({ content }) => content.map((block) => block['id'] ?? block['tool_use_id'])),
      [undefined, id, id, `${'i'.repeat(54)}_2`, `${'i'.repeat(54)}_2`],
    )
  })
})

describe('a result as the API takes it', () => {
  const answer = (content: ContentBlock[], isError = false, block?: ContentBlock) => ({
    callId: 'a',
    name: 'run_command',
    at: 1,
    content,
    isError,
    ...(block === undefined ? {} : { block }),
  })

  test('blank blocks are left out, and nothing is never empty', () => {
    assert.deepEqual(wireResult('a', answer([text(' '), text('x'), image])), {
      result: { type: 'tool_result', tool_use_id: 'a', content: [text('x'), image] },
      beside: [],
    })
    assert.deepEqual(wireResult('a', answer([text('')])).result['content'], [text('(no output)')])
    assert.deepEqual(wireResult('a', answer([image], true)), {
      result: {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [text('(error without a message)')],
        is_error: true,
      },
      beside: [image],
    })
  })

  test('a block that no result can hold is its JSON, in an error too', () => {
    const link = { type: 'resource_link', uri: 'file:///a' }
    const said = text(JSON.stringify(link))
    const kinds = [text('x'), image, { type: 'document' }, { type: 'search_result' }]
    assert.deepEqual(wireResult('a', answer([link, ...kinds])).result['content'], [said, ...kinds])
    const { result, beside } = wireResult('a', answer([link, image], true))
    assert.deepEqual([result['content'], beside], [[said], [image]])
  })

  test('fields of a result block stay', () => {
    const block = { type: 'tool_result', tool_use_id: 'old', cache_control: { type: 'ephemeral' } }
    assert.deepEqual(wireResult('a', answer([text('x')], false, block)).result, {
      ...block,
      tool_use_id: 'a',
      content: [text('x')],
    })
  })

  test('a call without one gets the interrupted one, also as an event', () => {
    assert.deepEqual(wireResult('a', undefined).result, {
      type: 'tool_result',
      tool_use_id: 'a',
      content: [...INTERRUPTED_RESULT.content],
      is_error: true,
    })
    const { data, tokens } = interruptedResult({ callId: 'a', name: 'bash', turn: 1, step: 2 })
    assert.deepEqual(data.content, INTERRUPTED_RESULT.content)
    assert.equal(tokens, INTERRUPTED_RESULT.tokens)
  })

  test('one whose call is gone is what the user says, without blank blocks', () => {
    const { nodes } = surface().result('gone', [text(''), text('x'), image, { type: 'odd', n: 1 }])
    assert.deepEqual(valid(nodes), [
      {
        role: 'user',
        content: [
          text('[Result of a call that is no longer shown: run_command, gone]'),
          text('x'),
          image,
          text('{"type":"odd","n":1}'),
        ],
      },
    ])
    const unnamed = surface().result('gone', 'x', { name: '' })
    assert.match(JSON.stringify(deriveMessages(unnamed.nodes)), /no longer shown: tool, gone/)
  })
})

test('blocks that the API refuses as empty', () => {
  for (const block of [
    { type: 'text' },
    { type: 'text', text: ' \n' },
    { type: 'thinking', thinking: 'x' },
    { type: 'thinking', thinking: 'x', signature: '' },
    { type: 'redacted_thinking' },
    { type: 'redacted_thinking', data: '' },
    { type: 'compaction' },
    { type: 'compaction', content: null },
    { type: 'compaction', content: '' },
  ])
    assert.equal(isBlank(block), true, JSON.stringify(block))
  for (const block of [
    text('x'),
    { type: 'thinking', thinking: '', signature: 's' },
    { type: 'redacted_thinking', data: 'd' },
    { type: 'compaction', content: 'c' },
    { type: 'image' },
    { type: 'tool_use' },
  ])
    assert.equal(isBlank(block), false, JSON.stringify(block))
})

test('calls, reasoning and unknown blocks that a user wrote are told as text', () => {
  const thinking = { type: 'thinking', thinking: 'x', signature: 's' }
  const { nodes } = surface().user([call('a'), thinking, { type: 'tool_use_note', id: 'b' }, image])
  assert.deepEqual(deriveMessages(nodes)[0]?.content, [
    text(JSON.stringify(call('a'))),
    text(JSON.stringify(thinking)),
    text('{"type":"tool_use_note","id":"b"}'),
    image,
  ])
})

describe("calls of the provider's own tools", () => {
  const search = { type: 'server_tool_use', id: 's', name: 'search', input: {} }
  const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
  const stands = (nodes: Parameters<typeof deriveMessages>[0]) =>
    deriveMessages(nodes).some(({ content }) => content.some(({ type }) => type === 'server_tool_use'))
  const around = (result: ContentBlock[], isError: boolean) =>
    surface()
      .user('go')
      .reply([search, call('a')])
      .result('a', result, { isError })
      .reply([found, text('x')])
      .user('next').nodes

  test('stand when nothing but results of ours is between them and their answers', () => {
    assert.ok(stands(around([text('ok')], false)))
    assert.ok(stands(around([text('no')], true)))
    assert.ok(stands(around([text('ok'), image], false)))
    assert.ok(stands(around([text('no'), text(' ')], true)))
    valid(around([text('no')], true))
  })

  test('fall when an error brings more than text, which the user says', () => {
    for (const result of [[text('no'), image], [image, text('no')], [image]]) {
      assert.ok(!stands(around(result, true)))
      valid(around(result, true))
    }
  })

  test('fall when their answer stands in a message of the user', () => {
    const { nodes } = surface()
      .user('go')
      .reply([search, text('x')])
      .user([found, text('y')])
    assert.ok(!stands(nodes))
    valid(nodes)
  })
})

describe('calls and their results', () => {
  const answeredPlaces = (nodes: Parameters<typeof pairTools>[0]) =>
    [...pairTools(nodes).answers].map(([{ at, place }, answer]) => [at, place, answer.at])

  test('a result answers the newest open call of its id, of several in one reply the first', () => {
    const twice = surface()
      .reply([call('a')])
      .reply([call('a')])
      .result('a', 'x')
    assert.deepEqual(answeredPlaces(twice.nodes), [[1, 0, 2]])
    const thrice = surface()
      .reply([call('a'), call('a')])
      .reply([call('a')])
      .result('a', 'x')
    assert.deepEqual(answeredPlaces(thrice.nodes), [[1, 0, 2]])
    const together = surface()
      .reply([call('a')])
      .reply([call('a'), call('a')])
      .result('a', 'x')
      .result('a', 'y')
      .result('a', 'z')
      .result('a', 'more')
    assert.deepEqual(answeredPlaces(together.nodes), [
      [1, 0, 2],
      [1, 1, 3],
      [0, 0, 4],
    ])
    assert.deepEqual(
      pairTools(together.nodes).repeated.map(({ at }) => at),
      [5],
    )
  })

  test('a result inside a message has its content as blocks, and may be an error', () => {
    const { nodes } = surface().user([
      { type: 'tool_result', tool_use_id: 'a', content: 'x', is_error: true },
      { type: 'tool_result', tool_use_id: 'b', content: [text('y')] },
      { type: 'mcp_tool_result', tool_use_id: 'c', content: 7, is_error: 'yes' },
      { type: 'tool_result_note', tool_use_id: 'd' },
      { type: 'tool_result' },
    ])
    assert.deepEqual(
      pairTools(nodes).orphans.map(({ callId, content, isError, place }) => [
        callId,
        content,
        isError,
        place,
      ]),
      [
        ['a', [text('x')], true, 0],
        ['b', [text('y')], false, 1],
        ['c', [], false, 2],
      ],
    )
  })

  test('only a reply calls, with an id, by a type that ends so', () => {
    const { nodes } = surface()
      .user([call('u')])
      .reply([
        call('a'),
        { type: 'tool_use' },
        { type: 'tool_use_note', id: 'b' },
        { type: 'mcp_tool_use', id: 'c' },
      ])
    assert.deepEqual(
      pairTools(nodes).calls.map(({ callId, name }) => [callId, name]),
      [
        ['a', 'run_command'],
        ['c', ''],
      ],
    )
  })
})

describe('the check of a request says all that is wrong, and nothing else', () => {
  const user = (...content: ContentBlock[]): Message => ({ role: 'user', content })
  const assistant = (...content: ContentBlock[]): Message => ({ role: 'assistant', content })
  const hi = user(text('hi'))
  const result = (content: unknown, fields: object = {}): ContentBlock => ({
    type: 'tool_result',
    tool_use_id: 'a',
    content,
    ...fields,
  })
  const cases: readonly (readonly [string, Message[], string[]])[] = [
    ['no message', [], ['O1: the request has no message']],
    [
      'only the assistant',
      [assistant(text('a'))],
      ["O1: the first message is not the user's", "O1: the last message is not the user's"],
    ],
    [
      'reasoning of the user',
      [user({ type: 'thinking', thinking: 'x' })],
      ['O1: block 0 of message 0 is reasoning without a signature'],
    ],
    [
      'signed reasoning of the user',
      [user({ type: 'thinking', thinking: 'x', signature: 's' }, text('a'))],
      ['O1: block 0 of message 0 is reasoning without a signature'],
    ],
    [
      'sealed reasoning at an end',
      [hi, assistant(text('a'), { type: 'redacted_thinking', data: 'd' }), hi],
      ['O1: message 1 ends with reasoning'],
    ],
    ['a text without a text', [user({ type: 'text' })], ['O1: block 0 of message 0 is a blank text']],
    ['a compaction', [hi, assistant({ type: 'compaction', content: 'c' }, text('a')), hi], []],
    [
      'no input',
      [hi, assistant(call('a', { input: null })), user(result('x'))],
      ['O1: block 0 of message 1 has an input that is no object'],
    ],
    [
      'one blank text of two',
      [hi, assistant(call('a')), user(result([text('x'), text('')]))],
      ['O1: block 0 of message 2 holds a blank text'],
    ],
    [
      'a blank field of another block',
      [hi, assistant(call('a')), user(result([{ type: 'odd', text: ' ' }]))],
      [],
    ],
    ['an error of text', [hi, assistant(call('a')), user(result([text('x')], { is_error: true }))], []],
    [
      'a call that nobody answers',
      [
        hi,
        assistant({ type: 'mcp_tool_use', id: 's' }, call('a')),
        user(result('x')),
        assistant(text('b')),
        hi,
      ],
      ['O1: message 4 follows call s of the provider, which has no result'],
    ],
  ]
  for (const [what, messages, problems] of cases)
    test(what, () => assert.deepEqual(requestProblems(messages), problems))

  test('bytes up to the limit', () => {
    const bytes = JSON.stringify([hi]).length
    assert.deepEqual(requestProblems([hi], { maxBodyBytes: bytes }), [])
    assert.deepEqual(requestProblems([hi], { maxBodyBytes: bytes - 1 }), [
      `O2: the messages have ${bytes} bytes, ${bytes - 1} are allowed`,
    ])
  })

  test('what was said, without results and blank text; long texts by their beginning', () => {
    const long = 'x'.repeat(300)
    const { nodes } = surface()
      .user([text('old'), text(' '), { type: 'tool_result', tool_use_id: 'z', content: 'x' }])
      .reply('a')
      .user([text('one'), text('two')])
    const said = [user(text('old')), assistant(text('a')), user(text('one'), text('two'))]
    assert.deepEqual(requestProblems(said, { surface: nodes }), [])
    assert.deepEqual(
      requestProblems([said[0] as Message, said[1] as Message, user(text('two'), text('one'))], {
        surface: nodes,
      }),
      [
        'O5: missing or out of order: {"type":"text","text":"two"}',
        'O6: the unanswered input is not verbatim at the end',
      ],
    )
    const start = JSON.stringify(text(long)).slice(0, 120)
    assert.deepEqual(requestProblems([hi], { surface: surface().user(long).reply('a').nodes }), [
      `O5: missing or out of order: ${start}`,
    ])
    assert.deepEqual(
      requestProblems([user(text(long), text(long))], { surface: surface().user(long).reply('a').nodes }),
      [`O5: 2 times instead of 1: ${start}`],
    )
    assert.deepEqual(requestProblems([], { surface: surface().user('a').nodes }), [
      'O1: the request has no message',
      'O5: missing or out of order: {"type":"text","text":"a"}',
      'O6: the unanswered input is not verbatim at the end',
    ])
  })
})

test('heads and tails of a text split no pair of surrogates', () => {
  assert.deepEqual(
    [headOf('a😀b', 1), headOf('a😀b', 2), headOf('a😀b', 3), headOf('', 3)],
    ['a', 'a', 'a😀', ''],
  )
  assert.deepEqual(
    [tailOf('a😀b', 1), tailOf('a😀b', 2), tailOf('a😀b', 3), tailOf('ab', 0), tailOf('ab', -1)],
    ['b', 'b', '😀b', '', ''],
  )
})
