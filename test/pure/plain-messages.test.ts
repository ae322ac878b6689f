import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ContentBlock } from '../../src/shared/session/content.ts'
import {
  EMPTY_PREFIX,
  messageDigest,
  messagesBehind,
  messagesDigest,
  prefixOf,
} from '../../src/shared/session/message-digest.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import {
  asCallers,
  contentNodes,
  type MessageLike,
  partsOf,
  plainContent,
} from '../../src/shared/session/plain-messages.ts'

const block = (fields: ContentBlock) => fields
const text = (value: string) => ({ type: 'text', text: value })
const call = (id: string, name = 'bash') => ({ type: 'tool_use', id, name, input: {} })
const result = (id: string, fields: object = {}) => ({ type: 'tool_result', tool_use_id: id, ...fields })
const user = (content: MessageLike['content']): MessageLike => ({ role: 'user', content })
const assistant = (content: MessageLike['content']): MessageLike => ({ role: 'assistant', content })

describe("messages of a program of one's own", () => {
  test('a text is one block, an empty one none, and cache marks are no content', () => {
    assert.deepEqual(plainContent('hello'), [text('hello')])
    assert.deepEqual(plainContent(''), [])
    const marked = { ...text('a'), cache_control: { type: 'ephemeral' } }
    assert.deepEqual(plainContent([marked, text('b')]), [text('a'), text('b')])
  })

  test('a reply is one part, an empty message none', () => {
    assert.deepEqual(partsOf(assistant([text('a'), call('c')])), [
      { kind: 'reply', content: [text('a'), call('c')] },
    ])
    assert.deepEqual(partsOf(assistant('')), [])
    assert.deepEqual(partsOf(user('')), [])
    assert.deepEqual(partsOf(user('hi')), [{ kind: 'said', content: [text('hi')] }])
  })

  test('each result is a part, before what else the message says', () => {
    const parts = partsOf(
      user([
        text('and now'),
        result('a', { content: 'done' }),
        result('b', { content: [text('no')], is_error: true }),
        result('c'),
        block({ type: 'tool_result', content: 'without a call' }),
      ]),
    )
    assert.deepEqual(parts, [
      { kind: 'result', callId: 'a', content: [text('done')], isError: false },
      { kind: 'result', callId: 'b', content: [text('no')], isError: true },
      { kind: 'result', callId: 'c', content: [], isError: false },
      { kind: 'said', content: [text('and now'), { type: 'tool_result', content: 'without a call' }] },
    ])
  })

  test('its nodes have the contents, and a result the name of its call', () => {
    const nodes = contentNodes([
      user('go'),
      assistant([text('ok'), call('a', 'read_file')]),
      user([result('a', { content: 'x', is_error: true }), result('z', { content: 'y' })]),
    ])
    assert.deepEqual(
      nodes.map(({ type, seq, data }) => ({ type, seq, data })),
      [
        { type: 'user/message', seq: 0, data: { content: [text('go')], source: 'context' } },
        {
          type: 'assistant/message',
          seq: 1,
          data: {
            content: [text('ok'), call('a', 'read_file')],
            usage: null,
            stopReason: '',
            provider: '',
            model: '',
          },
        },
        {
          type: 'tool/result',
          seq: 2,
          data: { callId: 'a', name: 'read_file', content: [text('x')], isError: true },
        },
        {
          type: 'tool/result',
          seq: 3,
          data: { callId: 'z', name: '', content: [text('y')], isError: false },
        },
      ],
    )
    for (const { surfaceOp, turn, step, tokens } of nodes)
      assert.deepEqual([surfaceOp, turn, step, tokens], ['append', null, null, 0])
  })

  test('what the API takes as it is comes back as it was', () => {
    const messages = [
      user([text('go')]),
      assistant([text('ok'), call('a')]),
      user([result('a', { content: [text('x')] }), text('next')]),
    ]
    assert.deepEqual(deriveMessages(contentNodes(messages)), messages)
    assert.deepEqual(asCallers(messages), messages)
  })

  test('only a block that is a call names results', () => {
    const nodes = contentNodes([
      assistant([block({ type: 'server_tool_use', id: 'a', name: 'search' })]),
      user([result('a')]),
    ])
    assert.equal(nodes[1]?.type === 'tool/result' && nodes[1].data.name, '')
  })
})

describe('digests of messages', () => {
  const messages = [user('a'), assistant([text('b'), call('c')]), user([result('c', { content: 'd' })])]

  test('equal for equal content, whatever its form and marks', () => {
    assert.equal(messageDigest(user('a')), messageDigest(user([text('a')])))
    assert.equal(
      messageDigest(user([{ ...text('a'), cache_control: { type: 'ephemeral' } } as ContentBlock])),
      messageDigest(user('a')),
    )
    assert.match(messageDigest(user('a')), /^[0-9a-z]{16,24}$/)
    assert.equal(messagesDigest(messages), messagesDigest([user([text('a')]), ...messages.slice(1)]))
  })

  test('different for another role, text, order of fields, or number of messages', () => {
    const digests = [
      user('a'),
      assistant('a'),
      user('b'),
      user([block({ text: 'a', type: 'text' })]),
      user([text('a'), text('')]),
    ].map(messageDigest)
    assert.equal(new Set(digests).size, digests.length)
    const lists = [[], messages, messages.slice(1), [...messages].reverse(), [user('a'), user('a')]]
    assert.equal(new Set(lists.map(messagesDigest)).size, lists.length)
  })
})

describe('what stands behind a known prefix', () => {
  const messages = [user('a'), assistant([text('b'), call('c')]), user([result('c', { content: 'd' })])]

  test('an empty prefix is known of all, the whole list leaves nothing', () => {
    assert.deepEqual(prefixOf([]), EMPTY_PREFIX)
    assert.deepEqual(messagesBehind(EMPTY_PREFIX, messages), messages)
    assert.equal(prefixOf(messages).blocks, 4)
    assert.deepEqual(messagesBehind(prefixOf(messages), messages), [])
    assert.deepEqual(messagesBehind(EMPTY_PREFIX, [user(''), ...messages]), messages)
  })

  test('the rest of a message that has grown, then whole messages', () => {
    const known = prefixOf([user('a'), assistant('b')])
    assert.deepEqual(messagesBehind(known, messages), [assistant([call('c')]), messages[2]])
    assert.deepEqual(messagesBehind(prefixOf(messages.slice(0, 1)), messages), messages.slice(1))
    assert.deepEqual(messagesBehind(prefixOf(messages.slice(0, 2)), messages), messages.slice(2))
  })

  test('null when another block, another role or too little stands there', () => {
    const known = prefixOf([user('a'), assistant('b')])
    assert.equal(messagesBehind(known, [user('a'), assistant('x'), user('c')]), null)
    assert.equal(messagesBehind(known, [user('a'), user('b'), user('c')]), null)
    assert.equal(messagesBehind(known, [user('a')]), null)
    assert.equal(messagesBehind({ ...known, blocks: 1 }, messages), null)
  })

  test('the order of fields and marks of a cache change no prefix', () => {
    const turned = [user([{ text: 'a', type: 'text', cache_control: {} } as ContentBlock]), assistant('b')]
    assert.deepEqual(prefixOf(turned), prefixOf([user('a'), assistant('b')]))
  })
})
