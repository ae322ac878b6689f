import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ContentBlock, type Message, text } from '../../src/shared/session/content.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { surface } from './surface-builder.ts'

const user = (...content: ContentBlock[]): Message => ({ role: 'user', content })
const assistant = (...content: ContentBlock[]): Message => ({ role: 'assistant', content })
const call = (id: string, fields: object = {}): ContentBlock => ({
  type: 'tool_use',
  id,
  name: 'run',
  input: {},
  ...fields,
})
const result = (id: string, content: unknown = 'ok', fields: object = {}): ContentBlock => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...fields,
})
const hi = user(text('hi'))

const accepted: readonly [string, Message[]][] = [
  ['one prompt', [hi]],
  ['a conversation', [hi, assistant(text('a')), user(text('b'))]],
  [
    'a call with its result and a prompt behind it',
    [hi, assistant(call('a')), user(result('a'), text('next'))],
  ],
  [
    'signed reasoning without a visible text',
    [hi, assistant({ type: 'thinking', thinking: '', signature: 's' }, call('a')), user(result('a'))],
  ],
  ['a result with an image', [hi, assistant(call('a')), user(result('a', [{ type: 'image', source: {} }]))]],
  [
    'code of the provider that calls a tool of ours before its result',
    [
      hi,
      assistant({ type: 'server_tool_use', id: 's' }, call('a')),
      user(result('a')),
      assistant({ type: 'code_execution_tool_result', tool_use_id: 's' }, text('x')),
      hi,
    ],
  ],
  [
    'a search of the provider with its result',
    [
      hi,
      assistant(
        { type: 'server_tool_use', id: 's' },
        { type: 'web_search_tool_result', tool_use_id: 's' },
        text('x'),
      ),
      hi,
    ],
  ],
]

for (const [name, messages] of accepted) {
  test(`accepts ${name}`, () => assert.deepEqual(requestProblems(messages), []))
}

const refused: readonly [string, RegExp, Message[]][] = [
  ['no message', /O1: .*no message/, []],
  ['a first message of the assistant', /O1: the first message/, [assistant(text('a')), hi]],
  ['a last message of the assistant', /O1: the last message/, [hi, assistant(text('a'))]],
  ['two messages of one role', /O1: messages 0 and 1/, [hi, hi]],
  ['an empty message', /O1: message 0 is empty/, [user()]],
  ['a blank text', /O1: block 0 of message 0 is a blank text/, [user(text(' \n'))]],
  [
    'a call without a result',
    /O1: call a of message 1 has not exactly one/,
    [hi, assistant(call('a')), user(text('x'))],
  ],
  [
    'two results of one call',
    /O1: call a of message 1 has not exactly one/,
    [hi, assistant(call('a')), user(result('a'), result('a'))],
  ],
  [
    'a result of another call',
    /O1: message 2 holds the result of b/,
    [hi, assistant(call('a')), user(result('a'), result('b'))],
  ],
  ['a result in the first message', /O1: message 0 holds the result of a/, [user(result('a'))]],
  [
    'a result one message late',
    /O1: message 4 holds the result of a/,
    [hi, assistant(call('a')), user(text('x')), assistant(text('y')), user(result('a'))],
  ],
  [
    'a result behind a text',
    /O1: in message 2 a result stands after/,
    [hi, assistant(call('a')), user(text('x'), result('a'))],
  ],
  [
    'an id that comes twice',
    /O1: call id a .* not unique/,
    [hi, assistant(call('a')), user(result('a')), assistant(call('a')), user(result('a'))],
  ],
  [
    'an id that comes twice in one message',
    /O1: call id a .* not unique/,
    [hi, assistant(call('a'), call('a')), user(result('a'))],
  ],
  ['an id with odd characters', /the id call\|1/, [hi, assistant(call('call|1')), user(result('call|1'))]],
  [
    'a name with odd characters',
    /calls "fs\.read"/,
    [hi, assistant(call('a', { name: 'fs.read' })), user(result('a'))],
  ],
  [
    'an input that is a text',
    /input that is no object/,
    [hi, assistant(call('a', { input: 'x' })), user(result('a'))],
  ],
  ['an empty result', /empty result/, [hi, assistant(call('a')), user(result('a', []))]],
  ['a blank result', /blank result/, [hi, assistant(call('a')), user(result('a', ' '))]],
  [
    'a blank text in a result',
    /holds a blank text/,
    [hi, assistant(call('a')), user(result('a', [text('')]))],
  ],
  [
    'an error with an image',
    /an error that holds more/,
    [hi, assistant(call('a')), user(result('a', [text('x'), { type: 'image' }], { is_error: true }))],
  ],
  [
    'reasoning without a signature',
    /without a signature/,
    [hi, assistant({ type: 'thinking', thinking: 'x', signature: '' }, text('a')), hi],
  ],
  [
    'a reply that ends with reasoning',
    /ends with reasoning/,
    [hi, assistant(text('a'), { type: 'thinking', thinking: 'x', signature: 's' }), hi],
  ],
  ['a call of the user', /a call of the user/, [user(call('a'))]],
  [
    'a result of the assistant',
    /a tool result of the assistant/,
    [hi, assistant(result('a'), text('x')), hi],
  ],
  [
    'a search result without its search',
    /which no call of the provider asks for/,
    [hi, assistant({ type: 'web_search_tool_result', tool_use_id: 's' }, text('x')), hi],
  ],
  [
    'a search without its result, once the user went on',
    /follows call s of the provider/,
    [hi, assistant({ type: 'server_tool_use', id: 's' }, text('x')), hi],
  ],
  [
    'an empty compaction',
    /empty compaction/,
    [hi, assistant({ type: 'compaction', content: null }, text('x')), hi],
  ],
  ['a lone surrogate in a text', /O14: message 0/, [user(text('a\ud800'))]],
  [
    'a lone surrogate in a key',
    /O14: message 1/,
    [hi, assistant(call('a', { input: { 'k\udc00': 1 } })), user(result('a'))],
  ],
]

