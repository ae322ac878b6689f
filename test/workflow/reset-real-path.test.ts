import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import { ContextOverflowError, type ModelClient } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { compactionHistoryQuery } from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import { Gate } from '../support/gate.ts'
import { runHistory } from '../support/history.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'
import { resetBefore, resetToLastTask } from '../support/reset.ts'
import { assertWhole, ofType } from '../support/whole-log.ts'

// Resets of real sessions, before, inside and after a compaction, in a turn and between turns: Temporal goes back, the log does not.

const REPLIES = 6
const words: Tool = {
  name: 'words',
  description: 'Many words.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => 'word '.repeat(1_000),
}
/** Compacts before the last replies. */
const PRESSING = { thresholdTokens: 5_000, retainTokens: 1_500 }
/** The reply that a provider refuses at first, in sessions that say so. */
const REFUSED = 4

/** What waits, as `<session> <purpose> <index>`. */
const held = new Map<string, Gate>()
const overflowing = new Set<string>()
/** Answers that the model gave for summaries, by session. */
const paidSummaries = new Map<string, number>()

const scripted = scriptedModel(
  ({ index }) =>
    index < REPLIES
      ? { content: [{ type: 'tool_use', id: `c${index}`, name: 'words', input: {} }] }
      : 'Done.',
  {
    capacity: { contextWindow: 16_000, maxOutputTokens: 4_000 },
    summaries: 'Words were read. Next: go on.',
  },
)
const model: ModelClient = {
  ...scripted,
  async generate(request, context) {
    const { sessionId, purpose, index } = request
    await held.get(`${sessionId} ${purpose} ${index}`)?.wait()
    if (purpose === 'turn' && index === REFUSED && overflowing.delete(sessionId))
      throw new ContextOverflowError('prompt is too long')
    if (purpose === 'summary') paidSummaries.set(sessionId, (paidSummaries.get(sessionId) ?? 0) + 1)
    return scripted.generate(request, context)
  },
}

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [words])
})
after(() => real.close())

const CHILD = 'START_CHILD_WORKFLOW_EXECUTION_INITIATED'

/** A session that reads the words, and what holds its answer of this purpose and index. */
async function begin(policy: object, hold?: `${'turn' | 'summary'} ${number}`) {
  const session = await real.start({ policy: { ...policy } })
  const gate = new Gate()
  if (hold !== undefined) held.set(`${session.id} ${hold}`, gate)
  return { session, gate, turn: await session.prompt('Read the words.', { requestId: 'A' }) }
}

const completed = async (turn: { result(options: object): Promise<{ reason: string }> }) =>
  assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')

/** The log is whole, begins as it was before the reset, and the session takes another prompt. */
async function assertKept(session: Session, before: readonly SessionEvent[]): Promise<SessionEvent[]> {
  await completed(await session.prompt('Are you there?'))
  const events = await assertWhole(real, session)
  assert.deepEqual(events.slice(0, before.length), before, 'the log was rolled back')
  const tools = ofType(events, 'tool/claim').map(({ data }) => data.callId)
  assert.equal(new Set(tools).size, tools.length, 'a tool ran twice')
  return events
}

/** Everything that happened had happened before the reset; only the turn of the question came after it. */
function assertNothingDoneAgain(before: readonly SessionEvent[], events: readonly SessionEvent[]): void {
  for (const type of ['compact/start', 'compact/call', 'compact/end'] as const)
    assert.equal(ofType(events, type).length, ofType(before, type).length, type)
}

const outcomes = async (session: Session) =>
  (await session.workflow.query(compactionHistoryQuery)).map(({ compactionId, outcome }) => [
    compactionId,
    outcome,
  ])

