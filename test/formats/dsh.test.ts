import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountingProblem } from '../../src/formats/transcript.ts'
import { lines, outline, read, testRecorded } from './recorded-files.ts'

const header = { type: 'session', version: 0, id: 's', createdAt: 0, cwd: '/' }
const event = (type: string, data: object, fields: object = { surfaceOp: 'append' }) => ({
  type,
  data,
  ...fields,
})
const user = (value: string, kind = 'user') =>
  event('user/message', { content: [{ type: 'text', text: value }], source: { kind } })
const call = (id: string) => ({ type: 'tool-call', id, name: 'bash', arguments: '{"command":"ls"}' })
const result = (id: string) => ({
  type: 'tool-result',
  toolCallId: id,
  content: [{ type: 'text', text: 'out' }],
})

test('message events are the conversation, replacements are reported, what they replace stays', () => {
  const replace = { surfaceOp: { op: 'replace', start: 1, end: 1 } }
  const transcript = read(
    lines(
      header,
      user('go'),
      user('runtime notes', 'plugin'),
      event('assistant/message', {
        message: { content: [{ type: 'reasoning', text: 'hm' }, call('a')], source: { model: 'm' } },
      }),
      event('tool/call', { callId: 'a' }, {}),
      event('tool/result', { message: { content: [result('a')] } }),
      event('compaction/start', { compactionId: 'c' }, {}),
      event('compaction/summary', { summary: [{ type: 'text', text: 'sum' }] }, {}),
      event(
        'user/message',
        { content: [{ type: 'text', text: 'checkpoint' }], source: { kind: 'plugin' } },
        replace,
      ),
      event('compaction/end', { compactionId: 'c' }, {}),
      event('assistant/message', {
        message: { content: [{ type: 'text', text: 'done' }] },
        usage: { inputTokens: 2, outputTokens: 1 },
      }),
    ),
  )
  assert.deepEqual(outline(transcript), [
    'prompt: go',
    'context: runtime notes',
    'assistant: call a',
    'import: result a out',
    'assistant: done',
  ])
  assert.deepEqual(transcript.report.compactions, [{ line: 7, atMessage: 4, summary: 'sum' }])
  assert.deepEqual(transcript.report.records['user/message'], {
    taken: 2,
    merged: 0,
    leftOut: 1,
    reasons: { 'replaces recorded messages, which stay': 1 },
  })
  assert.equal(transcript.messages[2]?.model, 'm')
  assert.equal(transcript.messages[4]?.usage?.inputTokens, 2)
})

test('results and replies of the earlier form, without a message of their own', () => {
  const transcript = read(
    lines(
      header,
      user('go'),
      event('assistant/message', { content: [call('a')] }),
      event('tool/result', { callId: 'a', content: [{ type: 'text', text: 'denied' }], isError: true }),
    ),
  )
  assert.deepEqual(outline(transcript), ['prompt: go', 'assistant: call a', 'import: result a denied'])
  assert.equal(transcript.messages[2]?.content[0]?.['is_error'], true)
})

test('images that are stored elsewhere are reported', () => {
  const image = { type: 'image', attachment: { id: 'x' } }
  const data = { content: [{ type: 'text', text: 'see' }, image], source: { kind: 'user' } }
  const transcript = read(lines(header, event('user/message', data)))
  assert.deepEqual(outline(transcript), ['prompt: see'])
  assert.deepEqual(transcript.report.changes, [
    { line: 2, kind: 'block-left-out', detail: 'image: stored outside the file' },
  ])
})

testRecorded('dsh/overflow-recovery.session.jsonl', 'overflow, compaction, retry', (raw) => {
  const transcript = read(raw)
  assert.equal(accountingProblem(transcript.report), undefined)
  assert.equal(transcript.format, 'dsh')
  assert.equal(transcript.report.lines, 32)
  assert.deepEqual(
    outline(transcript).map((line) => line.slice(0, 44)),
    [
      'prompt: Establish a durable compaction premi',
      'assistant: call call_compaction_marker',
      'import: result call_compaction_marker alpha\n',
      'assistant: COMPACTION RECOVERED',
    ],
  )
  assert.deepEqual(
    transcript.report.compactions.map(({ line, atMessage, summary }) => [line, atMessage, summary]),
    [[21, 3, 'The request established a durable compaction premise.']],
  )
  assert.equal(transcript.tools.find(({ name }) => name === 'bash')?.input_schema?.['type'], 'object')
  assert.match(transcript.system ?? '', /^You are an AI agent/)
})
