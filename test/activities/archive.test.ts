import assert from 'node:assert/strict'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { archivePathOf, archiveText } from '../../src/shared/compaction/archive.ts'
import type { Actor } from '../../src/shared/ports/store.ts'
import { surfaceAt } from '../../src/shared/session/surface-at.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'

// The archive of a compaction: written before anything is paid, or nothing is.

const ID = 'manual.r'
const CHILD: Actor = { workflowId: `${SESSION}/compact/${ID}`, runId: 'child-1' }
const attempt = { compactionId: ID, turn: null, cause: 'manual' as const, parent: RUN_1 }

const root = mkdtempSync(join(tmpdir(), 'dc-archive-'))
after(() => rmSync(root, { recursive: true, force: true }))

async function prepared(archive: string, onPaid: () => void = () => undefined): Promise<ActivityStage> {
  const model = scriptedModel(() => 'word '.repeat(900), {
    capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
    summaries: () => {
      onPaid()
      return 'Words were said. Next: nothing.'
    },
  })
  const stage = await openStage({ model, policy: { archive } })
  for (const requestId of ['a', 'b', 'c', 'd']) {
    const { turn } = await stage.run(RUN_1, 'sessionStartTurn', { requestId, message: 'Talk.' })
    await stage.run(RUN_1, 'sessionCallModel', { turn, step: 1 })
  }
  await stage.run(CHILD, 'sessionPrepareCompaction', attempt)
  return stage
}

const summarize = (stage: ActivityStage) => stage.run(CHILD, 'sessionSummarize', attempt)

const startOf = async ({ store }: ActivityStage) => {
  const start = await store.eventByKey(SESSION, `compact.${ID}.start`)
  assert.ok(start)
  return { seq: start.seq, startedAt: start.time }
}

async function commit(stage: ActivityStage) {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const paid = { calls: 1, reused: 0, usage }
  return stage.run(CHILD, 'sessionCommitCompaction', { ...attempt, paid, deterministic: false })
}

async function sayLate(stage: ActivityStage): Promise<void> {
  const content = [{ type: 'text', text: 'late '.repeat(500) }]
  const event = {
    key: 'late',
    type: 'user/message',
    turn: null,
    step: null,
    data: { content, source: 'notice' },
    tokens: 500,
    surfaceOp: 'append',
  } as const
  await stage.store.append({ sessionId: SESSION, actor: RUN_1, turn: null, events: [event] })
}

describe('the archive of a compaction', () => {
  test('it holds the surface as it was at the start, for its owner alone, and the checkpoint names it', async () => {
    const folder = join(root, 'kept')
    let lines = 0
    const stage = await prepared(folder, () => {
      lines = readFileSync(
        archivePathOf(folder, { sessionId: SESSION, compactionId: ID, startedAt }),
        'utf8',
      ).split('\n').length
    })
    const { seq, startedAt } = await startOf(stage)
    const { nodes } = await stage.store.surface(SESSION)
    const path = archivePathOf(folder, { sessionId: SESSION, compactionId: ID, startedAt })
    await sayLate(stage)
    await summarize(stage)
    assert.equal(lines, nodes.length + 1, 'it was whole before the call was paid')
    assert.equal(readFileSync(path, 'utf8'), archiveText(nodes))
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(join(folder, SESSION)), [path.split('/').at(-1)], 'no partial file')
    assert.equal((await commit(stage)).outcome, 'compacted')
    const [checkpoint] = (await stage.store.surface(SESSION)).nodes
    assert.ok(JSON.stringify(checkpoint?.data).includes(JSON.stringify(JSON.stringify(path)).slice(1, -1)))
    assert.equal(
      archiveText(await surfaceAt(stage.store, SESSION, seq)),
      archiveText(nodes),
      'by the log alone, afterwards',
    )
  })

  test('a repeated attempt writes the same bytes under the same name', async () => {
    const folder = join(root, 'again')
    const stage = await prepared(folder)
    const { startedAt } = await startOf(stage)
    const path = archivePathOf(folder, { sessionId: SESSION, compactionId: ID, startedAt })
    const expected = archiveText((await stage.store.surface(SESSION)).nodes)
    mkdirSync(join(folder, SESSION), { recursive: true })
    writeFileSync(path, expected.slice(0, 100)) // As no version of ours leaves it.
    await sayLate(stage)
    await summarize(stage)
    assert.equal(readFileSync(path, 'utf8'), expected)
  })

  for (const [what, spoil] of [
    ['the folder is a file', (folder: string) => writeFileSync(folder, '')],
    [
      'the session’s folder is a file',
      (folder: string) => {
        mkdirSync(folder)
        writeFileSync(join(folder, SESSION), '')
      },
    ],
    [
      'the name is taken by a folder',
      (_folder: string, path: string) => mkdirSync(path, { recursive: true }),
    ],
    [
      'the folder is a link to nowhere',
      (folder: string) => symlinkSync(join(root, 'nowhere', 'at-all'), folder),
    ],
    // Where there is no /proc it is one more link to nowhere.
    [
      'the folder takes no folders, as if they were missing',
      (folder: string) => symlinkSync('/proc', folder),
    ],
  ] as const) {
    test(`${what}: it fails as archive before anything is paid, and the surface is unchanged`, async () => {
      const folder = join(root, what.replaceAll(' ', '-'))
      let paid = 0
      const stage = await prepared(folder, () => paid++)
      const before = await stage.store.surface(SESSION)
      const { startedAt } = await startOf(stage)
      spoil(folder, archivePathOf(folder, { sessionId: SESSION, compactionId: ID, startedAt }))
      const result = await summarize(stage)
      assert.equal(result.kind, 'failed')
      assert.deepEqual(result.kind === 'failed' && [result.error.code, result.error.stage], [
        'archive',
        'summarize',
      ])
      assert.match(
        result.kind === 'failed' ? result.error.message : '',
        /could not be written: .*Nothing was paid/,
      )
      assert.equal(paid, 0)
      assert.deepEqual((await stage.store.surface(SESSION)).nodes, before.nodes)
    })
  }
})
