import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountingProblem } from '../../src/formats/transcript.ts'
import { blocksOf, callsOf, outline, read, resultsOf, testRecorded } from './recorded-files.ts'

const call = (id: string) => ({ type: 'tool_use', id, name: 'Read', input: {} })
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })

test('a request body: system, tools, and a user message apart from the results in it', () => {
  const transcript = read(
    JSON.stringify({
      model: 'm',
      system: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
      tools: [
        { name: 'Read', description: 'reads', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [call('a'), call('b')] },
        { role: 'user', content: [result('b'), { type: 'text', text: 'hurry' }, result('a')] },
      ],
    }),
  )
  assert.equal(transcript.system, 'one\ntwo')
  assert.deepEqual(transcript.tools, [
    { name: 'Read', description: 'reads', input_schema: { type: 'object' } },
    { name: 'web_search' },
  ])
  assert.deepEqual(outline(transcript), [
    'prompt: go',
    'assistant: call a + call b',
    'import: result a ok',
    'import: result b ok',
    'prompt: hurry',
  ])
})

test('a bare list of messages; cache marks are of the request, not of the conversation', () => {
  const marked = { type: 'text', text: 'go', cache_control: { type: 'ephemeral' } }
  const transcript = read(JSON.stringify([{ role: 'user', content: [marked] }]))
  assert.deepEqual(transcript.messages[0]?.content, [{ type: 'text', text: 'go' }])
  assert.deepEqual(transcript.report.changes, [{ line: 1, kind: 'cache-mark-removed', detail: 'text' }])
})

const REQUESTS = {
  'request-32': [25, 11],
  'request-34': [27, 11],
  'request-57': [1, 0],
  'request-63': [5, 1],
} as const

for (const [name, [messages, calls]] of Object.entries(REQUESTS))
  testRecorded(`anthropic/${name}.json`, 'messages and calls', (raw) => {
    const transcript = read(raw)
    assert.equal(accountingProblem(transcript.report), undefined)
    assert.equal(transcript.messages.length, messages)
    assert.equal(callsOf(transcript).length, calls)
    assert.equal(resultsOf(transcript).length, calls)
    assert.equal(
      blocksOf(transcript).some((block) => 'cache_control' in block),
      false,
    )
    assert.ok(transcript.tools.length > 0)
  })
