import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Message, text } from '../../src/shared/session/content.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { INTERRUPTED_RESULT } from '../../src/shared/session/repair.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { surface } from './surface-builder.ts'

const result = (id: string, value: string) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: [text(value)],
})
const call = (id: string) => ({ type: 'tool_use', id, name: 'run_command', input: { command: id } })
const interrupted = (id: string) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: [...INTERRUPTED_RESULT.content],
  is_error: true,
})

/** The messages of a surface, after the independent check has passed. */
function valid(nodes: Parameters<typeof deriveMessages>[0]): Message[] {
  const messages = deriveMessages(nodes)
  assert.deepEqual(requestProblems(messages, { surface: nodes }), [])
  return messages
}

test('a plain conversation stands as it is', () => {
  const { nodes } = surface().user('hi').reply('hello').user('bye')
  assert.deepEqual(valid(nodes), [
    { role: 'user', content: [text('hi')] },
    { role: 'assistant', content: [text('hello')] },
    { role: 'user', content: [text('bye')] },
  ])
})

test('no node gives no message', () => {
  assert.deepEqual(deriveMessages([]), [])
})

test('neighbours of one role become one message, each content once and in order', () => {
  const { nodes } = surface().user('one').user('two').reply('a').reply('b').user('three')
  assert.deepEqual(valid(nodes), [
    { role: 'user', content: [text('one'), text('two')] },
    { role: 'assistant', content: [text('a'), text('b')] },
    { role: 'user', content: [text('three')] },
  ])
})

test('G4 results stand first and directly after their calls, in the order of the calls', () => {
  const { nodes } = surface()
    .user('go')
    .reply('ok', ['a', 'b'])
    .result('b', 'B')
    .result('a', 'A')
    .user('next')
  assert.deepEqual(valid(nodes).slice(1), [
    { role: 'assistant', content: [text('ok'), call('a'), call('b')] },
    { role: 'user', content: [result('a', 'A'), result('b', 'B'), text('next')] },
  ])
})

test('G4 a message that landed between a call and its result stands after the result', () => {
  const { nodes } = surface().user('go').reply('', ['a']).user('steer').result('a', 'A')
  assert.deepEqual(valid(nodes).at(-1), { role: 'user', content: [result('a', 'A'), text('steer')] })
})

test('G4 a checkpoint between a call and its result stays a message (fault C04)', () => {
  const { nodes } = surface()
    .user('go')
    .reply('', ['t1'])
    .checkpoint('[Checkpoint]')
    .result('t1', 'T')
    .reply('done')
    .user('more')
  assert.deepEqual(valid(nodes)[2], { role: 'user', content: [result('t1', 'T'), text('[Checkpoint]')] })
})

test('G4 a call without a result gets the interrupted one', () => {
  const { nodes } = surface().user('go').reply('', ['a', 'b']).result('b', 'B').user('still there?')
  assert.deepEqual(valid(nodes).at(-1)?.content, [interrupted('a'), result('b', 'B'), text('still there?')])
})

test('the first result of a call wins, a late one is left out (fault C08)', () => {
  const { nodes } = surface().user('go').reply('', ['a']).result('a', 'first').result('a', 'late').user('x')
  assert.deepEqual(valid(nodes).at(-1)?.content, [result('a', 'first'), text('x')])
})

test('a result without its call becomes what the user says (fault C19)', () => {
  const { nodes } = surface().result('gone', 'data').reply('ok').user('x')
  const [first] = valid(nodes)
  assert.deepEqual(first, {
    role: 'user',
    content: [text('[Result of a call that is no longer shown: run_command, gone]'), text('data')],
  })
})

test('a user message with a result and a text gives both (fault C11)', () => {
  const { nodes } = surface()
    .user('go')
    .reply('', ['t1'])
    .user([result('t1', 'R'), text('also do X')], 'import')
  assert.deepEqual(valid(nodes).at(-1)?.content, [result('t1', 'R'), text('also do X')])
})

test('a surface that begins with the assistant gets an opening', () => {
  const { nodes } = surface().reply('hello', ['a']).result('a', 'A')
  const messages = valid(nodes)
  assert.equal(messages[0]?.role, 'user')
  assert.equal(messages.length, 3)
})

