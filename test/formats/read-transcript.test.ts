import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detectFormat } from '../../src/formats/detect-format.ts'
import { TranscriptError } from '../../src/formats/errors.ts'
import { readTranscript } from '../../src/formats/read-transcript.ts'
import type { TranscriptFormat } from '../../src/formats/transcript.ts'
import { lines, outline, read, testRecorded } from './recorded-files.ts'

const claude = { type: 'user', uuid: 'u', parentUuid: null, message: { role: 'user', content: 'hi' } }

test('formats are told apart by their content', () => {
  const samples: [TranscriptFormat, string][] = [
    ['claude-code', lines(claude)],
    ['claude-code', lines({ type: 'summary', summary: 's', leafUuid: 'l' })],
    ['claude-code', lines({ type: 'file-history-snapshot', messageId: 'm', snapshot: {} })],
    ['codex', lines({ type: 'session_meta', payload: {} })],
    ['pi', lines({ type: 'session', id: 'i', timestamp: 't' })],
    ['pi', lines({ type: 'message', message: { role: 'user', content: 'hi' } })],
    ['dsh', lines({ type: 'session', id: 'i', createdAt: 0 })],
    ['dsh', lines({ type: 'turn/start', data: {} })],
    [
      'mini-swe-agent',
      JSON.stringify({ trajectory_format: 'mini-swe-agent-1.1', messages: [{ role: 'system' }] }),
    ],
    [
      'mini-swe-agent',
      JSON.stringify({ info: { mini_version: '1' }, messages: [{ role: 'user', content: 'a' }] }),
    ],
    ['swe-agent', JSON.stringify({ trajectory: [], history: [] }, null, 2)],
    ['anthropic', JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] }, null, 2)],
    ['anthropic', JSON.stringify([{ role: 'user', content: 'hi' }])],
  ]
  for (const [format, text] of samples) assert.equal(detectFormat(text), format, text)
})

test('broken first lines, comments and blank lines hide no format', () => {
  assert.equal(detectFormat(`\n// a comment\n{"type": broken\n${lines(claude)}`), 'claude-code')
})

test('the file name decides only where the content says nothing', () => {
  assert.equal(detectFormat('{"a":1}', '/x/rollout-2026-01-01-a.jsonl'), 'codex')
  assert.equal(detectFormat('{"a":1}', 'x\\y.traj.json'), 'mini-swe-agent')
  assert.equal(detectFormat('{"a":1}', 'y.traj'), 'swe-agent')
  assert.equal(detectFormat('{"a":1}', 'y.session.jsonl'), 'dsh')
  assert.equal(detectFormat('{"a":1}', 'y.jsonl'), null)
  assert.equal(detectFormat(lines(claude), 'y.traj'), 'claude-code')
})

test('other texts are no transcript', () => {
  const others = [
    '',
    'plain text',
    '[]',
    '{}',
    '42',
    'null',
    '{"messages":[]}',
    '{"messages":[{"role":"system","content":"x"}]}',
  ]
  for (const text of others) assert.equal(detectFormat(text), null, text)
})

const failure = (text: string, options?: Parameters<typeof readTranscript>[1]): TranscriptError => {
  try {
    readTranscript(text, options)
  } catch (error) {
    if (error instanceof TranscriptError) return error
    throw error
  }
  return assert.fail('no error')
}

test('an empty text, a cut document, another text, a text without a message: one clear error each', () => {
  const document = JSON.stringify({ messages: [{ role: 'user', content: 'a long text' }] }, null, 2)
  const cases: [string, string, RegExp, Parameters<typeof readTranscript>[1]?][] = [
    ['', 'empty', /^transcript is empty: a recorded session is needed$/],
    [' \n\t\n', 'empty', /empty/],
    [
      document.slice(0, -20),
      'cut',
      /^x.json is no complete JSON document \(.+\): record or copy it again$/,
      { fileName: 'x.json' },
    ],
    [document.slice(0, -20), 'cut', /no complete JSON/, { format: 'anthropic' }],
    [lines(claude).slice(0, -10), 'cut', /no complete JSON/],
    ['Dear diary', 'unknown-format', /begins "Dear diary": the known formats are claude-code, codex, pi, /],
    ['{"a":1}', 'unknown-format', /no known transcript/],
    [
      lines({ type: 'progress', uuid: 'p' }),
      'no-messages',
      /holds no message as claude-code, got 1 records \(progress\)/,
    ],
    [
      `${lines({ type: 'summary', leafUuid: 'l' })}\n${lines(claude).slice(0, -9)}`,
      'no-messages',
      /2 records \(summary, \(broken line\)\)/,
    ],
    [lines(claude), 'no-messages', /as codex/, { format: 'codex' }],
    ['[{"role":"user","content":""}]', 'no-messages', /as anthropic/],
    [
      lines(claude),
      'unknown-format',
      /transcript format "html" is not known/,
      { format: 'html' as TranscriptFormat },
    ],
  ]
  for (const [text, code, message, options] of cases) {
    const error = failure(text, options)
    assert.equal(error.code, code, error.message)
    assert.match(error.message, message)
  }
})

test('a line format that ends inside a line is read up to there, and says so', () => {
  const transcript = read(`${lines(claude)}\n${lines({ ...claude, uuid: 'v' }).slice(0, 40)}`)
  assert.deepEqual(outline(transcript), ['prompt: hi'])
  assert.match(transcript.report.brokenLines[0]?.problem ?? '', /^the file ends inside this line \(/)
  assert.equal(transcript.report.lines, 2)
})

test('byte order mark, CRLF and values that are no objects', () => {
  const transcript = read(`\uFEFF${lines(claude)}\r\n42\r\n"text"\r\n`)
  assert.deepEqual(outline(transcript), ['prompt: hi'])
  assert.deepEqual(transcript.report.brokenLines, [
    { line: 2, problem: 'JSON, but not an object' },
    { line: 3, problem: 'JSON, but not an object' },
  ])
  assert.deepEqual(outline(read('\uFEFF[{"role":"user","content":"hi"}]')), ['prompt: hi'])
})

test('strings stay as they are, apart from lone surrogates', () => {
  const content = 'tab\t nul\u0000 e\u0301 \u{1F600} \uFFFD \u2028'
  const raw = JSON.stringify([{ role: 'user', content: [{ type: 'text', text: content }] }])
  assert.equal(read(raw).messages[0]?.content[0]?.['text'], content)
  const lone =
    '[{"role":"user","content":[{"type":"text","text":"a\\ud800b \\udc00"},{"type":"x","\\ud801":{"__proto__":"\\udfff"}}]}]'
  const blocks = read(lone).messages[0]?.content
  assert.equal(
    JSON.stringify(blocks),
    '[{"type":"text","text":"a\uFFFDb \uFFFD"},{"type":"x","\uFFFD":{"__proto__":"\uFFFD"}}]',
  )
})

test('a value nested too deep is a broken line, not a crash', () => {
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  const transcript = read(`${lines(claude)}\n{"type":"user","uuid":"v","message":${deep}}`)
  assert.match(transcript.report.brokenLines[0]?.problem ?? '', /nested deeper than 500 levels/)
})

test('a record type can have any name', () => {
  const transcript = read(lines(claude, { type: '__proto__', uuid: 'a' }, { type: 'constructor', uuid: 'b' }))
  assert.deepEqual(Object.keys(transcript.report.records), ['user', '__proto__', 'constructor'])
})

testRecorded('anthropic/response-34-summary.txt', 'an answer alone is no transcript', (raw) => {
  assert.equal(failure(raw).code, 'unknown-format')
})
