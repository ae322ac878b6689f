import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actor } from '../../src/shared/ports/store.ts'
import { text } from '../../src/shared/session/content.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { RUN_1, SESSION } from '../support/activity-stage.ts'
import {
  bytesOf,
  cutResponse,
  cutsOf,
  type FarEnd,
  failsForRetry,
  openCutStage,
  surfaceOf,
} from '../support/anthropic/cut-stream.ts'

// A streamed summary that is cut at every byte of it, through the official SDK and the activity: no checkpoint is made of a part.

describe('a stream that is cut at every byte', () => {
  test('a summary: none is made of a part of it, and the next attempt has the whole', async () => {
    const SUMMARY = 'Wörter – 話した 👍. Next: go on.'
    const far: FarEnd = { answer: () => cutResponse(bytesOf([text('word '.repeat(300))]), 'ends') }
    const stage = await openCutStage(far)
    for (const requestId of ['a', 'b', 'c', 'd']) {
      const { turn } = await stage.run(RUN_1, 'sessionStartTurn', { requestId, message: 'Talk.' })
      await stage.run(RUN_1, 'sessionCallModel', { turn, step: 1 })
    }
    const child: Actor = { workflowId: `${SESSION}/compact/manual.r`, runId: 'child-1' }
    const attempt = {
      compactionId: 'manual.r',
      turn: null,
      cause: 'manual' as const,
      requestIds: ['r'],
      parent: RUN_1,
    }
    await stage.store.putInbox({ sessionId: SESSION, requestId: 'r', kind: 'compaction', body: {} })
    assert.equal((await stage.run(child, 'sessionPrepareCompaction', attempt)).kind, 'planned')
    const before = await surfaceOf(stage)
    const bytes = bytesOf([{ type: 'thinking', thinking: 'Hm.', signature: 's' }, text(SUMMARY)])
    for (const { at, end } of cutsOf(bytes)) {
      far.answer = () => cutResponse(bytes.subarray(0, at), end)
      await failsForRetry(stage.run(child, 'sessionSummarize', attempt), `${end} at byte ${at}`)
    }
    assert.equal(await surfaceOf(stage), before)
    assert.equal(await stage.store.eventByKey(SESSION, keys.compactCall('manual.r', 0)), null)
    far.answer = () => cutResponse(bytes, 'ends')
    const { paid } = await stage.run(child, 'sessionSummarize', attempt)
    const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
    const ended = await stage.run(child, 'sessionCommitCompaction', {
      ...attempt,
      paid: paid ?? { calls: 1, reused: 0, usage },
      deterministic: false,
    })
    assert.equal(ended.outcome, 'compacted')
    assert.ok((await surfaceOf(stage)).includes(SUMMARY))
    await stage.store.close()
  })
})