test('blank blocks and messages vanish (fault F03)', () => {
  const { nodes } = surface()
    .user('go')
    .reply([text(' \n'), { type: 'compaction', content: null }, text('kept')])
    .user('')
    .reply([text('')])
    .user('x')
  assert.deepEqual(valid(nodes), [
    { role: 'user', content: [text('go')] },
    { role: 'assistant', content: [text('kept')] },
    { role: 'user', content: [text('x')] },
  ])
})

test('an empty result says so, since the API refuses an empty error', () => {
  const { nodes } = surface()
    .user('go')
    .reply('', ['a', 'b'])
    .result('a', '')
    .result('b', '', { isError: true })
  assert.deepEqual(valid(nodes).at(-1)?.content, [
    result('a', '(no output)'),
    { ...result('b', '(error without a message)'), is_error: true },
  ])
})

test('an error result holds text alone; its image stands beside the results', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
  const { nodes } = surface()
    .user('go')
    .reply('', ['a', 'b'])
    .result('a', [text('failed'), image], { isError: true })
    .result('b', [image])
  assert.deepEqual(valid(nodes).at(-1)?.content, [
    { ...result('a', 'failed'), is_error: true },
    { type: 'tool_result', tool_use_id: 'b', content: [image] },
    image,
  ])
})

test('signed reasoning stays, unsigned and trailing reasoning does not', () => {
  const signed = { type: 'thinking', thinking: 'hm', signature: 's' }
  const hidden = { type: 'thinking', thinking: '', signature: 's2' }
  const { nodes } = surface()
    .user('go')
    .reply([signed, hidden, { type: 'thinking', thinking: 'cut', signature: '' }, text('yes'), signed])
    .user('x')
    .reply([signed])
    .user('y')
  assert.deepEqual(valid(nodes), [
    { role: 'user', content: [text('go')] },
    { role: 'assistant', content: [signed, hidden, text('yes')] },
    { role: 'user', content: [text('x'), text('y')] },
  ])
})

test('ids and names that the API refuses are made plain, the same for call and result', () => {
  const strange = { type: 'tool_use', id: 'call|1', name: 'fs.read', input: 'not an object' }
  const { nodes } = surface().user('go').reply([strange]).result('call|1', 'R')
  const [, reply, results] = valid(nodes)
  const sent = reply?.content[0]
  assert.deepEqual(
    { name: sent?.['name'], input: sent?.['input'] },
    { name: 'fs_read', input: { value: 'not an object' } },
  )
  assert.match(String(sent?.['id']), /^call_[a-z0-9]+$/)
  assert.equal(results?.content[0]?.['tool_use_id'], sent?.['id'])
})

test('a call id that comes again is unique in the request, and keeps its own result', () => {
  const { nodes } = surface()
    .user('go')
    .reply('', ['c'])
    .result('c', 'one')
    .reply('', ['c'])
    .result('c', 'two')
  const messages = valid(nodes)
  assert.deepEqual(messages[2]?.content, [result('c', 'one')])
  assert.deepEqual(messages[4]?.content, [result('c_2', 'two')])
})

test('calls of the provider keep their result inside the reply; one without is left out once the conversation went on', () => {
  const search = (id: string) => ({ type: 'server_tool_use', id, name: 'web_search', input: {} })
  const found = (id: string) => ({ type: 'web_search_tool_result', tool_use_id: id, content: [] })
  const { nodes } = surface()
    .user('go')
    .reply([search('s1'), found('s1'), text('a'), search('s2')])
    .user('x')
  assert.deepEqual(valid(nodes)[1]?.content, [search('s1'), found('s1'), text('a')])
  const paused = surface()
    .user('go')
    .reply([search('s2')]).nodes
  assert.deepEqual(deriveMessages(paused)[1]?.content, [search('s2')])
})

test('a call of ours that a later reply of the provider closes (programmatic calls) keeps every pair', () => {
  const code = { type: 'server_tool_use', id: 'x', name: 'code_execution', input: {} }
  const { nodes } = surface()
    .user('go')
    .reply([code], ['a'])
    .result('a', 'A')
    .reply([{ type: 'code_execution_tool_result', tool_use_id: 'x', content: {} }, text('done')])
    .user('y')
  const messages = valid(nodes)
  assert.deepEqual(messages[1]?.content, [code, call('a')])
  assert.equal(messages[3]?.content.length, 2)
  assert.deepEqual(
    valid(nodes.slice(0, 3))[1]?.content,
    [code, call('a')],
    'the request in between holds the open call',
  )
})

