import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Anthropic } from '@anthropic-ai/sdk'
import { LLMock } from '@copilotkit/aimock'
import { text } from '../../src/shared/session/content.ts'
import { anthropicModels } from '../../src/worker/index.ts'
import { requestBodyProblems } from '../support/anthropic/valid-request.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'
import { ofType } from '../support/whole-log.ts'

// The live client against a Messages API that is not ours, so that both ends of the wire were not written by the same people.

const mock = new LLMock({ port: 0 })
const problems: string[] = []
let real: RealSessions
before(async () => {
  await mock.start()
  const api = new Anthropic({
    apiKey: 'sk-ant-test',
    baseURL: mock.url,
    fetch: (url, init) => {
      if (typeof init?.body === 'string') problems.push(...requestBodyProblems(init.body))
      return fetch(url, init)
    },
  })
  const look = {
    name: 'look',
    description: 'Looks at a file.',
    input: { jsonSchema: { type: 'object', properties: { path: { type: 'string' } } } },
    run: async (input: unknown) => `seen: ${JSON.stringify(input)}`,
  }
  real = await openRealSessions({ anthropic: anthropicModels(api) }, [look])
})
after(async () => {
  await real.close()
  await mock.stop()
})

test('a session with reasoning, calls in parallel, an overloaded provider, a stream that breaks off, and a compaction', async () => {
  mock
    .onMessage(/summary/i, { content: 'Files were looked at, both are there. Next: go on.' })
    .on(
      { userMessage: 'Look at both.', hasToolResult: false },
      {
        content: 'I look.',
        reasoning: 'Two files.',
        reasoningSignature: 'sig-of-aimock',
        toolCalls: [
          { id: 'toolu_a', name: 'look', arguments: '{"path":"a.txt"}' },
          { id: 'toolu_b', name: 'look', arguments: '{"path":"b.txt"}' },
        ],
      },
    )
    .on(
      { userMessage: 'Look at both.', hasToolResult: true },
      { content: `Both are there. ${'word '.repeat(400)}` },
    )
    .on(
      { userMessage: 'Break off.', sequenceIndex: 0 },
      { content: 'never '.repeat(50) },
      { truncateAfterChunks: 3 },
    )
    .on({ userMessage: 'Break off.' }, { content: `Whole. ${'word '.repeat(400)}` })
    .onMessage('Go on.', { content: `Gladly. ${'word '.repeat(400)}` })
  const session = await real.start({ model: 'anthropic/claude-haiku-4-5' })
  const say = async (prompt: string) => (await session.prompt(prompt)).result({ timeoutMs: 120_000 })
  const looked = await say('Look at both.')
  assert.equal(looked.reason, 'completed')
  assert.match(JSON.stringify(looked.message), /Both are there/)
  mock.nextRequestError(529, { type: 'overloaded_error', message: 'Overloaded' })
  for (const prompt of ['Break off.', 'Go on.', 'Go on.'])
    assert.equal((await say(prompt)).reason, 'completed')
  await whenIdle(session)
  assert.notEqual(await session.compactNow(), null)
  assert.equal((await say('Go on.')).reason, 'completed')
  assert.deepEqual(problems, [])
  const events = await real.log(session)
  const [first] = ofType(events, 'assistant/message')
  assert.deepEqual(first?.data.content, [
    { type: 'thinking', thinking: 'Two files.', signature: 'sig-of-aimock' },
    text('I look.'),
    { type: 'tool_use', id: 'toolu_a', name: 'look', input: { path: 'a.txt' } },
    { type: 'tool_use', id: 'toolu_b', name: 'look', input: { path: 'b.txt' } },
  ])
  const results = ofType(events, 'tool/result').map(({ data }) => [data.callId, data.content[0]] as const)
  assert.deepEqual(
    new Map(results),
    new Map<string, unknown>([
      ['toolu_a', text('seen: {"path":"a.txt"}')],
      ['toolu_b', text('seen: {"path":"b.txt"}')],
    ]),
  )
  assert.doesNotMatch(JSON.stringify(events), /never never/)
  assert.match(JSON.stringify(ofType(events, 'compact/summary')), /both are there/)
})
