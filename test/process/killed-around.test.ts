import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readLog } from '../../src/cli/read-log.ts'
import { type Session, SessionClient } from '../../src/client/index.ts'
import { archivePathOf, archiveText } from '../../src/shared/compaction/archive.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { surfaceAt } from '../../src/shared/session/surface-at.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { killAtBoundary, type StartedWorker, startWorker } from '../support/boundary-processes.ts'
import { type Boundary, type BoundaryStage, POLICY } from '../support/boundary-worker.ts'
import { ofType } from '../support/of-type.ts'
import { openTemporal, type TestTemporal } from '../support/temporal.ts'

// A worker that is killed around a compaction: between its commit and its hook, and behind its archive.

let temporal: TestTemporal
before(async () => {
  temporal = await openTemporal()
})
after(() => temporal.close())

interface Survived {
  readonly session: Session
  readonly store: SessionStore
  readonly archive: string
}

/** One turn under pressure; its first worker is killed at the boundary, another one goes on. */
async function survives(boundary: Boundary, check: (survived: Survived) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'dc-around-'))
  const archive = join(folder, 'archive')
  const stage: BoundaryStage = {
    address: temporal.address,
    taskQueue: `around-${randomUUID().slice(0, 8)}`,
    storePath: join(folder, 'sessions.db'),
    paidPath: join(folder, 'paid'),
    boundary,
    hooks: true,
  }
  writeFileSync(stage.paidPath, '')
  const store = sqliteStore({ path: stage.storePath })
  const workers: StartedWorker[] = []
  try {
    workers.push(await startWorker(stage))
    const sessions = new SessionClient({
      client: temporal.client,
      store,
      taskQueue: stage.taskQueue,
      workerTimeoutMs: 60_000,
    })
    const session = await sessions.start(`around-${randomUUID().slice(0, 8)}`, {
      model: 'scripted/large',
      tools: ['words'],
      policy: { ...POLICY, archive },
      heartbeatTimeoutMs: 1_000,
    })
    const turn = await session.prompt('Count the words.', { requestId: 'p1' })
    await killAtBoundary(workers[0] as StartedWorker)
    workers.push(await startWorker({ ...stage, boundary: null }))
    assert.equal((await turn.result({ timeoutMs: 90_000 })).reason, 'completed')
    await check({ session, store, archive })
  } finally {
    for (const { child } of workers) child.kill('SIGKILL')
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('a worker is killed around a compaction', () => {
  for (const phase of ['before', 'after'] as const) {
    test(
      `H8 ${phase} sessionRunHooks: what the hook gives stands once behind each commit, before the next reply`,
      {
        timeout: 180_000,
      },
      () =>
        survives({ phase, activity: 'sessionRunHooks' }, async ({ session, store }) => {
          const events = await readLog(store, session.id)
          const ends = ofType(events, 'compact/end')
          const retold = ofType(events, 'user/message').filter(({ data }) => data.source === 'context')
          assert.ok(ends.length >= 1 && ends.every(({ data }) => data.error === undefined))
          assert.deepEqual(
            retold.map(({ key }) => key),
            ends.map(({ data }) => `compact.${data.compactionId}.context.0`),
          )
          for (const [n, end] of ends.entries()) {
            const reply = ofType(events, 'assistant/message').find(({ seq }) => seq > end.seq)
            assert.ok((retold[n]?.seq ?? 0) > end.seq && (retold[n]?.seq ?? 0) < (reply?.seq ?? 0))
          }
        }),
    )
  }

  test(
    'the archive that it had written is the one that stays, byte for byte what the store gives',
    {
      timeout: 180_000,
    },
    () =>
      survives({ phase: 'call', ordinal: 0 }, async ({ session, store, archive }) => {
        const starts = ofType(await readLog(store, session.id), 'compact/start')
        const paths = starts.map(({ time, data }) =>
          archivePathOf(archive, { sessionId: session.id, compactionId: data.compactionId, startedAt: time }),
        )
        const found = readdirSync(join(archive, session.id)).map((name) => join(archive, session.id, name))
        assert.deepEqual(found.sort(), [...paths].sort(), 'one for each compaction, and no partial file')
        for (const [n, start] of starts.entries()) {
          const expected = archiveText(await surfaceAt(store, session.id, start.seq))
          assert.equal(readFileSync(paths[n] ?? '', 'utf8'), expected)
          assert.ok(expected.split('\n').length > 3)
        }
      }),
  )
})
