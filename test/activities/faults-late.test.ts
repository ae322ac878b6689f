import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RUN_1, SESSION } from '../support/activity-stage.ts'
import { Gate } from '../support/gate.ts'
import { ofType } from '../support/of-type.ts'
import { openStagedSession } from '../support/staged-session.ts'

// Theme J, where the worker does not hear of its attempt's end: frozen, or cut off from the server.

for (const late of ['answer', 'failure'] as const) {
  test(`fault J02: the summary of a closed compaction comes after the next one was made, as ${late}: it changes nothing, and what was paid is in the log`, async () => {
    const gate = new Gate()
    let asked = 0
    const { stage, say, compact, sound } = await openStagedSession({
      window: 32_000,
      reply: () => 'word '.repeat(900),
      summary: async () => {
        if (asked++ > 0) return 'The second summary.'
        await gate.wait()
        if (late === 'failure') throw new Error('too late to fail')
        return 'The LATE summary.'
      },
    })
    for (let n = 0; n < 4; n++) await say('Talk.')
    const compactionId = 'manual.A'
    const work = { compactionId, cause: 'manual', turn: null, parent: RUN_1 } as const
    const child = { workflowId: `${SESSION}/compact/${compactionId}`, runId: 'child-1' }
    assert.equal((await stage.run(child, 'sessionPrepareCompaction', work)).kind, 'planned')
    const summarizing = stage.start(child, 'sessionSummarize', work).result.catch((error: unknown) => error)
    await gate.reached
    const error = { code: 'cancelled', stage: 'session', message: 'takes too long' } as const
    await stage.run(RUN_1, 'sessionCloseAttempt', { compactionId, error })
    assert.equal((await compact()).outcome, 'compacted')
    const before = await stage.store.surface(SESSION)
    gate.open()
    await summarizing
    const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
    const paid = { calls: 1, reused: 0, usage }
    const ended = await stage.run(child, 'sessionCommitCompaction', { ...work, paid, deterministic: false })
    assert.deepEqual([ended.outcome, ended.error], ['failed', error])
    assert.deepEqual((await stage.store.surface(SESSION)).nodes, before.nodes)
    const events = await sound()
    assert.deepEqual(
      ofType(events, 'compact/end').map(({ data }) => [data.compactionId, data.error?.code]),
      [
        [compactionId, 'cancelled'],
        ['manual.c5', undefined],
      ],
    )
    assert.equal(ofType(events, 'compact/summary').length, 1)
    const lost = ofType(events, 'compact/call').filter(({ data }) => data.compactionId === compactionId)
    assert.deepEqual(
      lost.map(({ data }) => (data.usage?.inputTokens ?? 0) > 0),
      late === 'answer' ? [true] : [],
    )
  })
}
