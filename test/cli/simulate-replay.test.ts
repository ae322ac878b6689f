import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readLog } from '../../src/cli/read-log.ts'
import { runReplay } from '../../src/cli/replay/run-replay.ts'
import { type SimulatedCompaction, simulate } from '../../src/cli/simulate/simulate.ts'
import { readTranscript } from '../../src/formats/read-transcript.ts'
import { planReplay } from '../../src/formats/replay-plan.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { openTemporal, type TestTemporal } from '../support/temporal.ts'

// What `simulate` says of a policy is what a real session does under it: the same conversation, both ways.

const RECORDED = fileURLToPath(
  new URL('../../../shared/transcripts/claude-code/japanese.jsonl', import.meta.url),
)

const lines = (call: number) =>
  Array.from({ length: 60 }, (_, line) => `export const fn_${call}_${line} = (${line})`).join('\n')

/** One prompt, and so many calls of which each returns 600 tokens. */
const reading = (calls: number): string =>
  JSON.stringify([
    { role: 'user', content: 'Please read the files of the repository one by one.' },
    ...Array.from({ length: calls }, (_, call) => [
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: `c${call}`, name: 'read', input: { path: `f${call}.ts` } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${call}`, content: lines(call) }] },
    ]).flat(),
    { role: 'assistant', content: 'All read.' },
  ])

describe('simulate and replay agree', () => {
  let temporal: TestTemporal
  let store: SessionStore
  let folder: string
  before(async () => {
    temporal = await openTemporal()
    folder = mkdtempSync(join(tmpdir(), 'dc-simulated-'))
    store = sqliteStore({ path: join(folder, 'sessions.db') })
  })
  after(async () => {
    await store.close()
    await temporal.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function bothWays(name: string, text: string, policy: Readonly<Record<string, unknown>>) {
    const transcript = readTranscript(text)
    const sessionId = `${name}-${process.pid}`
    const { log, requests } = await runReplay(transcript, {
      address: temporal.address,
      taskQueue: sessionId,
      store,
      sessionId,
      window: 16_000,
      policy,
      workflows: { workflowBundle: temporal.bundle },
    })
    assert.deepEqual([requests.problems, log.problems], [[], []])
    const { status } = await temporal.client.workflow.getHandle(sessionId).describe()
    assert.equal(status.name, 'COMPLETED', 'nothing stays open on the server')
    const session = await store.session(sessionId)
    assert.ok(session)
    // The session's own header, and its model's usage, which is our count.
    const simulated = simulate(planReplay(transcript), session.header, { usageRatio: 1 })
    return { simulated: simulated.compactions, played: await compactedBefore(sessionId) }
  }

  /** Numbers of the replies, from 1, before which the session compacted. */
  async function compactedBefore(sessionId: string): Promise<number[]> {
    let replies = 0
    return (await readLog(store, sessionId)).flatMap(({ type }) => {
      if (type === 'assistant/message') replies++
      return type === 'compact/summary' ? [replies + 1] : []
    })
  }

  const compacted = (compactions: readonly SimulatedCompaction[]) =>
    compactions.filter(({ outcome }) => outcome === 'compacted').map(({ beforeReply }) => beforeReply)

  test('a policy that helps: the same compactions before the same replies', {
    timeout: 200_000,
  }, async () => {
    const policy = { thresholdTokens: 5_000, retainTokens: 1_000 }
    const { simulated, played } = await bothWays('helps', reading(24), policy)
    assert.deepEqual(compacted(simulated), played)
    assert.ok(played.length >= 3, `${played.length} compactions`)
  })

  test('one that cannot help: the breaker pauses both, only a full window compacts', {
    timeout: 200_000,
  }, async () => {
    const policy = { thresholdTokens: 1_200, retainTokens: 500 }
    const { simulated, played } = await bothWays('vain', reading(26), policy)
    assert.deepEqual(compacted(simulated), played)
    assert.ok(played.length >= 1 && played.length <= 4, `${played.length} compactions of 27 replies`)
    assert.ok(simulated.some(({ cause }) => cause === 'context-overflow'))
  })

  test('a recorded session', { timeout: 400_000, skip: !existsSync(RECORDED) }, async () => {
    const policy = { thresholdTokens: 5_000 }
    const { simulated, played } = await bothWays('recorded', readFileSync(RECORDED, 'utf8'), policy)
    assert.deepEqual(compacted(simulated), played)
    assert.ok(played.length >= 1)
  })
})
