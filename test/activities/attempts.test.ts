import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import type { Actor } from '../../src/shared/ports/store.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import {
  type ActivityStage,
  openStage,
  RUN_1,
  RUN_2,
  SESSION,
  type StageOptions,
} from '../support/activity-stage.ts'

// Attempts are rows: what an attempt was, or came to, is read from its row by every later run of its activities.

const ID = 'manual.r'
const CHILD: Actor = { workflowId: `${SESSION}/compact/${ID}`, runId: 'child-1' }
const attempt = {
  compactionId: ID,
  turn: null,
  cause: 'manual' as const,
  requestIds: ['r'],
  parent: RUN_1,
}

let paid: ModelRequest[] = []
const model = scriptedModel(() => 'word '.repeat(900), {
  capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
  summaries: (request) => {
    paid.push(request)
    return 'Words were said. Next: nothing.'
  },
})

async function spokenStage(options: StageOptions = {}): Promise<ActivityStage> {
  paid = []
  const stage = await openStage({ model, ...options })
  for (const requestId of ['a', 'b', 'c', 'd']) await talk(stage, requestId)
  await stage.store.putInbox({ sessionId: SESSION, requestId: 'r', kind: 'compaction', body: {} })
  return stage
}

async function talk(stage: ActivityStage, requestId: string, actor = RUN_1): Promise<void> {
  const { turn } = await stage.run(actor, 'sessionStartTurn', { requestId, message: 'Talk.' })
  await stage.run(actor, 'sessionCallModel', { turn, step: 1 })
}

const prepare = (stage: ActivityStage) => stage.run(CHILD, 'sessionPrepareCompaction', attempt)
const summarize = (stage: ActivityStage) => stage.run(CHILD, 'sessionSummarize', attempt)
const commit = (stage: ActivityStage) => {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  return stage.run(CHILD, 'sessionCommitCompaction', {
    ...attempt,
    paid: { calls: 1, reused: 0, usage },
    deterministic: false,
  })
}
const close = (stage: ActivityStage, code: 'cancelled' | 'interrupted' = 'cancelled') =>
  stage.run(RUN_1, 'sessionCloseAttempt', {
    compactionId: ID,
    error: { code, stage: 'session', message: 'by the test' },
    requestIds: ['r'],
  })

const rowOf = async ({ store }: ActivityStage) => store.attempt(SESSION, ID)
const headOf = async ({ store }: ActivityStage) => (await store.session(SESSION))?.head
const askerOf = async ({ store }: ActivityStage) => (await store.inbox(SESSION, { requestIds: ['r'] }))[0]

/** The call writes nothing to the log. */
async function unchanged<T>(stage: ActivityStage, call: () => Promise<T>): Promise<T> {
  const head = await headOf(stage)
  const result = await call()
  assert.equal(await headOf(stage), head)
  return result
}

