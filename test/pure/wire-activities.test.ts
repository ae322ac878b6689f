import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as activities from '../../src/shared/activity-protocol.ts'
import * as own from '../../src/shared/own-protocol.ts'
import * as wire from '../../src/shared/protocol.ts'
import { sample, testSamples, type WireSample } from './wire-samples.ts'
import {
  base,
  compaction,
  compactionOptional,
  content,
  error,
  header,
  inTurn,
  outcome,
  outcomeOptional,
  paid,
  parent,
  reading,
  span,
  start,
  startOptional,
  usage,
  within,
} from './wire-values.ts'

const SAMPLES: Readonly<Record<string, WireSample>> = {
  'open input': sample(
    activities.openInputSchema,
    { ...base, start, header, policy: { auto: false }, preset: 'lean' },
    `start header policy preset header.maxTokens header.sampling header.tools.type header.tools.description ${within('start', startOptional)}`,
    'start.sampling start.policy policy header.sampling header.tools.input_schema',
  ),
  'open result': sample(
    activities.openResultSchema,
    {
      life: 1,
      reading,
      idleTimeoutMs: 5,
      openTurn: { turn: 1, requestId: 'r' },
      waiting: [{ requestId: 'r', delivery: 'no-wake' }],
      controlsWait: false,
      compactionRetries: 1,
      maxOverflowRetries: 2,
    },
    'reading.off compactionRetries maxOverflowRetries',
  ),
  'turn result': sample(
    activities.startTurnResultSchema,
    {
      turn: 1,
      status: 'new',
      step: 1,
      reading,
      compactionRetries: 1,
      maxOverflowRetries: 2,
      endReason: 'completed',
    },
    'reading.off endReason',
  ),
  'model input': sample(activities.callModelInputSchema, inTurn),
  'needs compaction': sample(
    activities.callModelResultSchema,
    { kind: 'needs-compaction', reading, message: 'too long' },
    'reading.off',
  ),
  reply: sample(
    activities.callModelResultSchema,
    {
      kind: 'reply',
      reading,
      calls: [{ callId: 'c', queue: 'q', timeoutMs: 1, retries: 2 }],
      compact: { callId: 'd', focus: 'tests' },
      joined: ['r'],
      ended: 'completed',
      stopReason: 'end_turn',
    },
    'reading.off calls.queue calls.retries compact compact.focus joined ended',
  ),
  'tool input': sample(activities.runToolInputSchema, { ...inTurn, callId: 'c' }),
  'tool result': sample(activities.runToolResultSchema, { reading, isError: true }, 'reading.off'),
  'end input': sample(
    activities.endTurnInputSchema,
    { ...base, turn: 1, reason: 'error', message: 'why', code: 'ModelFailed' },
    'message code',
  ),
  'accept input': sample(
    activities.acceptInputSchema,
    {
      ...base,
      prompts: [{ requestId: 'r', content: 'hello', delivery: 'next-turn' }],
      compactions: [{ requestId: 'q', focus: 'tests', span, whenBusy: 'refuse' }],
    },
    'prompts.content prompts.delivery compactions.focus compactions.span compactions.whenBusy',
  ),
  'accept result': sample(activities.acceptResultSchema, {
    refused: [{ requestId: 'r', error: 'KeyConflict' }],
  }),
  'settle input': sample(
    activities.settleInputSchema,
    { ...base, rows: [{ requestId: 'r', state: 'done', compactionId: 'manual.a', error: 'Busy' }] },
    'rows.compactionId rows.error',
  ),
  'close input': sample(
    activities.closeSessionInputSchema,
    { ...base, requestId: 'r', reason: 'why' },
    'reason',
  ),
  'reading result': sample(activities.readingResultSchema, { reading }, 'reading.off'),
  'compaction activity': sample(
    activities.compactionActivityInputSchema,
    { ...compaction, parent },
    compactionOptional,
  ),
  planned: sample(
    activities.prepareResultSchema,
    { kind: 'planned', hooks: ['afterCompaction'], focus: 'tests', hookError: 'boom', chunks: 1 },
    'hooks focus hookError',
  ),
  'done at once': sample(
    activities.prepareResultSchema,
    { kind: 'done', hooks: ['compactionFailed'], focus: 'tests', hookError: 'boom', outcome },
    `hooks focus hookError ${within('outcome', outcomeOptional)}`,
  ),
  summarized: sample(activities.summarizeResultSchema, { kind: 'summarized', paid, deterministic: true }),
  'summary failed': sample(activities.summarizeResultSchema, { kind: 'failed', paid, error }),
  'commit input': sample(
    activities.commitInputSchema,
    { ...compaction, parent, paid, deterministic: false },
    compactionOptional,
  ),
  'hooks input': sample(
    activities.runHooksInputSchema,
    { ...compaction, parent, outcome },
    `${compactionOptional} ${within('outcome', outcomeOptional)}`,
  ),
  'hooks result': sample(
    activities.runHooksResultSchema,
    { reading, hookError: 'boom' },
    'reading.off hookError',
  ),
  'close attempt': sample(
    activities.closeAttemptInputSchema,
    {
      ...base,
      compactionId: 'manual.a',
      error,
      requestIds: ['r'],
      tell: { cause: 'manual', turn: 1, focus: 'tests', parent: { workflowId: 's', runId: 'r' } },
    },
    'requestIds tell tell.focus',
  ),
  'own append': sample(
    own.appendInputSchema,
    {
      ...inTurn,
      entries: [{ message: { role: 'assistant', content: 'hi' }, usage, stopReason: 'end_turn' }],
      end: { reason: 'completed', message: 'why' },
    },
    'entries.usage entries.stopReason end end.message',
  ),
  'own step': sample(
    own.stepResultSchema,
    { reading, stopReason: 'end_turn', calls: [{ id: 'c', name: 'bash' }] },
    'reading.off',
  ),
  'own request': sample(own.requestInputSchema, inTurn),
  'own request result': sample(
    own.requestResultSchema,
    {
      messages: [{ role: 'user', content: 'hi' }],
      generation: 1,
      recorded: { reading, stopReason: 'end_turn', calls: [] },
    },
    'recorded recorded.reading.off',
  ),
  'own position': sample(own.positionInputSchema, base),
  'own position result': sample(own.positionResultSchema, { reading, openTurn: 1 }, 'reading.off'),
  'own messages': sample(own.messagesInputSchema, { ...base, known: ['d'], from: 1 }, 'known from'),
  'own messages result': sample(own.messagesResultSchema, {
    parts: [3, { role: 'user', content: 'hi' }],
    next: 1,
    generation: 2,
  }),
  'own sync': sample(
    own.syncInputSchema,
    {
      ...base,
      previous: { requestId: 'p', step: 1 },
      current: { requestId: 'r', step: 2 },
      prompt: 'hello',
      entries: [
        {
          message: { role: 'user', content: 'hi' },
          usage,
          stopReason: 'end_turn',
          group: 'before',
          position: 1,
          reply: 2,
        },
      ],
      digest: 'd',
      end: 'completed',
    },
    'entries.usage entries.stopReason end',
  ),
  'own sync result': sample(
    own.syncResultSchema,
    { reading, openTurn: 1, step: 2, same: true },
    'reading.off',
  ),
}