for (const [name, problem, messages] of refused) {
  test(`refuses ${name}`, () => {
    const problems = requestProblems(messages)
    assert.ok(
      problems.some((found) => problem.test(found)),
      `found ${JSON.stringify(problems)}`,
    )
  })
}

test('O2 estimate and reply must fit the window, and the body its limit', () => {
  const window = { contextTokens: 90, maxTokens: 10, contextWindow: 100 }
  assert.deepEqual(requestProblems([hi], { window }), [])
  assert.match(requestProblems([hi], { window: { ...window, maxTokens: 11 } }).join(), /O2: 90 tokens and 11/)
  assert.match(
    requestProblems([user(text('é'.repeat(100)))], { maxBodyBytes: 200 }).join(),
    /O2: the messages have \d+ bytes, 200 are allowed/,
  )
})

test('O5 each message of the surface stands once and in order', () => {
  const { nodes } = surface().user('one').reply('a').user('two').reply('b').user('two')
  const [one, two] = [text('one'), text('two')]
  const request = (...users: ContentBlock[][]) =>
    users.flatMap((content, index) => [...(index > 0 ? [assistant(text('a'))] : []), user(...content)])
  assert.deepEqual(requestProblems(request([one], [two], [two]), { surface: nodes }), [])
  assert.match(
    requestProblems(request([one], [two]), { surface: nodes }).join(),
    /O5: missing or out of order/,
  )
  assert.match(
    requestProblems(request([two], [one], [two]), { surface: nodes }).join(),
    /O5: missing or out of order/,
  )
  assert.match(
    requestProblems(request([one, one], [two], [two]), { surface: nodes }).join(),
    /O5: 2 times instead of 1/,
  )
})

test('O6 unanswered input is verbatim and last', () => {
  const { nodes } = surface().user('old').reply('a').user('new')
  const reply = assistant(text('a'))
  assert.deepEqual(requestProblems([user(text('old')), reply, user(text('new'))], { surface: nodes }), [])
  assert.match(
    requestProblems([user(text('old')), reply, user(text('new'), text('old'))], { surface: nodes }).join(),
    /O6/,
  )
  assert.match(
    requestProblems([user(text('old')), reply, user(text('newer'))], { surface: nodes }).join(),
    /O6/,
  )
})
