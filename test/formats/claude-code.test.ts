import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountingProblem } from '../../src/formats/transcript.ts'
import { lines, outline, read, resultsOf } from './recorded-files.ts'

let uuid = 0
type Fields = Record<string, unknown>

const record = (fields: Fields): Fields => ({
  uuid: `u${++uuid}`,
  parentUuid: null,
  isSidechain: false,
  ...fields,
})
const user = (content: unknown, fields: Fields = {}): Fields =>
  record({ type: 'user', message: { role: 'user', content }, ...fields })
const assistant = (id: string, block: Fields, fields: Fields = {}): Fields =>
  record({ type: 'assistant', message: { id, role: 'assistant', model: 'm', content: [block] }, ...fields })
const text = (value: string) => ({ type: 'text', text: value })
const call = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: { command: id } })
const result = (id: string, content: unknown = 'ok') => [{ type: 'tool_result', tool_use_id: id, content }]

/** Each record hangs on the one before it. */
const chain = (...records: Fields[]): Fields[] =>
  records.map((each, index) => ({ ...each, parentUuid: records[index - 1]?.['uuid'] ?? null }))

test('records of one message id are one reply, also with results between them', () => {
  const transcript = read(
    lines(
      ...chain(
        user('go'),
        assistant('m1', text('two calls')),
        assistant('m1', call('a')),
        user(result('a', 'A')),
        assistant('m1', call('b')),
        user(result('b', 'B')),
        assistant('m2', text('done')),
      ),
    ),
  )
  assert.deepEqual(outline(transcript), [
    'prompt: go',
    'assistant: two calls + call a + call b',
    'import: result a A',
    'import: result b B',
    'assistant: done',
  ])
  assert.equal(transcript.report.records['assistant']?.merged, 2)
  assert.deepEqual(transcript.report.changes, [])
})

test('parallel results that the parent chain leads past are there', () => {
  const prompt = user('go')
  const first = assistant('m1', call('a'), { parentUuid: prompt['uuid'] })
  const second = assistant('m1', call('b'), { parentUuid: first['uuid'] })
  const resultOfFirst = user(result('a'), { parentUuid: first['uuid'] })
  const note = user('note on a', { parentUuid: resultOfFirst['uuid'], isMeta: true })
  const resultOfSecond = user(result('b'), { parentUuid: second['uuid'] })
  const end = assistant('m2', text('done'), { parentUuid: resultOfSecond['uuid'] })
  const transcript = read(lines(prompt, first, second, resultOfFirst, note, resultOfSecond, end))
  assert.deepEqual(outline(transcript), [
    'prompt: go',
    'assistant: call a + call b',
    'import: result a ok',
    'import: result b ok',
    'context: note on a',
    'assistant: done',
  ])
  assert.deepEqual(
    transcript.report.changes.map(({ kind }) => kind),
    ['result-moved'],
  )
})

test('a branch that a rewind left is left out and counted', () => {
  const prompt = user('first')
  const reply = assistant('m1', text('one'), { parentUuid: prompt['uuid'] })
  const left = user('wrong way', { parentUuid: reply['uuid'] })
  const leftCall = assistant('m2', call('x'), { parentUuid: left['uuid'] })
  const leftResult = user(result('x'), { parentUuid: leftCall['uuid'] })
  const again = user('right way', { parentUuid: reply['uuid'] })
  const end = assistant('m3', text('two'), { parentUuid: again['uuid'] })
  const transcript = read(lines(prompt, reply, left, leftCall, leftResult, again, end))
  assert.deepEqual(outline(transcript), [
    'prompt: first',
    'assistant: one',
    'prompt: right way',
    'assistant: two',
  ])
  assert.deepEqual(transcript.report.records['user']?.reasons, { 'on a branch that the user left': 2 })
  assert.deepEqual(transcript.report.records['assistant']?.reasons, { 'on a branch that the user left': 1 })
})

test('history before a compaction hangs on the logical parent; boundary and summary are reported', () => {
  const before = chain(user('old'), assistant('m1', text('old reply')))
  const boundary = record({
    type: 'system',
    subtype: 'compact_boundary',
    logicalParentUuid: before[1]?.['uuid'],
    compactMetadata: { trigger: 'auto', preTokens: 1234 },
  })
  const summary = user('the summary', { parentUuid: boundary['uuid'], isCompactSummary: true })
  const next = user('new', { parentUuid: summary['uuid'] })
  const transcript = read(lines(...before, boundary, summary, next))
  assert.deepEqual(outline(transcript), ['prompt: old', 'assistant: old reply', 'prompt: new'])
  assert.deepEqual(transcript.report.compactions, [
    { line: 3, atMessage: 2, tokensBefore: 1234, summary: 'the summary' },
  ])
})

