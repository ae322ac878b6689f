import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readLog } from '../../src/cli/read-log.ts'
import { SessionClient } from '../../src/client/index.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { killAtBoundary, type StartedWorker, startWorker } from '../support/boundary-processes.ts'
import { type Boundary, type BoundaryStage, POLICY, STEPS } from '../support/boundary-worker.ts'
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
    test(`G4 fault L01: killed ${nameOf(boundary)}: one end, nothing lost, nothing stored paid twice`, {
      timeout: 300_000,
    }, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'dc-kill-'))
      const stage: BoundaryStage = {
        address: temporal.address,
        taskQueue: `kill-${randomUUID().slice(0, 8)}`,
        storePath: join(folder, 'sessions.db'),
        paidPath: join(folder, 'paid'),
        boundary,
      }
      writeFileSync(stage.paidPath, '')
      const store = sqliteStore({ path: stage.storePath })
      const workers: StartedWorker[] = []
      try {
        const doomed = await startWorker(stage)
        workers.push(doomed)
        const sessions = new SessionClient({
          client: temporal.client,
          store,
          taskQueue: stage.taskQueue,
          workerTimeoutMs: 60_000,
        })
        const session = await sessions.start(`kill-${randomUUID().slice(0, 8)}`, {
          model: 'scripted/large',
          tools: ['words'],
          policy: { ...POLICY },
          heartbeatTimeoutMs: 3_000, // A worker that is only late must not count as dead: its calls would be paid twice.
        })
        const turn = await session.prompt('Count the words.', { requestId: 'p1' })
        await killAtBoundary(doomed)
        workers.push(await startWorker({ ...stage, boundary: null }))
        const { reason } = await turn.result({ timeoutMs: 120_000 })
        assert.equal(reason, 'completed')
        checkLog(await readLog(store, session.id), readFileSync(stage.paidPath, 'utf8'))
      } finally {
        for (const { child } of workers) child.kill('SIGKILL')
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
})

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
