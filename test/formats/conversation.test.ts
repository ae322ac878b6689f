import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountingProblem } from '../../src/formats/transcript.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { callsOf, outline, read } from './recorded-files.ts'

/** A plain list of messages: what all formats have in common after their own traps. */
const messages = (...list: [role: string, ...content: unknown[]][]) =>
  read(JSON.stringify(list.map(([role, ...content]) => ({ role, content }))))
const text = (value: string) => ({ type: 'text', text: value })
const call = (id: string, more: object = {}) => ({ type: 'tool_use', id, name: 'Bash', input: {}, ...more })
const result = (id: string, content = 'ok') => ({ type: 'tool_result', tool_use_id: id, content })
const changes = ({ report }: ReturnType<typeof read>) =>
  report.changes.map(({ line, kind, detail }) => `${line} ${kind}: ${detail}`)

test('replies without calls that follow each other are one message, reported', () => {
  const transcript = messages(
    ['user', text('go')],
    ['assistant', text('a')],
    ['assistant', text('b')],
    ['assistant', call('c')],
    ['assistant', text('d')],
  )
  assert.deepEqual(outline(transcript), ['prompt: go', 'assistant: a + b + call c', 'assistant: d'])
  assert.deepEqual(transcript.report.records['assistant'], {
    taken: 2,
    merged: 2,
    leftOut: 0,
    reasons: { 'a reply that follows one without calls, no user between': 2 },
  })
  assert.deepEqual(changes(transcript), [
    '3 replies-merged: with the reply of line 2, which has no calls',
    '4 replies-merged: with the reply of line 2, which has no calls',
  ])
})

test('a late result stands behind its reply, and the move is reported', () => {
  const transcript = messages(
    ['user', text('go')],
    ['assistant', call('a')],
    ['user', text('wait')],
    ['assistant', text('hm')],
    ['user', result('a')],
  )
  assert.deepEqual(outline(transcript), [
    'prompt: go',
    'assistant: call a',
    'import: result a ok',
    'prompt: wait',
    'assistant: hm',
  ])
  assert.deepEqual(changes(transcript), ['5 result-moved: the result of a, up to its reply of line 2'])
})

test('call ids that come again get a suffix, and each result finds its call', () => {
  const transcript = messages(
    ['user', text('go')],
    ['assistant', call('a'), call('a-2')],
    ['user', result('a', '1'), result('a-2', '2')],
    ['assistant', call('a')],
    ['user', text('cancelled')],
    ['assistant', call('a'), call('a')],
    ['user', result('a', '4'), result('a', '5')],
  )
  assert.deepEqual(outline(transcript), [
    'prompt: go',
    'assistant: call a + call a-2',
    'import: result a 1',
    'import: result a-2 2',
    'assistant: call a-3',
    'prompt: cancelled',
    'assistant: call a-4 + call a-5',
    'import: result a-4 4',
    'import: result a-5 5',
  ])
  assert.deepEqual(transcript.report.unansweredCalls, [{ line: 4, callId: 'a-3', name: 'Bash' }])
})

test('a result without its call, a second result, and a repeated result are left out with their reason', () => {
  const transcript = messages(
    ['user', result('x')],
    ['user', text('go')],
    ['assistant', call('a')],
    ['user', result('a')],
    ['user', result('a', 'other')],
    ['user', result('a')],
  )
  assert.deepEqual(outline(transcript), ['prompt: go', 'assistant: call a', 'import: result a ok'])
  assert.deepEqual(transcript.report.records['user'], {
    taken: 2,
    merged: 1,
    leftOut: 2,
    reasons: {
      'a result without its call': 1,
      'a second result of a call that has one': 1,
      'repeats a record that was taken before': 1,
    },
  })
  assert.equal(transcript.report.duplicateMessages, 1)
  assert.equal(accountingProblem(transcript.report), undefined)
})

test('ids, names and inputs are made so that an API takes them', () => {
  const transcript = messages(
    ['user', text('go')],
    [
      'assistant',
      call('call_1|fc_2', { name: 'functions.run' }),
      { type: 'tool_use', name: '', input: 'ls' },
    ],
    ['user', result('call_1|fc_2')],
  )
  assert.deepEqual(
    callsOf(transcript).map(({ id, name, input }) => ({ id, name, input })),
    [
      { id: 'call_1_fc_2', name: 'functions_run', input: {} },
      { id: 'call', name: 'unnamed', input: { input: 'ls' } },
    ],
  )
  assert.deepEqual(outline(transcript)[2], 'import: result call_1_fc_2 ok')
  assert.deepEqual(transcript.tools, [{ name: 'functions_run' }, { name: 'unnamed' }])
  assert.equal(transcript.report.changes.length, 5)
})

test('a message of empty blocks only is left out, an empty block is reported', () => {
  const transcript = messages(
    ['user', text(''), text('go')],
    ['assistant', text('')],
    ['user', 7, { text: 'no type' }],
  )
  assert.deepEqual(outline(transcript), ['prompt: go'])
  assert.deepEqual(changes(transcript), [
    '1 block-left-out: text: empty',
    '2 block-left-out: text: empty',
    '3 block-left-out: no block: it has no type',
    '3 block-left-out: no block: it has no type',
  ])
  assert.equal(transcript.report.records['assistant']?.leftOut, 1)
})

test('long conversations and messages of many blocks are read in linear time', () => {
  const startedAt = cpuMs()
  const blocks = Array.from({ length: 100_000 }, (_, n) => call('same', { input: { n } }))
  const transcript = messages(
    ['user', text('go')],
    ['assistant', ...blocks],
    ['user', ...blocks.map(() => result('gone'))],
  )
  assert.equal(callsOf(transcript).length, 100_000)
  const replies = Array.from({ length: 100_000 }, (): [string, unknown] => ['assistant', text('x')])
  assert.equal(messages(['user', text('go')], ...replies).messages.length, 2)
  assert.ok(cpuMs() - startedAt < 15_000)
})