test('the logical parent decides what a compaction hangs on, not the record before it', () => {
  const before = chain(user('old'), assistant('m1', text('old reply')))
  const left = user('wrong way', { parentUuid: before[1]?.['uuid'] })
  const logicalParentUuid = before[1]?.['uuid']
  const boundary = record({ type: 'system', subtype: 'compact_boundary', logicalParentUuid })
  const transcript = read(lines(...before, left, boundary, user('new', { parentUuid: boundary['uuid'] })))
  assert.deepEqual(outline(transcript), ['prompt: old', 'assistant: old reply', 'prompt: new'])
})

test('a summary without a boundary is a compaction too', () => {
  const summary = (value: string) => user(value, { isCompactSummary: true })
  const transcript = read(lines(...chain(summary('one'), user('go on'), summary('two'))))
  assert.deepEqual(outline(transcript), ['prompt: go on'])
  assert.deepEqual(transcript.report.compactions, [
    { line: 1, atMessage: 0, summary: 'one' },
    { line: 3, atMessage: 1, summary: 'two' },
  ])
})

test('side chains are left out, one entry each', () => {
  const prompt = user('go')
  const agent = (id: string, ...records: Fields[]) =>
    records.map((each) => ({ ...each, isSidechain: true, agentId: id }))
  const unnamed = chain(user('task 1'), assistant('s1', text('answer 1'))).map((each) => ({
    ...each,
    isSidechain: true,
  }))
  const named = agent('x', user('task 2'), user('task 2, more'))
  const transcript = read(
    lines(prompt, ...unnamed, ...named, assistant('m1', text('done'), { parentUuid: prompt['uuid'] })),
  )
  assert.deepEqual(outline(transcript), ['prompt: go', 'assistant: done'])
  assert.deepEqual(transcript.report.sideChains, [
    { line: 2, records: 2 },
    { line: 4, records: 2, agentId: 'x' },
  ])
})

test('the file of one sub-agent is a conversation', () => {
  const all = chain(user('task'), assistant('s1', text('answer'))).map((each) => ({
    ...each,
    isSidechain: true,
  }))
  const transcript = read(lines(...all))
  assert.deepEqual(outline(transcript), ['prompt: task', 'assistant: answer'])
  assert.deepEqual(transcript.report.sideChains, [])
})

test('a resumed session that repeats its records is read once', () => {
  const at = (second: number) => ({ timestamp: `2026-01-01T00:00:0${second}.000Z` })
  const first = chain(
    user([text('<ide_opened_file>a</ide_opened_file>'), text('go')], at(0)),
    assistant('m1', call('a'), at(1)),
    user(result('a'), at(2)),
    user('yes', at(3)),
    user('yes', at(4)),
  )
  const copy = chain(
    user([text('<ide_opened_file>a</ide_opened_file>')], at(0)),
    user([text('go')], at(0)),
    assistant('m1', call('a'), at(1)),
    user(result('a'), at(2)),
    user('yes', at(3)),
    user('yes', at(4)),
    user('something new', at(5)),
  )
  const transcript = read(lines(...first, ...copy))
  assert.deepEqual(outline(transcript), [
    'prompt: <ide_opened_file>a</ide_opened_file> + go',
    'assistant: call a',
    'import: result a ok',
    'prompt: yes',
    'prompt: yes',
    'prompt: something new',
  ])
  assert.equal(transcript.report.duplicateMessages, 6)
})

test('a broken line is reported with its number and the chain goes on behind it', () => {
  const all = chain(user('go'), assistant('m1', call('a')), user(result('a')), assistant('m2', text('done')))
  const text3 = JSON.stringify(all[2]).replace('"ok"', '"\\q"')
  const transcript = read([lines(all[0], all[1]), text3, lines(all[3])].join('\n'))
  assert.deepEqual(outline(transcript), ['prompt: go', 'assistant: call a', 'assistant: done'])
  assert.equal(transcript.report.brokenLines[0]?.line, 3)
  assert.deepEqual(transcript.report.unansweredCalls, [{ line: 2, callId: 'a', name: 'Bash' }])
  assert.deepEqual(transcript.report.records['(broken line)']?.leftOut, 1)
})

