import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { WorkflowRuns } from '../../src/activities/deps.ts'
import type { Session } from '../../src/client/index.ts'
import { ManualCompactionError, SessionError } from '../../src/shared/errors.ts'
import type { FailedCompaction } from '../../src/shared/ports/hooks.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { AS_OWNER, SESSION } from '../../src/store/contract/harness.ts'
import { ATTEMPT_ID, openPlanned, twoMessages } from '../../src/store/contract/sample-attempt.ts'
import { sampleHeader } from '../../src/store/contract/sample-events.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { startReconciler } from '../../src/worker/reconciler.ts'
import { replied } from '../support/acceptance.ts'
import { eventually } from '../support/eventually.ts'
import { type HookedStore, hookedStore } from '../support/hooked-store.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'

// Who tells `compactionFailed` of an attempt whose own workflow cannot: real activities and store on a real server.

const told: FailedCompaction[] = []
const toldOf = (sessionId: string) => told.filter((failed) => failed.sessionId === sessionId)
const compactionFailed = async (failed: FailedCompaction) => void told.push(failed)

/** Summaries come never: they end by their abort. */
const model = scriptedModel(() => 'Done.', {
  capacity: { contextWindow: 64_000, maxOutputTokens: 4_000 },
  summaries: (_request, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
})

const folder = mkdtempSync(join(tmpdir(), 'dc-told-'))
let hooked: HookedStore
let real: RealSessions
before(async () => {
  hooked = hookedStore(sqliteStore({ path: join(folder, 'sessions.db') }))
  const hooks = { compactionFailed }
  real = await openRealSessions({ scripted: model }, [], { store: hooked.store, hooks })
})
after(async () => {
  await real.close()
  rmSync(folder, { recursive: true, force: true })
})

async function filled(): Promise<Session> {
  const session = await real.start()
  const { owner: actor } = (await real.store.session(session.id)) ?? assert.fail('no such session')
  const events = [1, 2, 3].map((n) => replied(n))
  await real.store.append({ sessionId: session.id, actor, turn: null, events })
  assert.equal((await (await session.prompt('Go on.')).result({ timeoutMs: 60_000 })).reason, 'completed')
  await whenIdle(session)
  return session
}

const failsAs = (running: Promise<unknown>, code: string) =>
  assert.rejects(running, (error) => error instanceof ManualCompactionError && error.code === code)

describe('compactionFailed', { concurrency: true }, () => {
  test('a compaction whose workflow was terminated is told by its session’s, once', async () => {
    const session = await filled()
    const compacting = failsAs(
      session.compactNow({ requestId: 'a', focus: 'the words', whenBusy: 'wait' }),
      'interrupted',
    )
    await eventually(
      () => real.store.eventByKey(session.id, keys.compactStart('manual.a')),
      (start) => start !== null,
    )
    await real.client.workflow.getHandle(`${session.id}/compact/manual.a`).terminate('by a person')
    await compacting
    await whenIdle(session)
    const [failed, ...others] = toldOf(session.id)
    assert.deepEqual(
      [failed?.compactionId, failed?.cause, failed?.focus, failed?.error.code, others.length],
      ['manual.a', 'manual', 'the words', 'interrupted', 0],
    )
  })

  test('one that could not be prepared is told by its own close, once', async () => {
    const session = await filled()
    hooked.on(session.id, 'openAttempt', async () => {
      throw new SessionError('InvalidInput', 'no place for it')
    })
    await failsAs(session.compactNow({ requestId: 'b', whenBusy: 'wait' }), 'persistence')
    await whenIdle(session)
    const [failed, ...others] = toldOf(session.id)
    assert.deepEqual(
      [failed?.compactionId, failed?.error.code, failed?.error.stage, others.length],
      ['manual.b', 'persistence', 'prepare', 0],
    )
  })
})

/** A session with an open attempt, and reconcilers of its store whose errors fail the test. */
async function abandoned(name: string) {
  const store = sqliteStore({ path: join(folder, `${name}.db`), now: () => 1_000 })
  await store.createSession({ ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader() })
  await openPlanned(store, await twoMessages(store))
  const heard: FailedCompaction[] = []
  const reconciler = (describe: WorkflowRuns['describe']) =>
    startReconciler({
      store,
      runs: { describe },
      terminate: async () => assert.fail('nothing runs'),
      namespace: 'default',
      cluster: 'c1',
      clock: () => 2_000,
      minAgeMs: 0,
      hooks: { compactionFailed: async (failed) => void heard.push(failed) },
      onError: (error) => assert.fail(String(error)),
    })
  return { store, heard, reconciler }
}

for (const [what, running, times] of [
  ['nobody waits for it: the reconciler tells', false, 1],
  ['its session’s workflow runs and will tell: the reconciler does not', true, 0],
] as const)
  test(`compactionFailed: an attempt whose workflow is gone, and ${what}`, async () => {
    const { store, heard, ...stage } = await abandoned(`${running}`)
    const owner = { runId: 'run-1', firstRunId: 'run-1', running }
    const reconciler = stage.reconciler(async (id) => (id === AS_OWNER.actor.workflowId ? owner : null))
    assert.deepEqual([await reconciler.round(), await reconciler.round()], [1, 0])
    reconciler.stop()
    assert.match((await store.attempt(SESSION, ATTEMPT_ID))?.outcome?.error?.stage ?? '', /^reconciler /)
    await store.close()
    assert.equal(heard.length, times)
    for (const failed of heard)
      assert.deepEqual([failed.compactionId, failed.cause, failed.focus], [ATTEMPT_ID, 'manual', 'API'])
  })

test('compactionFailed: of two reconcilers that find the same attempt one closes it, and tells', async () => {
  const { store, heard, ...stage } = await abandoned('two')
  let asked = 0
  let bothFound = () => {}
  const found = new Promise<void>((resolve) => {
    bothFound = resolve
  })
  const both = [1, 2].map(() =>
    stage.reconciler(async () => {
      if (++asked === 2) bothFound()
      await found
      return null
    }),
  )
  const closed = await Promise.all(both.map((reconciler) => reconciler.round()))
  for (const reconciler of both) reconciler.stop()
  await store.close()
  assert.deepEqual(closed.sort(), [0, 1])
  assert.equal(heard.length, 1)
})
