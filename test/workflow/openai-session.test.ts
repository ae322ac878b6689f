import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { COMPACT_CHECKPOINT_SOURCE } from '../../src/shared/checkpoint-source.ts'
import { openaiModels } from '../../src/worker/index.ts'
import { type ChatBody, type ChatServer, openChatServer, says, speaks } from '../support/chat-server.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'
import { assertWhole, ofType } from '../support/whole-log.ts'

// A session and its summaries with a local server of chat completions and nothing fake: real workflows, real store, real HTTP, the official SDK.

let server: ChatServer
let real: RealSessions
before(async () => {
  server = await openChatServer()
  server.models = [{ id: 'local-1', max_model_len: 32_768 }]
  server.answer = (body, response) => answerTo(body)(body, response)
  const count = {
    name: 'count',
    description: 'Counts.',
    input: { jsonSchema: { type: 'object', properties: { what: { type: 'string' } } } },
    run: async ({ what }: Readonly<Record<string, unknown>>) => `${what}: ${'one '.repeat(600)}`,
  }
  real = await openRealSessions({ local: openaiModels(server.api) }, [count])
})
after(async () => {
  await real.close()
  await server.close()
})

const isSummary = ({ messages }: ChatBody) =>
  String(messages.at(-1)?.content).includes('[Request of the harness')

function answerTo(body: ChatBody) {
  const last = body.messages.at(-1)
  if (isSummary(body)) return says('Things were counted. Next: nothing.')
  if (last?.role === 'tool') return says('All is counted.')
  if (!String(last?.content).startsWith('Count')) return says('Well.')
  const calls = ['stars', 'moons'].map((what, at) => ({
    id: `call_${body.messages.length}_${at}`,
    name: 'count',
    arguments: JSON.stringify({ what }),
  }))
  return speaks({ text: 'I count both.', calls })
}

test('turns with calls in parallel, a compaction by the same model, and a turn on the checkpoint', async () => {
  const session = await real.start({ model: 'local/local-1' })
  for (const prompt of ['Count them.', 'Count again.']) {
    const turn = await session.prompt(prompt)
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
  }
  assert.ok((await session.compactNow({ whenBusy: 'wait' })) !== null)
  await (await session.prompt('What did you count?')).result({ timeoutMs: 120_000 })

  const events = await assertWhole(real, session)
  const [summary] = ofType(events, 'compact/summary')
  assert.deepEqual(
    [summary?.data.provider, summary?.data.model, summary?.data.llmStreamCall],
    ['local', 'local-1', true],
  )
  const results = ofType(events, 'tool/result').filter(({ surfaceOp }) => surfaceOp === 'append')
  assert.equal(results.length, 4)
  const replies = ofType(events, 'assistant/message')
  assert.ok(replies.every(({ data }) => data.usage?.inputTokens === 100))
  const header = ofType(events, 'request/header').at(-1)
  assert.equal(header?.data.policy.contextWindow, 32_768)

  const checkpoint = ofType(events, 'user/message').find(
    ({ data }) => data.source === COMPACT_CHECKPOINT_SOURCE,
  )
  assert.ok(checkpoint !== undefined)
  const last = server.bodies.findLast((body) => !isSummary(body))
  assert.match(JSON.stringify(last?.messages), /Things were counted/)
  assert.match(String(last?.messages.at(-1)?.content), /What did you count\?$/)
  assert.deepEqual(server.problems, [])
})