test('text that a harness put in is context, a slash command with arguments is a prompt', () => {
  const transcript = read(
    lines(
      ...chain(
        user('<system-reminder>be brief</system-reminder>'),
        user('skill body', { isMeta: true }),
        user('<command-name>/clear</command-name> <command-args></command-args>'),
        user('<local-command-stdout>ok</local-command-stdout>'),
        user([text('[Request interrupted by user]')]),
        user('<command-message>x</command-message><command-args>fix it</command-args>'),
        user([text('<ide_opened_file>f</ide_opened_file>'), text('commit')]),
        user([text('<ide_opened_file>f</ide_opened_file>'), { type: 'image', source: {} }]),
      ),
    ),
  )
  const sources = transcript.messages.map(({ source }) => source)
  assert.deepEqual(sources, [
    'context',
    'context',
    'context',
    'context',
    'context',
    'prompt',
    'prompt',
    'prompt',
  ])
})

test('what the model never saw is left out with its reason', () => {
  const transcript = read(
    lines(
      ...chain(
        user('go'),
        assistant('e', text('Out of credit'), { isApiErrorMessage: true }),
        user('for the screen', { isVisibleInTranscriptOnly: true }),
        record({ type: 'attachment', attachment: { type: 'todo_reminder', content: [] } }),
        record({ type: 'system', subtype: 'turn_duration', durationMs: 1 }),
      ),
      { type: 'progress', uuid: 'p', data: {} },
    ),
  )
  assert.deepEqual(outline(transcript), ['prompt: go'])
  assert.equal(transcript.report.lines, 6)
  assert.equal(accountingProblem(transcript.report), undefined)
  assert.equal(Object.values(transcript.report.records).filter(({ leftOut }) => leftOut === 1).length, 5)
})

test('prompts queued inside a turn are taken from the attachment, or from the queue when nothing else holds them', () => {
  const queue = (operation: string, content?: string) => ({
    type: 'queue-operation',
    operation,
    content,
    sessionId: 's',
  })
  const all = chain(
    user('go'),
    assistant('m1', call('a')),
    record({
      type: 'attachment',
      attachment: { type: 'queued_command', prompt: 'also this', commandMode: 'prompt' },
    }),
    user(result('a')),
    assistant('m2', text('done')),
    user('next'),
  )
  const transcript = read(
    lines(
      queue('enqueue', 'also this'),
      queue('remove'),
      ...all.slice(0, 2),
      queue('enqueue', 'taken back'),
      queue('popAll'),
      queue('enqueue', 'and that'),
      queue('enqueue', 'next'),
      queue('remove'),
      queue('remove'),
      ...all.slice(2),
    ),
  )
  assert.deepEqual(outline(transcript), [
    'prompt: go',
    'assistant: call a',
    'import: result a ok',
    'prompt: and that',
    'prompt: also this',
    'assistant: done',
    'prompt: next',
  ])
})

test('blocks stay as they are: signatures, images in results, unknown types', () => {
  const thinking = { type: 'thinking', thinking: 'hm', signature: 'sig' }
  const redacted = { type: 'redacted_thinking', data: 'x' }
  const unknown = { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } }
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
  const transcript = read(
    lines(
      ...chain(
        user('go'),
        assistant('m1', thinking),
        assistant('m1', redacted),
        assistant('m1', unknown),
        assistant('m1', call('a')),
        user([{ type: 'tool_result', tool_use_id: 'a', content: [text('shot'), image], is_error: true }]),
        assistant('m2', { type: 'thinking', thinking: 'cut off', signature: '' }),
      ),
    ),
  )
  assert.deepEqual(transcript.messages[1]?.content, [thinking, redacted, unknown, call('a')])
  assert.deepEqual(resultsOf(transcript), [
    { type: 'tool_result', tool_use_id: 'a', content: [text('shot'), image], is_error: true },
  ])
  assert.deepEqual(transcript.report.changes, [
    { line: 7, kind: 'block-left-out', detail: 'thinking: without a signature no model accepts it' },
  ])
})

test('usage, model and stop reason are kept for information', () => {
  const message = {
    id: 'm',
    model: 'claude',
    content: [text('hi')],
    stop_reason: 'end_turn',
    usage: { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 5 },
  }
  const transcript = read(lines(...chain(user('go'), record({ type: 'assistant', message }))))
  const { model, stopReason, usage, origin } = transcript.messages[1] ?? assert.fail()
  assert.deepEqual(
    { model, stopReason, usage, line: origin.line },
    {
      model: 'claude',
      stopReason: 'end_turn',
      usage: { inputTokens: 3, outputTokens: 4, cacheReadTokens: 5, cacheWriteTokens: 0 },
      line: 2,
    },
  )
})
