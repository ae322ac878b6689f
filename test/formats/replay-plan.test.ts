import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TranscriptError } from '../../src/formats/errors.ts'
import { planReplay, type ReplayPlan } from '../../src/formats/replay-plan.ts'
import { lines, read, testRecorded } from './recorded-files.ts'

const plan = (...list: [role: string, ...content: unknown[]][]): ReplayPlan =>
  planReplay(read(JSON.stringify(list.map(([role, ...content]) => ({ role, content })))))
const text = (value: string) => ({ type: 'text', text: value })
const call = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: {} })
const result = (id: string, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'ok',
  ...more,
})
const deliveries = ({ prompts }: ReplayPlan) =>
  prompts.map(
    ({ message, beforeReply, delivery }) =>
      `${beforeReply} ${delivery} ${String(message.content[0]?.['text'])}`,
  )

test('prompts start turns, wait for one, or join a running one, as they did when they were recorded', () => {
  const planned = plan(
    ['user', text('context')],
    ['user', text('go')],
    ['assistant', call('a')],
    ['user', result('a'), text('hurry')],
    ['user', text('really')],
    ['assistant', text('done')],
    ['user', text('next')],
    ['assistant', text('fine')],
  )
  assert.deepEqual(deliveries(planned), [
    '0 no-wake context',
    '0 next-turn go',
    '1 next-step hurry',
    '1 next-step really',
    '2 next-turn next',
  ])
  assert.deepEqual(
    planned.replies.map(({ stopReason }) => stopReason),
    ['tool_use', 'end_turn', 'end_turn'],
  )
  assert.equal(planned.ends, 'answered')
})

test('results by call id; a call that was never answered has none', () => {
  const planned = plan(
    ['user', text('go')],
    ['assistant', call('a'), call('b')],
    ['user', result('a', { is_error: true })],
    ['user', text('stop')],
    ['assistant', text('ok')],
  )
  assert.deepEqual([...planned.results], [['a', { content: [text('ok')], isError: true }]])
  assert.deepEqual(deliveries(planned), ['0 next-turn go', '1 next-step stop'])
})

test('tools stand under their recorded names and take any object', () => {
  const request = {
    system: 'sys',
    tools: [{ name: 'Read', description: 'reads', input_schema: { type: 'object', required: ['path'] } }],
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [call('a')] },
    ],
  }
  const planned = planReplay(read(JSON.stringify(request)))
  assert.equal(planned.system, 'sys')
  assert.deepEqual(planned.tools, [
    { name: 'Read', description: 'reads', input_schema: { type: 'object', required: ['path'] } },
    {
      name: 'Bash',
      description: '',
      input_schema: { type: 'object', properties: {}, additionalProperties: true },
    },
  ])
})

test('a record that ends inside a turn says so, and keeps the prompts that nothing answered', () => {
  assert.equal(plan(['user', text('go')], ['assistant', call('a')]).ends, 'open')
  assert.equal(plan(['user', text('go')], ['assistant', call('a')], ['user', result('a')]).ends, 'open')
  const planned = plan(
    ['user', text('go')],
    ['assistant', text('done')],
    ['user', text('one')],
    ['user', text('two')],
  )
  assert.equal(planned.ends, 'open')
  assert.deepEqual(deliveries(planned), ['0 next-turn go', '1 no-wake one', '1 next-turn two'])
})

test('a conversation that begins with a reply cannot be replayed', () => {
  assert.throws(
    () => plan(['assistant', text('hi')], ['user', text('go')]),
    (error: unknown) =>
      error instanceof TranscriptError && error.code === 'not-replayable' && /line 1/.test(error.message),
  )
})

const COUNTS: Record<string, [replies: number, results: number, ends: ReplayPlan['ends']]> = {
  'claude-code/auto-compaction.jsonl': [152, 186, 'answered'],
  'claude-code/manual-compaction.jsonl': [217, 242, 'answered'],
  'claude-code/never-compacted.jsonl': [91, 290, 'open'],
  'claude-code/broken-line.jsonl': [320, 295, 'open'],
  'claude-code/resumed-duplicates.jsonl': [56, 64, 'open'],
  'claude-code/japanese.jsonl': [10, 13, 'answered'],
  'pi/two-compactions.jsonl': [469, 448, 'open'],
  'mini-swe-agent/huge-tool-result.traj.json': [71, 71, 'open'],
  'swe-agent/marshmallow-1867.traj': [13, 13, 'open'],
  'dsh/overflow-recovery.session.jsonl': [2, 1, 'answered'],
}

for (const [path, [replies, results, ends]] of Object.entries(COUNTS))
  testRecorded(path, 'playing the plan gives every message back, in order', (raw) => {
    const transcript = read(raw)
    const planned = planReplay(transcript)
    assert.deepEqual([planned.replies.length, planned.results.size, planned.ends], [replies, results, ends])
    const played = play(planned)
    const recorded = transcript.messages.map(({ role, content }) => JSON.stringify({ role, content }))
    assert.equal(played.length, recorded.length)
    for (const [index, message] of recorded.entries())
      assert.ok(played[index] === message, `message ${index}`)
  })

/** The session that the plan is for, in its simplest form: it asks for a reply until one does not call. */
function play({ prompts, replies, results, ends }: ReplayPlan): string[] {
  const log: string[] = []
  const write = (role: string, content: unknown) => log.push(JSON.stringify({ role, content }))
  let next = 0
  const deliver = (replied: number, allowed: readonly string[]) => {
    for (; prompts[next]?.beforeReply === replied; next++) {
      const { message, delivery } = prompts[next] ?? assert.fail()
      assert.ok(allowed.includes(delivery), `${delivery} before reply ${replied}`)
      write('user', message.content)
    }
  }
  let running = false
  for (const [index, { content, stopReason }] of replies.entries()) {
    deliver(index, running ? ['next-step'] : ['no-wake', 'next-turn'])
    write('assistant', content)
    running = stopReason === 'tool_use'
    for (const block of [...content].filter(({ type }) => type === 'tool_use')) {
      const answer = results.get(String(block['id']))
      if (answer)
        write('user', [
          {
            type: 'tool_result',
            tool_use_id: block['id'],
            content: answer.content,
            ...(answer.isError ? { is_error: true } : {}),
          },
        ])
    }
  }
  deliver(replies.length, running ? ['next-step'] : ['no-wake', 'next-turn'])
  assert.equal(next, prompts.length)
  assert.equal(running || prompts.at(-1)?.beforeReply === replies.length, ends === 'open')
  return log
}

test('the plan of a sub-agent file stands on its own', () => {
  const side = { isSidechain: true, uuid: 'a', parentUuid: null }
  const planned = planReplay(
    read(lines({ ...side, type: 'user', message: { role: 'user', content: 'task' } })),
  )
  assert.deepEqual(deliveries(planned), ['0 next-turn task'])
})
