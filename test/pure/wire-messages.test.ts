import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { z } from 'zod'
import * as activities from '../../src/shared/activity-protocol.ts'
import * as control from '../../src/shared/control-protocol.ts'
import * as wire from '../../src/shared/protocol.ts'
import { sample, testSamples, type WireSample } from './wire-samples.ts'
import {
  base,
  compaction,
  compactionOptional,
  inTurn,
  outcome,
  outcomeOptional,
  reading,
  record,
  recordOptional,
  span,
  start,
  startOptional,
  taskQueues,
  within,
} from './wire-values.ts'

const SAMPLES: Readonly<Record<string, WireSample>> = {
  reading: sample(wire.readingSchema, reading, 'off'),
  'task queues': sample(wire.taskQueuesSchema, taskQueues, 'models tools'),
  'compaction request': sample(
    wire.compactionRequestSchema,
    { requestId: 'r', focus: 'tests', span, whenBusy: 'wait' },
    'requestId focus span whenBusy',
  ),
  prompt: sample(
    wire.promptMessageSchema,
    { requestId: 'r', content: 'hello', delivery: 'next-step' },
    'requestId content delivery',
  ),
  'cancel turn': sample(
    wire.cancelTurnSchema,
    { turn: 1, requestId: 'r', reason: 'why' },
    'turn requestId reason',
  ),
  'cancel compaction': sample(wire.cancelCompactionSchema, { requestId: 'r', reason: 'why' }, 'reason'),
  close: sample(wire.closeSchema, { requestId: 'r', reason: 'why' }, 'requestId reason'),
  'cancel receipt': sample(wire.cancelReceiptSchema, {
    stopped: 'turn',
    turn: 1,
    compactionId: 'manual.a',
    goesOn: { turn: null, compactionId: 'manual.b' },
  }),
  receipt: sample(wire.receiptSchema, { requestId: 'r', status: 'queued', stored: true }),
  outcome: sample(wire.compactionOutcomeSchema, outcome, outcomeOptional),
  record: sample(wire.compactionRecordSchema, record, recordOptional),
  'session start': sample(wire.sessionStartSchema, start, startOptional, 'sampling policy'),
  'session workflow': sample(
    wire.sessionWorkflowInputSchema,
    {
      v: 1,
      start,
      taskQueues,
      heartbeatTimeoutMs: 1000,
      carried: {
        prompts: [{ requestId: 'r', delivery: 'next-turn' }],
        compactions: [{ requestId: 'r', focus: 'tests', span, joined: ['q'] }],
        reading,
        history: [record],
        compactionCount: 1,
        refused: 2,
        autoIds: 3,
        closing: { requestId: 'r', reason: 'why' },
      },
      rollOver: { events: 10, messages: 20 },
    },
    `start taskQueues taskQueues.models taskQueues.tools heartbeatTimeoutMs carried rollOver rollOver.events rollOver.messages carried.compactions.focus carried.compactions.span carried.reading carried.reading.off carried.closing carried.closing.requestId carried.closing.reason ${within('start', startOptional)} ${within('carried.history', recordOptional)}`,
    'start.sampling start.policy',
  ),
  'compaction workflow': sample(wire.compactionInputSchema, compaction, compactionOptional),
  blocked: sample(wire.blockedSchema, { reason: 'held', message: 'why' }),
  'session state': sample(
    wire.sessionStateSchema,
    {
      sessionId: 's',
      status: 'idle',
      life: 1,
      turn: 1,
      step: 2,
      requestId: 'r',
      compactionId: 'manual.a',
      reading,
      waitingPrompts: 1,
      waitingCompactions: 2,
      refusedMessages: 3,
      compactions: 4,
      blocked: { reason: 'held', message: 'why' },
      lastFailure: record,
      error: 'why',
    },
    `reading.off ${within('lastFailure', recordOptional)}`,
  ),
  'control: pin': sample(control.pinSchema, { requestId: 'r', text: 'keep', seq: 1 }, 'requestId text seq'),
  'control: unpin': sample(control.unpinSchema, { requestId: 'r', id: 'p' }, 'requestId id'),
  'control: undo': sample(
    control.undoSchema,
    { requestId: 'r', compactionId: 'manual.a' },
    'requestId compactionId',
  ),
  'control: configure': sample(
    control.configureSchema,
    { requestId: 'r', model: 'a/b', system: 'x', tools: ['bash'], policy: { auto: false } },
    'requestId model system tools policy',
    'policy',
  ),
  'control: input': sample(
    control.controlInputSchema,
    {
      ...base,
      requests: [
        { requestId: 'a', body: { kind: 'unpin', id: 'p' } },
        { requestId: 'b', body: { kind: 'undo', compactionId: 'manual.a' } },
        { requestId: 'c', body: { kind: 'pin', text: 'keep' } },
        { requestId: 'd', body: { kind: 'configure', system: 'x' } },
      ],
    },
    'requests.body',
  ),
  'control: result': sample(
    control.controlResultSchema,
    { reading, idleTimeoutMs: 1, compactionRetries: 2, maxOverflowRetries: 3, refused: 4 },
    'reading.off',
  ),
}

