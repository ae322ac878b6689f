import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type ReplayReport, runReplay } from '../../src/cli/replay/run-replay.ts'
import { formatCount, formatMs, formatTable } from '../../src/cli/table.ts'
import { readTranscript } from '../../src/formats/read-transcript.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { openTemporal, type TestTemporal } from '../support/temporal.ts'

// Recorded sessions of real agents, played through the real server. Two in an ordinary run; all with DURABLE_COMPACTION_TEST_SCOPE=all.

interface Recorded {
  readonly file: string
  readonly compactions: number
  readonly always?: true
  readonly thresholdTokens?: number
}

const CORPUS = fileURLToPath(new URL('../../../shared/transcripts', import.meta.url))
const RECORDED: readonly Recorded[] = [
  { file: 'claude-code/japanese.jsonl', compactions: 1, thresholdTokens: 5_000, always: true },
  { file: 'swe-agent/marshmallow-1867.traj', compactions: 1, thresholdTokens: 5_000 },
  { file: 'claude-code/resumed-duplicates.jsonl', compactions: 3, always: true },
  { file: 'claude-code/auto-compaction.jsonl', compactions: 3 },
  { file: 'claude-code/manual-compaction.jsonl', compactions: 3 },
  { file: 'claude-code/never-compacted.jsonl', compactions: 3 },
  { file: 'claude-code/broken-line.jsonl', compactions: 3 },
  { file: 'pi/two-compactions.jsonl', compactions: 3 },
  { file: 'mini-swe-agent/huge-tool-result.traj.json', compactions: 3 },
]

const all = process.env['DURABLE_COMPACTION_TEST_SCOPE'] === 'all'
const played = RECORDED.filter((recorded) => all || recorded.always)
const here = existsSync(CORPUS)
if (!here) console.log('The recorded transcripts are not beside the project: no replay of them was tried.')

describe('recorded sessions through the real server', () => {
  const reports: (readonly [Recorded, ReplayReport])[] = []
  let temporal: TestTemporal
  let store: SessionStore
  let folder: string
  before(async () => {
    if (!here) return
    temporal = await openTemporal()
    folder = mkdtempSync(join(tmpdir(), 'dc-corpus-'))
    store = sqliteStore({ path: join(folder, 'sessions.db') })
  })
  after(async () => {
    if (!here) return
    printReports(reports)
    await store.close()
    await temporal.close()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const recorded of here ? played : []) {
    test(`${recorded.file}: at least ${recorded.compactions} compactions, every request valid, nothing lost`, {
      timeout: 400_000,
    }, async () => {
      const text = readFileSync(join(CORPUS, recorded.file), 'utf8')
      const id = recorded.file.replace(/[^A-Za-z0-9]+/g, '-')
      const report = await runReplay(readTranscript(text, { fileName: recorded.file }), {
        address: temporal.address,
        taskQueue: `corpus-${process.pid}-${id}`,
        store,
        sessionId: `${id}-${process.pid}`,
        workflows: { workflowBundle: temporal.bundle },
        ...(recorded.thresholdTokens === undefined
          ? {}
          : { policy: { thresholdTokens: recorded.thresholdTokens } }),
      })
      reports.push([recorded, report])
      const { requests, log, window } = report
      assert.deepEqual(requests.problems, [], 'every request is valid for the API')
      assert.deepEqual(log.problems, [], 'the log gives back what was recorded')
      assert.equal(log.brackets.closedOnce, log.brackets.opened, 'every bracket closes once')
      assert.ok(
        requests.largest <= window,
        `a request of ${requests.largest} tokens in a window of ${window}`,
      )
      assert.ok(log.compactions >= recorded.compactions, `${log.compactions} compactions`)
    })
  }
})

function printReports(reports: readonly (readonly [Recorded, ReplayReport])[]): void {
  const rows = reports.map(([{ file }, { window, turns, requests, log, durationMs }]) => [
    file,
    formatCount(window),
    turns,
    requests.requests,
    formatCount(requests.largest),
    log.compactions,
    `${log.brackets.opened} = ${log.brackets.closedOnce}`,
    requests.problems.length + log.problems.length,
    formatMs(durationMs),
  ])
  console.log(
    formatTable(
      ['file', 'window', 'turns', 'requests', 'largest', 'compactions', 'brackets', 'problems', 'time'],
      rows,
    ),
  )
}
