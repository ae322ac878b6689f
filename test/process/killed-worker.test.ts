import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { surviveKill } from '../support/boundary-processes.ts'
import { type Boundary, FALLING_BACK, POLICY, STEPS } from '../support/boundary-worker.ts'
import { ofType } from '../support/of-type.ts'
import { openTemporal, type TestTemporal } from '../support/temporal.ts'

let temporal: TestTemporal
before(async () => {
  temporal = await openTemporal()
})
after(() => temporal.close())

const BOUNDARIES: readonly Boundary[] = [
  ...['sessionPrepareCompaction', 'sessionSummarize', 'sessionCommitCompaction'].flatMap(
    (activity): Boundary[] => [
      { phase: 'before', activity },
      { phase: 'after', activity },
    ],
  ),
  { phase: 'call', ordinal: 0 },
  { phase: 'call', ordinal: 1 },
]

const nameOf = (boundary: Boundary): string =>
  boundary.phase === 'call'
    ? `before summary call ${boundary.ordinal} is answered`
    : `${boundary.phase} ${boundary.activity}`

describe('I1: a worker is killed at each boundary of a compaction', () => {
  for (const boundary of BOUNDARIES) {
    test(
      `G4 fault L01: killed ${nameOf(boundary)}: one end, nothing lost, nothing stored paid twice`,
      {
        timeout: 300_000,
      },
      () =>
        surviveKill(
          temporal,
          { boundary },
          () => ({ ...POLICY }),
          ({ log, paid }) => checkLog(log, paid),
        ),
    )
  }
})

test(
  'fault L01: killed in the middle of a second model’s parts: the first, which was refused, is not asked again, and nothing stored is paid twice',
  { timeout: 300_000 },
  () =>
    surviveKill(
      temporal,
      { boundary: { phase: 'call', ordinal: 1 } },
      () => ({ ...FALLING_BACK }),
      ({ log, paid }) => {
        const lines = paid.split('\n')
        checkLog(log, lines.filter((line) => line !== 'refused').join('\n'))
        const calls = ofType(log, 'compact/call').map(({ data }) => data)
        assert.ok(calls.every(({ model, accepted }) => model === POLICY.summarizer.model && accepted))
        const first = lines.findIndex((line) => line.startsWith('summary'))
        const ofFirst = calls.filter(({ compactionId }) => compactionId === calls[0]?.compactionId)
        assert.ok(lines.slice(0, first).includes('refused'))
        assert.ok(lines.slice(first, first + ofFirst.length).every((line) => line.startsWith('summary')))
        const summaries = ofType(log, 'compact/summary')
        for (const { data } of summaries)
          assert.deepEqual(data.failed, [{ ...FALLING_BACK.summarizer, reason: 'authentication' }])
        const told = ofType(log, 'session/notice').filter(({ data }) => data.failed !== undefined)
        assert.equal(told.length, summaries.length, 'once in each compaction')
      },
    ),
)

function checkLog(events: readonly SessionEvent[], paid: string): void {
  assert.doesNotMatch(paid, /invalid/, 'a request that breaks the rules of the provider')
  const ids = events.flatMap((event) => (event.type === 'compact/start' ? [event.data.compactionId] : []))
  assert.ok(ids.length > 0, 'nothing was compacted')
  assert.equal(new Set(ids).size, ids.length, 'a bracket was opened twice')
  for (const id of ids) {
    const ends = events.filter((event) => event.type === 'compact/end' && event.data.compactionId === id)
    assert.equal(ends.length, 1, `${id} has ${ends.length} ends`)
    assert.equal(ends[0]?.type === 'compact/end' && ends[0].data.error, undefined)
    const chunks = events.filter((event) => event.type === 'compact/call' && event.data.compactionId === id)
    assert.ok(chunks.length > 1, 'the summary went in one call: nothing could be resumed')
  }
  const results = events.filter(
    (event) => event.type === 'tool/result' && typeof event.surfaceOp !== 'object',
  )
  assert.deepEqual(
    results.map((event) => event.type === 'tool/result' && event.data.callId),
    Array.from({ length: STEPS }, (_, index) => `call_${index}`),
  )
  const answers = paid.split('\n').filter((line) => line !== '').length
  const stored = events.filter(
    (event) => event.type === 'assistant/message' || event.type === 'compact/call',
  ).length
  assert.equal(answers, stored, 'answers that the model gave, and those that the log holds')
}