testSamples('inputs and results of activities', SAMPLES)

describe('what activities take', () => {
  test('content is a text or blocks, and blocks keep fields that nobody knows', () => {
    const blocks = [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }]
    assert.deepEqual(wire.promptMessageSchema.parse({ content: blocks }), { content: blocks })
    for (const message of ['x', blocks, { role: 'user', content: blocks }, { role: 'user', content: 'x' }]) {
      const input = { ...base, requestId: 'r', message }
      assert.deepEqual(activities.startTurnInputSchema.parse(input), input)
    }
    for (const message of [7, [{}], { role: 'assistant', content: 'x' }, { role: 'user' }])
      assert.ok(
        !activities.startTurnInputSchema.safeParse({ ...base, requestId: 'r', message }).success,
        JSON.stringify(message),
      )
    assert.ok(activities.startTurnInputSchema.safeParse({ ...base, requestId: 'r' }).success)
  })

  test("usage in our names or in the API's, which may leave the cache out", () => {
    const api = {
      input_tokens: 1,
      output_tokens: 2,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 4,
    }
    const fits = (value: unknown) =>
      own.entrySchema.safeParse({ message: { role: 'assistant', content }, usage: value }).success
    for (const value of [
      usage,
      api,
      { input_tokens: 1, output_tokens: 2 },
      { ...api, service_tier: 'x' },
      null,
    ])
      assert.ok(fits(value), JSON.stringify(value))
    for (const value of [
      {},
      { input_tokens: 1 },
      { ...api, cache_read_input_tokens: -1 },
      { ...api, output_tokens: '2' },
    ])
      assert.ok(!fits(value), JSON.stringify(value))
  })

  test('a tool as the Messages API takes it, or as the log keeps it', () => {
    const fits = (tool: unknown) => own.ownRequestSchema.safeParse({ ...header, tools: [tool] }).success
    const kept = { name: 'bash', description: 'runs', inputSchema: { type: 'object' } }
    for (const tool of [
      kept,
      { name: 'bash', input_schema: {} },
      { name: 'bash', input_schema: {}, type: null },
    ])
      assert.ok(fits(tool), JSON.stringify(tool))
    for (const tool of [
      { ...kept, name: '' },
      { ...kept, description: undefined },
      { ...kept, inputSchema: 7 },
      { name: '', input_schema: {} },
      { name: 'bash' },
      { name: 'bash', input_schema: {}, type: 'bash_20250124' },
    ])
      assert.ok(!fits(tool), JSON.stringify(tool))
  })

  test('provider and model come together', () => {
    for (const [provider, model, fits] of [
      ['a', 'b', true],
      [null, null, true],
      ['a', null, false],
      [null, 'b', false],
      ['', '', false],
    ] as const)
      assert.equal(own.ownRequestSchema.safeParse({ ...header, provider, model }).success, fits)
  })
})
