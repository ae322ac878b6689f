import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  attemptErrorSchema,
  compactionCauseSchema,
  eventDataSchemas,
  messageSourceSchema,
  noticeCodeSchema,
  refusalSchema,
  SURFACE_TYPES,
  surfaceOpSchema,
  toolDefinitionSchema,
  turnEndReasonSchema,
} from '../../src/shared/session/events.ts'
import { applyBatch, emptyLog } from '../../src/shared/session/log.ts'
import { sampleHeader, turnEnd, turnStart, userMessage } from '../../src/store/contract/sample-events.ts'
import { append, inTurn, opened } from './log-builder.ts'
import { sample, testSamples } from './wire-samples.ts'

const range = { start: 2, end: 5 }
const content = [{ type: 'text', text: 'hello' }]
const usage = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 }
const data = eventDataSchemas

testSamples('data of events', {
  'tool definition': sample(
    toolDefinitionSchema,
    { name: 'bash', description: 'runs', inputSchema: { type: 'object' } },
    '',
    'inputSchema',
  ),
  'failed attempt': sample(attemptErrorSchema, { code: 'summary', stage: 'prepare', message: 'no' }),
  replacement: sample(surfaceOpSchema, { op: 'replace', start: 2, end: 5 }),
  restoration: sample(surfaceOpSchema, { op: 'restore', node: 7 }),
  'session/start': sample(data['session/start'], { formatVersion: 1 }),
  'turn/end': sample(
    data['turn/end'],
    { turn: 1, reason: 'error', message: 'no', code: 'ModelFailed' },
    'message code',
  ),
  'step/start': sample(data['step/start'], { turn: 1, step: 2 }),
  'user/message': sample(
    data['user/message'],
    { content: [], source: 'prompt', requestId: 'r' },
    'requestId',
  ),
  'session/pin': sample(data['session/pin'], { id: 'p', text: 'keep', seq: 3 }, 'text seq'),
  'session/notice': sample(
    data['session/notice'],
    { code: 'held', message: 'no', compactionId: 'c' },
    'compactionId',
  ),
  'tool/claim': sample(data['tool/claim'], { callId: 'c', runId: 'r', attempt: 1 }),
  'compact/start': sample(
    data['compact/start'],
    { compactionId: 'c', turn: 1, cause: 'manual', focus: 'tests' },
    'focus',
  ),
  'compact/prune': sample(data['compact/prune'], {
    shadowedRange: range,
    shadowedSeqs: [2, 5],
    shadowedTokenCount: 9,
  }),
  'compact/end': sample(
    data['compact/end'],
    { compactionId: 'c', turn: null, error: { code: 'busy', stage: 'prepare', message: 'no' } },
    'error',
  ),
  'compact/restore': sample(data['compact/restore'], { compactionId: 'c', checkpoint: 8 }),
})