testSamples('messages of the wire', SAMPLES)

describe('what messages hold together', () => {
  test('a pin has a text or a place, a change of the configuration changes something', () => {
    const fits = (body: unknown) => control.controlRequestSchema.safeParse(body).success
    assert.ok(fits({ kind: 'pin', text: 'x' }) && fits({ kind: 'pin', seq: 0 }))
    assert.ok(
      !fits({ kind: 'pin' }) && !fits({ kind: 'pin', text: 'x', seq: 0 }) && !fits({ kind: 'pin', text: '' }),
    )
    assert.ok(fits({ kind: 'configure', model: null }) && fits({ kind: 'configure', tools: [] }))
    assert.ok(!fits({ kind: 'configure' }) && !fits({ kind: 'configure', system: undefined }))
  })

  test('a prompt that is taken back while it waits is named', () => {
    const fits = (message: unknown) => wire.cancelTurnSchema.safeParse(message).success
    assert.ok(fits({ requestId: 'r', waitingOnly: true }))
    assert.ok(!fits({ waitingOnly: true }) && !fits({ requestId: 'r', waitingOnly: false }))
  })
})

describe('limits of the wire', () => {
  const lengths: readonly (readonly [string, z.ZodType, number, number, (value: string) => unknown])[] = [
    ['a session id', wire.sessionIdSchema, 1, 64, (value) => value],
    ['a request id', wire.requestIdSchema, 1, 256, (value) => value],
    ['a focus', wire.compactionRequestSchema, 0, 800, (focus) => ({ focus })],
    ['the focus of a compaction', wire.compactionInputSchema, 0, 800, (focus) => ({ ...compaction, focus })],
    [
      'a compaction id',
      wire.compactionInputSchema,
      1,
      180,
      (compactionId) => ({ ...compaction, compactionId }),
    ],
    ['why a turn is cancelled', wire.cancelTurnSchema, 0, 1000, (reason) => ({ reason })],
    ['why a compaction is', wire.cancelCompactionSchema, 0, 1000, (reason) => ({ requestId: 'r', reason })],
    ['why a session is closed', wire.closeSchema, 0, 1000, (reason) => ({ reason })],
    ['the id of a pin', control.controlRequestSchema, 1, 300, (id) => ({ kind: 'unpin', id })],
    [
      'what is undone',
      control.controlRequestSchema,
      1,
      180,
      (compactionId) => ({ kind: 'undo', compactionId }),
    ],
    ['a queue of models', wire.taskQueuesSchema, 1, 999, (models) => ({ models })],
    ['a queue of tools', wire.taskQueuesSchema, 1, 999, (tools) => ({ tools })],
    ['the id of a call', activities.runToolInputSchema, 1, 999, (callId) => ({ ...inTurn, callId })],
  ]
  for (const [what, schema, least, most, put] of lengths)
    test(`${what} has ${least} to ${most} characters`, () => {
      const fits = (length: number) => schema.safeParse(put('x'.repeat(length))).success
      assert.ok(fits(least) && fits(most))
      assert.equal(fits(0), least === 0)
      assert.equal(fits(most + 1), most === 999)
    })

  test('a beat is a second or more', () => {
    const fits = (heartbeatTimeoutMs: number) =>
      wire.compactionInputSchema.safeParse({ ...compaction, heartbeatTimeoutMs }).success
    assert.deepEqual([999, 1000, 60_000].map(fits), [false, true, true])
  })
})

describe('the sentence about what does not fit', () => {
  test('names the field, and nothing when it fits', () => {
    assert.equal(wire.problemOf(wire.spanSchema, { start: 1, end: 2 }, 'span'), undefined)
    assert.match(wire.problemOf(wire.spanSchema, { start: 1, end: -2 }, 'span') ?? '', /^span\.end: \S/)
    assert.match(wire.problemOf(wire.spanSchema, 7, 'span') ?? '', /^span: \S/)
    assert.match(
      wire.problemOf(activities.acceptResultSchema, { refused: [{ requestId: '' }] }, 'result') ?? '',
      /^result\.refused\.0\.requestId: \S/,
    )
    assert.equal(
      wire.problemOf(wire.sessionIdSchema, 'a b', 'sessionId'),
      'sessionId: a session id has 1 to 64 characters of A-Z a-z 0-9 . _ -',
    )
  })
})
