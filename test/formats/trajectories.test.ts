import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shellActions } from '../../src/formats/shell-actions.ts'
import { accountingProblem } from '../../src/formats/transcript.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { blocksOf, callsOf, outline, read, resultsOf, testRecorded } from './recorded-files.ts'

const mini = (...messages: object[]) =>
  JSON.stringify({ trajectory_format: 'mini-swe-agent-1', info: {}, messages })
const swe = (...history: object[]) => JSON.stringify({ trajectory: [], history, info: {} })
const says = (role: string, content: unknown, more: object = {}) => ({ role, content, ...more })

test('mini-swe-agent: an action and the observation behind it are a call and its result', () => {
  const reply = 'THOUGHT: look\n\n```bash\nls -a\n```'
  const transcript = read(
    mini(
      says('system', 'you are a shell'),
      says('user', 'task'),
      says('assistant', reply),
      says('user', '<returncode>0</returncode>'),
      says('assistant', 'no action'),
    ),
  )
  assert.equal(transcript.system, 'you are a shell')
  assert.deepEqual(transcript.messages[1]?.content, [
    { type: 'text', text: reply },
    { type: 'tool_use', id: 'call_3', name: 'bash', input: { command: 'ls -a' } },
  ])
  assert.deepEqual(outline(transcript).slice(2), [
    'import: result call_3 <returncode>0</returncode>',
    'assistant: no action',
  ])
})

test('mini-swe-agent: a reply that was refused for its form is a failed call', () => {
  const two = 'a\n```bash\none\n```\nb\n```bash\ntwo\n```'
  const transcript = read(
    mini(says('user', 'task'), says('assistant', two), says('user', 'EXACTLY ONE'), says('assistant', 'ok')),
  )
  assert.deepEqual(callsOf(transcript)[0]?.input, { commands: ['one', 'two'] })
  assert.equal(resultsOf(transcript)[0]?.is_error, true)
})

test('mini-swe-agent 2: calls of an API, results with role tool, the exit note left out', () => {
  const call = (id: string) => ({ id, function: { name: 'bash', arguments: '{"command":"ls"}' } })
  const transcript = read(
    mini(
      says('user', 'task'),
      says('assistant', null, { tool_calls: [call('a'), call('b')] }),
      says('tool', 'A', { tool_call_id: 'a' }),
      says('tool', 'B', { tool_call_id: 'b' }),
      says('exit', 'patch'),
    ),
  )
  assert.deepEqual(outline(transcript), [
    'prompt: task',
    'assistant: call a + call b',
    'import: result a A',
    'import: result b B',
  ])
  assert.equal(transcript.report.records['exit']?.leftOut, 1)
})

test('shell actions are found in linear time', () => {
  assert.deepEqual(shellActions('```bash \nls\n```'), ['ls'])
  assert.deepEqual(shellActions('```bash\n```'), [])
  assert.deepEqual(shellActions('```bash x\nls\n```'), [])
  assert.deepEqual(shellActions('```python\n1\n```\n```mswea_bash_command\na\nb\n```'), ['a\nb'])
  assert.deepEqual(shellActions('```bash\nunclosed'), [])
  const startedAt = cpuMs()
  shellActions('```bash\n'.repeat(100_000))
  shellActions(`\`\`\`bash${'\n'.repeat(400_000)}`)
  shellActions(`${'```bash '.repeat(100_000)}\n`)
  assert.ok(cpuMs() - startedAt < 4_000)
})

test('SWE-agent: actions in the text, and messages of another agent are a side chain', () => {
  const main = { agent: 'main' }
  const transcript = read(
    swe(
      says('system', 'sys', main),
      says('user', 'issue', main),
      says('assistant', 'look', { ...main, action: 'ls\n' }),
      says('user', 'files', main),
      says('assistant', 'by the way', { agent: 'other' }),
      says('assistant', 'done', { ...main, action: 'submit' }),
    ),
  )
  assert.deepEqual(outline(transcript), [
    'prompt: issue',
    'assistant: look + call call_3',
    'import: result call_3 files',
    'assistant: done + call call_6',
  ])
  assert.deepEqual(transcript.report.sideChains, [{ line: 5, records: 1, agentId: 'other' }])
  assert.deepEqual(
    callsOf(transcript).map(({ input }) => input),
    [{ command: 'ls' }, { command: 'submit' }],
  )
})

testRecorded(
  'mini-swe-agent/huge-tool-result.traj.json',
  '71 calls and results, one of 868 KB, verbatim',
  (raw) => {
    const transcript = read(raw)
    assert.equal(accountingProblem(transcript.report), undefined)
    assert.equal(callsOf(transcript).length, 71)
    assert.equal(resultsOf(transcript).length, 71)
    const recorded = (JSON.parse(raw) as { messages: { role: string; content: string }[] }).messages
    const texts = blocksOf(transcript).flatMap((block) => {
      const inner = block.type === 'tool_result' ? (block['content'] as { text: string }[]) : [block]
      return inner.filter((each) => 'text' in each).map(({ text }) => text)
    })
    assert.deepEqual(
      [transcript.system, ...texts],
      recorded.map(({ content }) => content),
    )
    assert.equal(Math.max(...texts.map((each) => String(each).length)), 868_162)
    assert.deepEqual(resultsOf(transcript).filter(({ is_error }) => is_error).length, 2)
    assert.equal(transcript.messages[1]?.usage?.outputTokens, 171)
  },
)

testRecorded('swe-agent/marshmallow-1867.traj', '13 calls; ids that come again are made unique', (raw) => {
  const transcript = read(raw)
  assert.equal(accountingProblem(transcript.report), undefined)
  const ids = callsOf(transcript).map(({ id }) => id)
  assert.equal(ids.length, 13)
  assert.equal(new Set(ids).size, 13)
  assert.deepEqual(
    resultsOf(transcript).map(({ tool_use_id }) => tool_use_id),
    ids,
  )
  assert.deepEqual(
    transcript.report.changes.map(({ kind, detail }) => `${kind} ${detail}`),
    [
      'call-renamed call_5iDdbOYybq7L19vqXmR0DPaU -> call_5iDdbOYybq7L19vqXmR0DPaU-2',
      'call-renamed call_ahToD2vM0aQWJPkRmy5cumru -> call_ahToD2vM0aQWJPkRmy5cumru-2',
      'call-renamed call_5iDdbOYybq7L19vqXmR0DPaU -> call_5iDdbOYybq7L19vqXmR0DPaU-3',
      'call-renamed call_5iDdbOYybq7L19vqXmR0DPaU -> call_5iDdbOYybq7L19vqXmR0DPaU-4',
    ],
  )
})