describe('I8 reset on the real path', { concurrency: true }, () => {
  test('before a compaction that has ended, in its turn: the recorded outcome, nothing paid again, the turn completes', async () => {
    const { session, gate, turn } = await begin(PRESSING, `turn ${REPLIES}`)
    await gate.reached
    const before = await real.log(session)
    const first = ofType(before, 'compact/end')[0]?.data
    assert.ok(first !== undefined && first.error === undefined, 'a compaction has ended')
    await resetBefore(real.client, session.id, CHILD)
    gate.open()
    await completed(turn)
    await whenIdle(session)
    assert.deepEqual((await outcomes(session)).at(-1), [first.compactionId, 'compacted'])
    const events = await assertKept(session, before)
    assertNothingDoneAgain(before, events)
    assert.equal(paidSummaries.get(session.id), ofType(events, 'compact/call').length)
    assert.equal(ofType(events, 'assistant/message').length, REPLIES + 2)
  })

  test('before a turn, after its compaction: the turn goes on where the store has it', async () => {
    const { session, gate, turn } = await begin(PRESSING, `turn ${REPLIES}`)
    await gate.reached
    const before = await real.log(session)
    await resetBefore(real.client, session.id, 'ACTIVITY_TASK_SCHEDULED', 'sessionStartTurn')
    gate.open()
    await completed(turn)
    const events = await assertKept(session, before)
    assertNothingDoneAgain(before, events)
    assert.deepEqual(
      ofType(events, 'turn/end').map(({ data }) => data.reason),
      ['completed', 'completed'],
    )
  })

  test('before a compaction, when its turn has ended: the log gets no event', async () => {
    const { session, turn } = await begin(PRESSING)
    await completed(turn)
    await whenIdle(session)
    const before = await real.log(session)
    await resetBefore(real.client, session.id, CHILD)
    await whenIdle(session)
    assert.deepEqual(await real.log(session), before)
    assertNothingDoneAgain(before, await assertKept(session, before))
  })

  test('before the recovery from an overflow that has ended: its outcome is recorded, the refused request is not sent again', async () => {
    const { session, gate, turn } = await begin({}, `turn ${REPLIES}`)
    overflowing.add(session.id)
    await gate.reached
    const before = await real.log(session)
    assert.deepEqual(
      ofType(before, 'compact/start').map(({ data }) => data.cause),
      ['context-overflow'],
    )
    await resetBefore(real.client, session.id, CHILD)
    gate.open()
    await completed(turn)
    assertNothingDoneAgain(before, await assertKept(session, before))
  })

  test('inside a compaction, after its start: the running child’s result reaches the new run, one end', async () => {
    const { session, gate, turn } = await begin(PRESSING, 'summary 0')
    await gate.reached
    const before = await real.log(session)
    await eventually(
      async () => (await runHistory(real.client, session.id)).events.at(-1)?.type,
      (type) => type === 'WORKFLOW_TASK_COMPLETED',
    )
    await resetToLastTask(real.client, session.id)
    gate.open()
    await completed(turn)
    await whenIdle(session)
    const events = await assertKept(session, before)
    const [end] = ofType(events, 'compact/end')
    assert.equal(end?.data.error, undefined)
    assert.deepEqual((await outcomes(session)).at(-1), [end?.data.compactionId, 'compacted'])
  })

  test('inside a compaction that a person asked for: it ends as interrupted, its request is settled, the next one compacts', async () => {
    const { session, turn } = await begin({})
    await completed(turn)
    await whenIdle(session)
    const gate = new Gate()
    held.set(`${session.id} summary 0`, gate)
    await session.requestCompaction({ requestId: 'r1' })
    await gate.reached
    const before = await real.log(session)
    await resetBefore(real.client, session.id, CHILD)
    const [row] = await eventually(
      () => real.store.inbox(session.id, { requestIds: ['r1'] }),
      ([found]) => found?.state === 'done' || found?.state === 'refused',
    )
    assert.match(JSON.stringify(row?.outcome), /manual\.r1/)
    gate.open()
    held.delete(`${session.id} summary 0`)
    await whenIdle(session)
    assert.equal((await session.compactNow())?.cause, 'manual')
    const events = await assertKept(session, before)
    assert.deepEqual(
      ofType(events, 'compact/end').map(({ data }) => data.error?.code),
      ['interrupted', undefined],
    )
  })

  test('before a compaction that a person asked for and that has ended: the same result for the same request, no event', async () => {
    const { session, turn } = await begin({})
    await completed(turn)
    await whenIdle(session)
    const result = await session.compactNow({ requestId: 'r1' })
    assert.equal(result?.compactionId, 'manual.r1')
    await whenIdle(session)
    const before = await real.log(session)
    await resetBefore(real.client, session.id, CHILD)
    await whenIdle(session)
    assert.deepEqual(await session.compactNow({ requestId: 'r1' }), result)
    assert.deepEqual(await real.log(session), before)
    assertNothingDoneAgain(before, await assertKept(session, before))
  })
})
