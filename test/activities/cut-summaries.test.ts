import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actor } from '../../src/shared/ports/store.ts'
import { text } from '../../src/shared/session/content.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { type ActivityStage, RUN_1, SESSION } from '../support/activity-stage.ts'
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

const SUMMARY = 'Wörter – 話した 👍. Next: go on.'
const CHILD: Actor = { workflowId: `${SESSION}/compact/manual.r`, runId: 'child-1' }
const ATTEMPT = {
  compactionId: 'manual.r',
  turn: null,
  cause: 'manual' as const,
  requestIds: ['r'],
  parent: RUN_1,
}
/** What a call cost that came to nothing is in the log: so many of them in one session. */
const CUTS_EACH = 50

/** A session whose compaction waits for its summary. */
async function planned(far: FarEnd): Promise<ActivityStage> {
  far.answer = () => cutResponse(bytesOf([text('word '.repeat(300))]), 'ends')
  const stage = await openCutStage(far)
  for (const requestId of ['a', 'b', 'c', 'd']) {
    const { turn } = await stage.run(RUN_1, 'sessionStartTurn', { requestId, message: 'Talk.' })
    await stage.run(RUN_1, 'sessionCallModel', { turn, step: 1 })
  }
  await stage.store.putInbox({ sessionId: SESSION, requestId: 'r', kind: 'compaction', body: {} })
  assert.equal((await stage.run(CHILD, 'sessionPrepareCompaction', ATTEMPT)).kind, 'planned')
  return stage
}

async function commit(stage: ActivityStage): Promise<void> {
  const { paid } = await stage.run(CHILD, 'sessionSummarize', ATTEMPT)
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const ended = await stage.run(CHILD, 'sessionCommitCompaction', {
    ...ATTEMPT,
    paid: paid ?? { calls: 1, reused: 0, usage },
    deterministic: false,
  })
  assert.equal(ended.outcome, 'compacted')
  assert.ok((await surfaceOf(stage)).includes(SUMMARY))
}

describe('a stream that is cut at every byte', () => {
  test('a summary: none is made of a part of it, and the next attempt has the whole', async () => {
    const far: FarEnd = { answer: () => Response.error() }
    const bytes = bytesOf([{ type: 'thinking', thinking: 'Hm.', signature: 's' }, text(SUMMARY)])
    const cuts = cutsOf(bytes)
    for (let from = 0; from < cuts.length; from += CUTS_EACH) {
      const stage = await planned(far)
      const before = await surfaceOf(stage)
      for (const { at, end } of cuts.slice(from, from + CUTS_EACH)) {
        far.answer = () => cutResponse(bytes.subarray(0, at), end)
        await failsForRetry(stage.run(CHILD, 'sessionSummarize', ATTEMPT), `${end} at byte ${at}`)
      }
      assert.equal(await surfaceOf(stage), before)
      assert.equal(await stage.store.eventByKey(SESSION, keys.compactCall('manual.r', 0)), null)
      far.answer = () => cutResponse(bytes, 'ends')
      await commit(stage)
      await stage.store.close()
    }
  })
})