describe('† attempts are rows', () => {
  test('open: prepare again reads the frozen plan and selects nothing anew, whatever was appended since', async () => {
    const stage = await spokenStage()
    assert.equal((await prepare(stage)).kind, 'planned')
    const before = await rowOf(stage)
    await stage.store.append({
      sessionId: SESSION,
      actor: RUN_1,
      turn: null,
      events: [
        {
          key: 'notice.late',
          type: 'user/message',
          turn: null,
          step: null,
          data: { content: [{ type: 'text', text: 'late '.repeat(500) }], source: 'notice' },
          tokens: 500,
          surfaceOp: 'append',
        },
      ],
    })
    assert.equal((await unchanged(stage, () => prepare(stage))).kind, 'planned')
    assert.deepEqual(await rowOf(stage), before)
    await summarize(stage)
    assert.equal((await commit(stage)).outcome, 'compacted')
    const { nodes } = await stage.store.surface(SESSION)
    assert.ok(
      nodes.some((node) => node.key === 'notice.late'),
      'what came later is no part of the plan',
    )
  })

  test('closed before it opened: void; prepare opens nothing and returns the recorded end', async () => {
    const stage = await spokenStage()
    const closed = await unchanged(stage, () => close(stage))
    const prepared = await unchanged(stage, () => prepare(stage))
    assert.equal((await rowOf(stage))?.state, 'void')
    assert.ok(prepared.kind === 'done')
    assert.deepEqual([prepared.outcome.outcome, prepared.outcome.error], ['failed', closed.error])
    assert.equal((await askerOf(stage))?.state, 'done')
  })

  test('nothing to do: void with its reason, the same answer for the same id although there is something now', async () => {
    paid = []
    const stage = await openStage({ model })
    await talk(stage, 'a')
    await stage.store.putInbox({ sessionId: SESSION, requestId: 'r', kind: 'compaction', body: {} })
    const first = await unchanged(stage, () => prepare(stage))
    assert.ok(first.kind === 'done')
    assert.equal(first.outcome.outcome, 'nothing')
    for (const requestId of ['b', 'c', 'd']) await talk(stage, requestId)
    const again = await unchanged(stage, () => prepare(stage))
    assert.deepEqual(again.kind === 'done' && again.outcome, first.outcome)
    assert.equal((await askerOf(stage))?.state, 'done')
  })

  test('ended: commit again returns what the first one wrote, and pays and writes nothing', async () => {
    const stage = await spokenStage()
    await prepare(stage)
    await summarize(stage)
    const committed = await commit(stage)
    const again = await unchanged(stage, async () => {
      await prepare(stage)
      await summarize(stage)
      return commit(stage)
    })
    assert.deepEqual(again, committed)
    assert.equal(paid.length, 1)
    assert.equal((await askerOf(stage))?.state, 'done')
  })

  test('the first end wins: a commit after a close changes no surface', async () => {
    const stage = await spokenStage()
    await prepare(stage)
    await summarize(stage)
    const surface = await stage.store.surface(SESSION)
    await close(stage)
    const outcome = await unchanged(stage, () => commit(stage))
    assert.deepEqual([outcome.outcome, outcome.error?.code], ['failed', 'cancelled'])
    assert.equal((await rowOf(stage))?.outcome?.paid.calls, 1, 'what was paid for nothing is counted')
    assert.deepEqual((await stage.store.surface(SESSION)).nodes, surface.nodes)
    const ends = (await stage.store.events(SESSION)).filter((event) => event.type === 'compact/end')
    assert.equal(ends.length, 1)
  })

  test('an old child after a reset: it commits nothing, and returns the end that the takeover recorded', async () => {
    const stage = await spokenStage()
    await prepare(stage)
    await summarize(stage)
    stage.server.setCurrent(RUN_2)
    await talk(stage, 'e', RUN_2)
    assert.equal((await rowOf(stage))?.outcome?.error?.code, 'interrupted')
    const outcome = await unchanged(stage, () => commit(stage))
    assert.deepEqual([outcome.outcome, outcome.error?.code], ['failed', 'interrupted'])
    assert.equal((await stage.store.surface(SESSION)).generation, 0)
  })

  test('an old child that had not prepared yet is Fenced: it opens nothing in the new run’s session', async () => {
    const stage = await spokenStage()
    stage.server.setCurrent(RUN_2)
    await talk(stage, 'e', RUN_2)
    await unchanged(stage, () =>
      assert.rejects(prepare(stage), (error: { type?: string }) => error.type === 'Fenced'),
    )
    assert.equal(await rowOf(stage), null)
  })

  test('a summary that was paid for before a crash is not paid again', async () => {
    const stage = await spokenStage()
    await prepare(stage)
    await summarize(stage)
    const again = await unchanged(stage, () => summarize(stage))
    assert.equal(again.kind, 'summarized')
    assert.equal(paid.length, 1)
  })
})

describe('a failed automatic attempt', () => {
  const fail = async (stage: ActivityStage, n: number, code: 'summary' | 'cancelled') => {
    const compactionId = `t5.s1.pressure.${n}`
    const child = { workflowId: `${SESSION}/compact/${compactionId}`, runId: `child-${n}` }
    const prepared = await stage.run(child, 'sessionPrepareCompaction', {
      ...attempt,
      compactionId,
      cause: 'pressure',
      turn: 5,
      requestIds: [],
    })
    assert.equal(prepared.kind, 'planned')
    const error = { code, stage: 'summarize', message: 'by the test' } as const
    return (await stage.run(child, 'sessionCloseAttempt', { compactionId, error })).reading.pressure
  }
  const pressed = async () => {
    const stage = await spokenStage({
      policy: { thresholdTokens: 3_500, retainTokens: 500, compactTool: false },
    })
    const started = await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'e', message: 'Talk.' })
    assert.deepEqual([started.turn, started.reading.pressure], [5, 'over'])
    return stage
  }

  test('counts for the breaker: after three of them pressure is held, and a person’s request is not', async () => {
    const stage = await pressed()
    assert.equal(await fail(stage, 0, 'summary'), 'over')
    assert.equal(await fail(stage, 1, 'summary'), 'over')
    assert.equal(await fail(stage, 2, 'summary'), 'held')
    assert.equal(
      (await stage.run(CHILD, 'sessionPrepareCompaction', { ...attempt, turn: 5 })).kind,
      'planned',
    )
  })

  test('that somebody cancelled does not count', async () => {
    const stage = await pressed()
    for (const n of [0, 1, 2, 3]) assert.equal(await fail(stage, n, 'cancelled'), 'over')
  })
})
