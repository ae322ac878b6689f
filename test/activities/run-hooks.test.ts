import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOTHING_PAID } from '../../src/shared/compaction/plan-attempt.ts'
import { openStage, RUN_1 } from '../support/activity-stage.ts'

// Hooks of a queue whose workers differ.

test('a worker that lacks the hook which another one told of says so, and loses it not in silence', async () => {
  const stage = await openStage()
  const { reading } = await stage.run(RUN_1, 'sessionControl', { requests: [] })
  const attempt = { compactionId: 'manual.r', turn: null, cause: 'manual' as const, parent: RUN_1 }
  const numbers = { v: 1, compactionId: 'manual.r', reading, paid: NOTHING_PAID } as const
  const tokens = { tokensBefore: 9, tokensAfter: 9 }
  const error = { code: 'summary', stage: 'summarize', message: 'None.' } as const
  for (const [outcome, hook] of [
    [{ ...numbers, ...tokens, outcome: 'compacted' as const }, 'afterCompaction'],
    [{ ...numbers, ...tokens, outcome: 'failed' as const, error }, 'compactionFailed'],
  ] as const) {
    const told = await stage.run(RUN_1, 'sessionRunHooks', { ...attempt, outcome })
    assert.match(told.hookError ?? '', new RegExp(`^${hook} was not called: this worker`))
  }
})
