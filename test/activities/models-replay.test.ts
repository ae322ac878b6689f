import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { replayModel, replayTools } from '../../src/activities/models/replay.ts'
import type { ReplayPlan } from '../../src/formats/replay-plan.ts'
import { text } from '../../src/shared/session/content.ts'
import { INTERRUPTED_RESULT } from '../../src/shared/session/repair.ts'

const CALL = { type: 'tool_use', id: 'c1', name: 'Read', input: { file_path: 'a.ts' } }
const plan: ReplayPlan = {
  system: '',
  prompts: [],
  replies: [
    { content: [CALL, { ...CALL, id: 'c2' }], stopReason: 'tool_use', model: 'claude-opus-4' },
    { content: [text('Done.')], stopReason: 'end_turn' },
  ],
  results: new Map([['c1', { content: [text('const a = 1')], isError: false }]]),
  tools: [{ name: 'Read', description: '', input_schema: { type: 'object' } }],
  ends: 'answered',
}

const signal = new AbortController().signal
const request = {
  provider: 'replay',
  model: 'm',
  system: '',
  tools: [],
  messages: [{ role: 'user', content: [text('go')] }],
  maxTokens: 100,
  sampling: {},
  purpose: 'turn',
  index: 0,
  sessionId: 's1',
} as const
const context = (callId: string) => ({ sessionId: 's1', callId, idempotencyKey: callId, signal })

describe('replay', () => {
  test('the model answers what was recorded, with our count as usage', async () => {
    const model = replayModel(plan)
    const first = await model.generate(request, { signal })
    assert.deepEqual(
      [first.content, first.stopReason, first.model],
      [plan.replies[0]?.content, 'tool_use', 'claude-opus-4'],
    )
    assert.ok(first.usage !== null && first.usage.inputTokens > 0 && first.usage.inputTokens < 20)
    assert.equal((await model.generate({ ...request, index: 1 }, { signal })).stopReason, 'end_turn')
    await assert.rejects(model.generate({ ...request, index: 2 }, { signal }), /no reply 2: it has 2/)
  })

  test('summaries are scripted, or left to code', async () => {
    const summary = { ...request, purpose: 'summary' } as const
    assert.deepEqual((await replayModel(plan, { summaries: 'S.' }).generate(summary, { signal })).content, [
      text('S.'),
    ])
    await assert.rejects(replayModel(plan).generate(summary, { signal }), /summarizer: 'deterministic'/)
  })

  test('tools return what was recorded by call id, whatever the input; an unanswered call is interrupted', async () => {
    const [read] = replayTools(plan)
    assert.ok(read !== undefined)
    assert.deepEqual(
      [read.name, read.input, read.idempotent],
      ['Read', { jsonSchema: { type: 'object' } }, true],
    )
    assert.deepEqual(await read.run({ other: 1 }, context('c1')), {
      content: [text('const a = 1')],
      isError: false,
    })
    assert.deepEqual(await read.run({}, context('c2')), {
      content: INTERRUPTED_RESULT.content,
      isError: true,
    })
  })
})