test('O14 lone surrogates become U+FFFD, in inputs and keys too', () => {
  const { nodes } = surface()
    .user('a\ud800b')
    .reply([{ type: 'tool_use', id: 'a', name: 'run_command', input: { 'k\udfff': ['\ud83d', '😀'] } }])
    .result('a', '\udc00')
  const messages = deriveMessages(nodes)
  assert.deepEqual(requestProblems(messages), [])
  assert.deepEqual(messages[1]?.content[0]?.['input'], { 'k\ufffd': ['\ufffd', '😀'] })
})

test('unknown fields, and unknown blocks of a reply, pass untouched (fault E05); in what a user says they are text', () => {
  const strange = { type: 'hologram', data: { deep: [1, null, 'x'] } }
  const { nodes } = surface()
    .user([{ ...text('hi'), cache_control: { type: 'ephemeral' } }, strange])
    .reply([strange, text('x')])
    .user('y')
  const messages = valid(nodes)
  assert.deepEqual(messages[0]?.content, [
    { ...text('hi'), cache_control: { type: 'ephemeral' } },
    text(JSON.stringify(strange)),
  ])
  assert.deepEqual(messages[1]?.content, [strange, text('x')])
})

test('`__proto__` in an input is data', () => {
  const input = JSON.parse('{"__proto__": {"polluted": true}}') as unknown
  const { nodes } = surface()
    .user('go')
    .reply([{ type: 'tool_use', id: 'a', name: 'run_command', input }])
    .result('a', 'A')
  const [, reply] = valid(nodes)
  assert.equal(JSON.stringify(reply?.content[0]?.['input']), '{"__proto__":{"polluted":true}}')
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
})

test('one object at two places is two calls', () => {
  const shared = call('a')
  const { nodes } = surface().user('go').reply([shared]).result('a', 'one').reply([shared]).result('a', 'two')
  const messages = valid(nodes)
  assert.deepEqual(
    [messages[2]?.content, messages[4]?.content],
    [[result('a', 'one')], [result('a_2', 'two')]],
  )
})

test('calls and reasoning in a message of the user are data', () => {
  const { nodes } = surface().user([call('a'), { type: 'thinking', thinking: 'x', signature: 's' }])
  const [message] = deriveMessages(nodes)
  assert.deepEqual(requestProblems(deriveMessages(nodes)), [])
  assert.deepEqual(message?.content[0], text(JSON.stringify(call('a'))))
})

test('two calls with one id in one reply get their results in order', () => {
  const { nodes } = surface().user('go').reply('', ['a', 'a']).result('a', 'one').result('a', 'two')
  assert.deepEqual(valid(nodes)[2]?.content, [result('a', 'one'), result('a_2', 'two')])
})

test('derivation is linear: 20,000 answered calls of one id in a row', () => {
  const builder = surface().user('go')
  for (let n = 0; n < 20_000; n++) builder.reply('', ['same']).result('same', 'x')
  const startedAt = cpuMs()
  assert.equal(deriveMessages(builder.nodes).length, 40_001)
  assert.ok(cpuMs() - startedAt < 10_000)
})

test('calls of the provider pair with their own results only', () => {
  const search = { type: 'server_tool_use', id: 'x', name: 'web_search', input: {} }
  const found = { type: 'web_search_tool_result', tool_use_id: 'x', content: [] }
  const { nodes } = surface()
    .user('go')
    .reply([search, call('x')])
    .result('x', 'ours')
    .reply([found, text('done')])
    .user('y')
  const messages = valid(nodes)
  assert.deepEqual(messages[1]?.content, [search, { ...call('x'), id: 'x_2' }])
  assert.deepEqual(messages[2]?.content, [result('x_2', 'ours')])
  assert.deepEqual(messages[3]?.content, [found, text('done')])
})

test('a call of the provider whose result comes after somebody spoke is left out with it', () => {
  const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
  const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
  const spoke = surface()
    .user('go')
    .reply([search, text('a')])
    .user('hm')
    .reply([found, text('b')])
    .user('y')
  const stray = surface()
    .user('go')
    .reply([search, text('a')])
    .result('gone', 'x')
    .reply([found, text('b')])
    .user('y')
  const beside = surface()
    .user('go')
    .reply([search, text('a'), call('c')])
    .reply([found, text('b')])
    .result('c', [image], { isError: true })
    .user('y')
  for (const { nodes } of [spoke, stray, beside]) {
    assert.ok(!JSON.stringify(valid(nodes)).includes('web_search'))
  }
})