describe('words and shapes that the log knows', () => {
  test('each list of words takes its own and no other', () => {
    for (const [schema, words] of [
      [messageSourceSchema, ['prompt', 'import', 'context', 'notice', 'durable-compaction/checkpoint']],
      [compactionCauseSchema, ['pressure', 'context-overflow', 'manual', 'tool', 'region']],
      [turnEndReasonSchema, ['completed', 'aborted', 'error', 'max-tokens', 'blocked', 'interrupted']],
      [refusalSchema, ['truncated', 'refusal', 'blank', 'markup', 'not-smaller', 'too-long']],
      [
        noticeCodeSchema,
        ['held', 'overhead', 'window-unknown', 'budget-spent', 'hook-failed', 'short-reply', 'call-as-text'],
      ],
    ] as const) {
      for (const word of words) assert.equal(schema.parse(word), word)
      for (const word of ['', 'other', 7, null]) assert.ok(!schema.safeParse(word).success)
    }
    assert.deepEqual(SURFACE_TYPES, ['user/message', 'assistant/message', 'tool/result'])
  })

  test('a surface operation is one of three', () => {
    assert.equal(surfaceOpSchema.parse('append'), 'append')
    for (const op of ['replace', { op: 'append' }, { op: 'replace', start: 1 }, { op: 'restore', node: -1 }])
      assert.ok(!surfaceOpSchema.safeParse(op).success, JSON.stringify(op))
  })

  test('a header names provider and model, or neither', () => {
    const fits = (over: object) => data['request/header'].safeParse({ ...sampleHeader(), ...over }).success
    assert.ok(fits({}) && fits({ provider: null, model: null }))
    assert.ok(fits({ asked: { tools: ['bash'], policy: { auto: false }, preset: 'lean' } }))
    for (const over of [
      { provider: '' },
      { model: '' },
      { model: 7 },
      { tools: [{ name: '' }] },
      { more: 1 },
      { asked: {} },
    ])
      assert.ok(!fits(over), JSON.stringify(over))
  })

  test('usage has four numbers, none negative', () => {
    const fits = (value: unknown) =>
      data['assistant/message'].safeParse({
        content,
        usage: value,
        stopReason: 'x',
        provider: 'p',
        model: 'm',
      }).success
    assert.ok(fits(usage) && fits(null))
    assert.ok(
      !fits({}) && !fits({ ...usage, inputTokens: -1 }) && !fits({ ...usage, outputTokens: undefined }),
    )
  })

  test('what a checkpoint lost is counts and identifiers', () => {
    const lost = data['compact/summary'].shape.lost
    const value = { counts: { nodes: 3 }, identifiers: ['src/a.ts'] }
    assert.deepEqual(lost.parse(value), value)
    for (const bad of [{}, { counts: {} }, { ...value, counts: { nodes: -1 } }, { ...value, more: 1 }])
      assert.ok(!lost.safeParse(bad).success, JSON.stringify(bad))
  })
})

describe('batches', () => {
  const thrown = (run: () => unknown) => {
    try {
      run()
    } catch (error) {
      return error as { name: string; message: string; details: unknown }
    }
    return assert.fail('nothing was thrown')
  }

  test('for a turn that is not open say which one is', () => {
    const none = thrown(() => applyBatch(opened(), { turn: 3, events: [] }, 0))
    assert.deepEqual(
      [none.name, none.message, none.details],
      [
        'TurnClosed',
        'Turn 3 is not open (no turn is open): start a turn first, or append with turn null.',
        { turn: 3, openTurn: null },
      ],
    )
    const other = thrown(() => applyBatch(inTurn(), { turn: 3, events: [] }, 0))
    assert.match(other.message, /^Turn 3 is not open \(turn 1 is open\)/)
    assert.deepEqual(other.details, { turn: 3, openTurn: 1 })
  })

  test('hold events of their own turn or of none', () => {
    const state = append(opened(), turnStart(1))
    assert.equal(
      applyBatch(state, { turn: 1, events: [userMessage('a', 'x', { turn: 1 }), userMessage('b', 'y')] }, 5)
        .nextSeq,
      5,
    )
    const stray = thrown(() =>
      applyBatch(state, { turn: null, events: [userMessage('a', 'x', { turn: 1 })] }, 0),
    )
    assert.match(stray.message, /its turn is 1, the turn of its batch null/)
    assert.deepEqual(stray.details, { key: 'prompt.a', type: 'user/message' })
  })

  test('give their events the next numbers and one time', () => {
    const state = applyBatch(
      append(opened(), turnStart(1)),
      { turn: 1, events: [userMessage('a', 'x', { turn: 1 })] },
      77,
    )
    assert.deepEqual(
      state.surface.map(({ seq, time }) => [seq, time]),
      [[3, 77]],
    )
    assert.equal(append(state, turnEnd(1)).openTurn, null)
  })

  test('an empty log stands at nothing', () => {
    const { nextSeq, generation, life, closed, headerSeq, lastTurn, openTurn, bracket, pricedNode } =
      emptyLog()
    assert.deepEqual(
      [nextSeq, generation, life, closed, headerSeq, lastTurn, openTurn, bracket, pricedNode],
      [0, 0, 0, false, null, 0, null, null, null],
    )
  })
})
