import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isText } from '../../src/shared/session/content.ts'
import { surviveKill } from '../support/boundary-processes.ts'
import { POLICY, RECALL } from '../support/boundary-worker.ts'
import { ofType } from '../support/of-type.ts'
import { openTemporal, type TestTemporal } from '../support/temporal.ts'

// A worker that is killed while it reads back what a compaction replaced.

let temporal: TestTemporal
before(async () => {
  temporal = await openTemporal()
})
after(() => temporal.close())

describe('a worker is killed while it answers the history tool', () => {
  for (const phase of ['before', 'after'] as const)
    test(`I1 killed ${phase} the answer: one result, with its citation`, { timeout: 300_000 }, () =>
      surviveKill(
        temporal,
        { boundary: { phase, activity: 'sessionRunTool', callId: RECALL.id }, recalls: true },
        () => ({ ...POLICY }),
        ({ log, paid }) => {
          assert.doesNotMatch(paid, /invalid/, 'a request that breaks the rules of the provider')
          assert.ok(ofType(log, 'compact/end').length > 0, 'the first result has left the surface')
          const [first] = ofType(log, 'tool/result')
          const [answer, ...more] = ofType(log, 'tool/result').filter(({ data }) => data.callId === RECALL.id)
          assert.deepEqual([more.length, answer?.data.isError], [0, false])
          const said = answer?.data.content
            .filter(isText)
            .map(({ text }) => text)
            .join('')
          assert.ok(said?.includes(`[#${first?.seq}] `), said)
        },
      ),
    )
})
