import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Context } from '@temporalio/activity'
import { type Session, SessionClient } from '../../src/client/index.ts'
import { ManualCompactionError } from '../../src/shared/errors.ts'
import { createSessionWorker, scriptedModel } from '../../src/worker/index.ts'
import { sessionStateQuery } from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import { failsAs } from '../support/fails-as.ts'
import { Gate } from '../support/gate.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'

// `compactNow` when the session sleeps, has no worker, or is behind its store.

const model = scriptedModel(() => 'word '.repeat(900), {
  capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 },
  summaries: 'Words were said. Next: nothing.',
})

/** Holds an activity of a session after its work, before the workflow learns of it. */
const held = new Map<string, Gate>()
const holdAfter = {
  async execute(input: { args: unknown[] }, next: (input: never) => Promise<unknown>) {
    const result = await next(input as never)
    const { sessionId } = input.args[0] as { sessionId: string }
    await held.get(`${sessionId} ${Context.current().info.activityType}`)?.wait()
    return result
  },
}

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [], {
    worker: { interceptors: { activity: [() => ({ inbound: holdAfter as never })] } },
  })
})
after(() => real.close())

async function spokenTo(session: Session, turns = 4): Promise<Session> {
  for (let turn = 0; turn < turns; turn++)
    await (await session.prompt('Talk.')).result({ timeoutMs: 120_000 })
  return session
}

/** The next run of this activity in this session stays unreported until the gate opens. */
function hold(session: Session, activity: string): Gate {
  const gate = new Gate()
  held.set(`${session.id} ${activity}`, gate)
  return gate
}

describe('compactNow', { concurrency: true }, () => {
  test('after a turn that has ended in the store only: not busy, the result', async () => {
    const session = await spokenTo(await real.start())
    await whenIdle(session) // Otherwise the call that has just been stored is the one that is held.
    const gate = hold(session, 'sessionCallModel')
    await spokenTo(session, 1)
    await gate.reached
    assert.equal((await session.workflow.query(sessionStateQuery)).status, 'running', 'it is behind')
    const compaction = session.compactNow()
    setTimeout(() => gate.open(), 1_000)
    assert.equal((await compaction)?.turn, null)
  })

  test('during a turn: busy at once', async () => {
    const session = await spokenTo(await real.start())
    const gate = hold(session, 'sessionStartTurn')
    await session.prompt('Talk.')
    await gate.reached
    await assert.rejects(session.compactNow(), (error: unknown) => {
      assert.ok(error instanceof ManualCompactionError)
      assert.equal(error.code, 'busy')
      assert.match(error.message, /wait for it, or ask with whenBusy "wait"/)
      return true
    })
    gate.open()
  })

  test('after a compaction that has ended in the store only: one of its own, not the old result', async () => {
    const session = await spokenTo(await real.start())
    await whenIdle(session) // Behind its store it would answer busy, and the client would ask again as one-2.
    const gate = hold(session, 'sessionCommitCompaction')
    const first = await session.compactNow({ requestId: 'one' })
    await gate.reached
    assert.equal((await session.workflow.query(sessionStateQuery)).status, 'compacting', 'it is behind')
    const second = session.compactNow({ requestId: 'two' })
    setTimeout(() => gate.open(), 1_000)
    assert.equal(first?.compactionId, 'manual.one')
    assert.equal(await second, null, 'only a checkpoint and the newest answer are left')
    const rows = await real.store.attempts({ sessionId: session.id })
    assert.deepEqual(rows.map(({ state }) => state).sort(), ['ended', 'void'])
    const [open] = await real.store.inbox(session.id, { state: 'waiting' })
    assert.equal(open, undefined)
  })

  test('of a session that completed by idleness: it wakes as a new life and compacts', async () => {
    const session = await spokenTo(await real.start({ policy: { idleTimeout: 2_000 } }))
    await eventually(
      () => session.workflow.describe(),
      ({ status }) => status.name === 'COMPLETED',
    )
    const lives = (await session.stored())?.life ?? 0
    const result = await session.compactNow({ focus: 'words' })
    assert.deepEqual([result?.cause, result?.turn, result?.focus], ['manual', null, 'words'])
    assert.equal((await session.stored())?.life, lives + 1)
  })

  test('with no worker: WorkerUnavailable, what is asked of the store still answers, and the session goes on with a worker', async () => {
    const taskQueue = `alone-${randomUUID().slice(0, 8)}`
    const startWorker = async () => {
      const worker = await createSessionWorker({
        connection: real.connection,
        store: real.store,
        models: { scripted: model },
        taskQueue,
        workflows: { workflowBundle: real.bundle },
        worker: { shutdownGraceTime: 0, shutdownForceTime: '2s', stickyQueueScheduleToStartTimeout: '1s' },
      })
      const running = worker.run()
      return {
        async stop() {
          worker.shutdown()
          await running
        },
      }
    }
    const { client, store } = real
    const patient = new SessionClient({ client, store, taskQueue, workerTimeoutMs: 60_000 })
    const first = await startWorker()
    const { id } = await spokenTo(
      await patient.start(`alone-${randomUUID().slice(0, 8)}`, { model: 'scripted/x' }),
    )
    await first.stop()
    const session = new SessionClient({ client, store, taskQueue }).get(id)
    const asked = performance.now()
    const unavailable = (running: Promise<unknown>) =>
      failsAs('WorkerUnavailable', running, new RegExp(session.id), /within 10 s: start one/)
    await Promise.all([unavailable(session.compactNow()), unavailable(session.state())])
    assert.ok(performance.now() - asked < 60_000)
    const stop = new AbortController()
    const reason = new Error('mine')
    const aborted = patient.get(id).compactNow({ focus: 'x', signal: stop.signal })
    setTimeout(() => stop.abort(reason), 300)
    const before = performance.now()
    await assert.rejects(aborted, (error: unknown) => error === reason)
    assert.ok(performance.now() - before < 30_000, 'an abort does not wait for a worker')
    const turn = await session.prompt('Talk.')
    assert.ok((await session.events()).length > 0)
    const second = await startWorker()
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    assert.equal((await session.stored())?.openCompactionId, null)
    await second.stop()
  })
})
