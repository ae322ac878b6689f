import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountingProblem } from '../../src/formats/transcript.ts'
import { callsOf, lines, outline, read, resultsOf, testRecorded } from './recorded-files.ts'

const header = { type: 'session', id: 's', timestamp: 't', cwd: '/' }
const entry = (message: object, fields: object = {}) => ({
  type: 'message',
  timestamp: 't',
  message,
  ...fields,
})
const user = (content: unknown, fields?: object) => entry({ role: 'user', content }, fields)
const assistant = (content: unknown[], stopReason: string, fields?: object) =>
  entry({ role: 'assistant', content, api: 'anthropic-messages', model: 'm', stopReason }, fields)
const text = (value: string) => ({ type: 'text', text: value })
const call = (id: string, more: object = {}) => ({
  type: 'toolCall',
  id,
  name: 'bash',
  arguments: { command: 'ls' },
  ...more,
})
const result = (id: string, fields?: object) =>
  entry(
    { role: 'toolResult', toolCallId: id, toolName: 'bash', content: [text('out')], isError: true },
    fields,
  )

test('aborted turns: what was said stays, cut calls stay unanswered, empty replies are reported', () => {
  const transcript = read(
    lines(
      header,
      user('go'),
      assistant([text('partly'), call('a', { partialJson: '{"comm' })], 'aborted'),
      user('again'),
      assistant([], 'aborted'),
      assistant([{ type: 'thinking', thinking: 'hm', thinkingSignature: '' }], 'aborted'),
      user('third'),
      assistant([{ type: 'thinking', thinking: 'yes', thinkingSignature: 'sig' }, call('b')], 'toolUse'),
      result('b'),
    ),
  )
  assert.deepEqual(outline(transcript), [
    'prompt: go',
    'assistant: partly + call a',
    'prompt: again',
    'prompt: third',
    'assistant: thinking + call b',
    'import: result b out',
  ])
  assert.deepEqual(transcript.report.unansweredCalls, [{ line: 3, callId: 'a', name: 'bash' }])
  assert.deepEqual(transcript.report.records['message/assistant']?.reasons, {
    'no content that a model can read': 2,
  })
  assert.deepEqual(transcript.messages[4]?.content[0], {
    type: 'thinking',
    thinking: 'yes',
    signature: 'sig',
  })
  assert.equal(transcript.messages[4]?.stopReason, 'toolUse')
  assert.equal(resultsOf(transcript)[0]?.is_error, true)
})

test('the path to the last entry counts, other branches are left out', () => {
  const at = (id: string, parentId: string | null) => ({ id, parentId })
  const transcript = read(
    lines(
      { ...header, version: 3 },
      user('first', at('1', null)),
      assistant([text('one')], 'stop', at('2', '1')),
      user('wrong way', at('3', '2')),
      assistant([text('lost')], 'stop', at('4', '3')),
      { type: 'branch_summary', summary: 'went astray', fromId: '4', ...at('5', '2') },
      user('right way', at('6', '5')),
      { type: 'label', targetId: '6', label: 'x', ...at('7', '6') },
    ),
  )
  assert.deepEqual(outline(transcript), [
    'prompt: first',
    'assistant: one',
    'context: went astray',
    'prompt: right way',
  ])
  assert.deepEqual(transcript.report.records['message/user']?.reasons, {
    'on a branch that the user left': 1,
  })
  assert.equal(transcript.messages[0]?.origin.id, '1')
})

test('a compaction keeps its tail where it stands', () => {
  const transcript = read(
    lines(
      header,
      user('old'),
      user('kept'),
      { type: 'compaction', summary: 'sum', tokensBefore: 7 },
      user('new'),
    ),
  )
  assert.deepEqual(outline(transcript), ['prompt: old', 'prompt: kept', 'prompt: new'])
  assert.deepEqual(transcript.report.compactions, [
    { line: 4, atMessage: 2, summary: 'sum', tokensBefore: 7 },
  ])
})

test('commands of the user are context, unless kept from the model; extension messages are context', () => {
  const command = { role: 'bashExecution', command: 'make', output: 'boom', exitCode: 2, cancelled: false }
  const transcript = read(
    lines(header, user('go'), entry(command), entry({ ...command, excludeFromContext: true }), {
      type: 'custom_message',
      customType: 'x',
      content: 'note',
      display: false,
    }),
  )
  assert.deepEqual(outline(transcript), [
    'prompt: go',
    'context: $ make\nboom\n(exit code 2)',
    'context: note',
  ])
  assert.equal(
    transcript.report.records['message/bashExecution']?.reasons['kept from the model by the user'],
    1,
  )
})

test('signatures of another API mean nothing here; images carry their data', () => {
  const thinking = { type: 'thinking', thinking: 'hm', thinkingSignature: '{"id":"rs"}' }
  const transcript = read(
    lines(
      header,
      user([{ type: 'image', data: 'QUJD', mimeType: 'image/png' }]),
      entry({ role: 'assistant', api: 'openai-responses', content: [thinking, text('hi')] }),
    ),
  )
  assert.deepEqual(transcript.messages[0]?.content, [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
  ])
  assert.deepEqual(transcript.messages[1]?.content, [text('hi')])
})

testRecorded('pi/two-compactions.jsonl', '454 calls, two compactions, 18 aborted turns', (raw) => {
  const transcript = read(raw)
  const { report, messages } = transcript
  assert.equal(accountingProblem(report), undefined)
  assert.equal(callsOf(transcript).length, 454)
  // Three entries with calls have no result: six calls in four replies.
  assert.equal(report.unansweredCalls.length, 6)
  assert.deepEqual([...new Set(report.unansweredCalls.map(({ line }) => line))], [374, 386, 628, 678])
  assert.equal(resultsOf(transcript).length, 448)
  assert.deepEqual(
    report.compactions.map(({ line, tokensBefore }) => ({ line, tokensBefore })),
    [
      { line: 360, tokensBefore: 175_004 },
      { line: 629, tokensBefore: 185_014 },
    ],
  )
  const aborted = messages.filter(({ stopReason }) => stopReason === 'aborted').length
  assert.equal(aborted, 4)
  // 12 aborted replies are empty, 2 hold only thinking that was cut before its signature, and one reply is an error.
  assert.equal(report.records['message/assistant']?.leftOut, 15)
  assert.equal(messages.length, 975)
})
