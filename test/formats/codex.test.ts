import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountingProblem } from '../../src/formats/transcript.ts'
import { callsOf, lines, outline, read, resultsOf, testRecorded } from './recorded-files.ts'

const item = (payload: object) => ({ timestamp: 't', type: 'response_item', payload })
const event = (payload: object) => ({ timestamp: 't', type: 'event_msg', payload })
const message = (role: string, value: string) =>
  item({
    type: 'message',
    role,
    content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: value }],
  })
const call = (id: string, name = 'shell') =>
  item({ type: 'function_call', call_id: id, name, arguments: '{"command":["ls"]}' })
const output = (id: string, value: unknown) =>
  item({ type: 'function_call_output', call_id: id, output: value })

test('items of the assistant up to the next output are one reply; events only repeat', () => {
  const transcript = read(
    lines(
      { type: 'session_meta', payload: { base_instructions: { text: 'be a coder' } } },
      { type: 'turn_context', payload: { model: 'gpt' } },
      message('developer', 'rules'),
      message('user', '<environment_context>here</environment_context>'),
      event({ type: 'user_message', message: 'list' }),
      message('user', 'list'),
      item({ type: 'reasoning', summary: [{ text: 'thinks' }], encrypted_content: 'x' }),
      message('assistant', 'I look'),
      call('a'),
      call('b'),
      event({
        type: 'token_count',
        info: { last_token_usage: { input_tokens: 10, cached_input_tokens: 4, output_tokens: 2 } },
      }),
      output('b', 'B'),
      output('a', 'A'),
      message('assistant', 'done'),
    ),
  )
  assert.deepEqual(outline(transcript), [
    'context: rules',
    'context: <environment_context>here</environment_context>',
    'prompt: list',
    'assistant: I look + call a + call b',
    'import: result a A',
    'import: result b B',
    'assistant: done',
  ])
  assert.equal(transcript.system, 'be a coder')
  assert.equal(transcript.messages[3]?.model, 'gpt')
  assert.deepEqual(transcript.messages[3]?.usage, {
    inputTokens: 6,
    outputTokens: 2,
    cacheReadTokens: 4,
    cacheWriteTokens: 0,
  })
  assert.deepEqual(transcript.report.records['response_item/reasoning'], {
    taken: 0,
    merged: 0,
    leftOut: 1,
    reasons: { 'no content that a model can read': 1 },
  })
})

test('every form of a call and of an output', () => {
  const transcript = read(
    lines(
      message('user', 'go'),
      item({ type: 'custom_tool_call', call_id: 'c', name: 'apply_patch', input: '*** Begin' }),
      item({ type: 'local_shell_call', call_id: 'l', action: { type: 'exec', command: ['ls'] } }),
      item({ type: 'tool_search_call', call_id: 's', arguments: { query: 'q' } }),
      item({
        type: 'function_call',
        call_id: 'f',
        namespace: 'mcp',
        name: 'get.page',
        arguments: 'not json',
      }),
      item({ type: 'custom_tool_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'ok' }] }),
      output('l', { content: 'no such file', success: false }),
      item({ type: 'tool_search_output', call_id: 's', tools: [{ name: 't' }] }),
      output('f', [
        { type: 'input_image', image_url: 'data:image/png;base64,QUJD' },
        { type: 'input_image', image_url: null },
      ]),
    ),
  )
  assert.deepEqual(
    callsOf(transcript).map(({ name, input }) => [name, input]),
    [
      ['apply_patch', { input: '*** Begin' }],
      ['local_shell', { type: 'exec', command: ['ls'] }],
      ['tool_search', { query: 'q' }],
      ['mcp__get_page', { arguments: 'not json' }],
    ],
  )
  assert.deepEqual(
    resultsOf(transcript).map(({ content, is_error }) => [content, is_error]),
    [
      [[{ type: 'text', text: 'ok' }], undefined],
      [[{ type: 'text', text: 'no such file' }], true],
      [[{ type: 'text', text: '[{"name":"t"}]' }], undefined],
      [[{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } }], undefined],
    ],
  )
  assert.deepEqual(
    transcript.report.changes.map(({ kind, detail }) => `${kind} ${detail}`),
    ['tool-renamed mcp__get.page -> mcp__get_page', 'block-left-out image: without its data'],
  )
})

test('a compaction is reported with the tokens counted before it; its copy of the history stays out', () => {
  const history = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'old' }] }]
  const transcript = read(
    lines(
      message('user', 'old'),
      event({ type: 'token_count', info: { last_token_usage: { input_tokens: 900 } } }),
      { type: 'compacted', payload: { message: 'sum', replacement_history: history } },
      message('user', 'new'),
    ),
  )
  assert.deepEqual(outline(transcript), ['prompt: old', 'prompt: new'])
  assert.deepEqual(transcript.report.compactions, [
    { line: 3, atMessage: 1, summary: 'sum', tokensBefore: 900 },
  ])
})

test('declared tools, also of a namespace, and called ones', () => {
  const inner = { type: 'function', name: 'open', description: 'opens', inputSchema: { type: 'object' } }
  const meta = { dynamic_tools: [{ type: 'namespace', name: 'web', tools: [inner] }, { name: 'plain' }] }
  const transcript = read(lines({ type: 'session_meta', payload: meta }, message('user', 'go'), call('a')))
  assert.deepEqual(transcript.tools, [
    { name: 'web__open', description: 'opens', input_schema: { type: 'object' } },
    { name: 'plain' },
    { name: 'shell' },
  ])
})

testRecorded('codex/every-record-type.jsonl', 'every record has a fate, six compactions', (raw) => {
  const transcript = read(raw)
  assert.equal(accountingProblem(transcript.report), undefined)
  assert.equal(transcript.report.lines, 118)
  assert.equal(transcript.report.compactions.length, 6)
  assert.deepEqual(
    outline(transcript)
      .slice(0, 7)
      .map((line) => line.slice(0, 40)),
    [
      'prompt: List the files',
      'assistant: call call-1 + call call-2',
      'import: result call-1 a.txt\nb.txt\n',
      'import: result call-2 a.txt\n',
      'assistant: call call-3',
      'import: result call-3 [{"type":"function',
      'assistant: Found 2 files.',
    ],
  )
})
