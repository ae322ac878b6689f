import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { archivePathOf, archiveText } from '../../src/shared/compaction/archive.ts'
import { surfaceAt } from '../../src/shared/session/surface-at.ts'
import { surviveKill } from '../support/boundary-processes.ts'
import { type Boundary, POLICY } from '../support/boundary-worker.ts'
import { ofType } from '../support/of-type.ts'
import { openTemporal, type TestTemporal } from '../support/temporal.ts'

// A worker that is killed around a compaction: between its commit and its hook, and behind its archive.

let temporal: TestTemporal
before(async () => {
  temporal = await openTemporal()
})
after(() => temporal.close())

const survives = (boundary: Boundary, check: Parameters<typeof surviveKill>[3]) =>
  surviveKill(
    temporal,
    { boundary, hooks: true },
    (folder) => ({ ...POLICY, archive: archiveIn(folder) }),
    check,
  )

const archiveIn = (folder: string): string => join(folder, 'archive')

describe('a worker is killed around a compaction', () => {
  for (const phase of ['before', 'after'] as const) {
    test(
      `H8 ${phase} sessionRunHooks: what the hook gives stands once behind each commit, before the next reply`,
      {
        timeout: 180_000,
      },
      () =>
        survives({ phase, activity: 'sessionRunHooks' }, ({ log: events }) => {
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
      survives({ phase: 'call', ordinal: 0 }, async ({ session, store, log, folder }) => {
        const archive = archiveIn(folder)
        const starts = ofType(log, 'compact/start')
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
