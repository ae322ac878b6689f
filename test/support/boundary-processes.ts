import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readLog } from '../../src/cli/read-log.ts'
import { type Session, SessionClient } from '../../src/client/index.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { sqliteStore } from '../../src/store/index.ts'
import type { AnyStart } from './any-start.ts'
import type { BoundaryStage } from './boundary-worker.ts'
import type { TestTemporal } from './temporal.ts'

export interface StartedWorker {
  readonly child: ChildProcess
  /** Resolves once it stands at its boundary. */
  readonly held: Promise<void>
}

/** A worker in a process of its own, once it polls. */
async function startWorker(stage: BoundaryStage): Promise<StartedWorker> {
  const child = fork(fileURLToPath(new URL('./boundary-worker.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, BOUNDARY_STAGE: JSON.stringify(stage) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const says = (word: string) =>
    new Promise<void>((resolve, reject) => {
      child.on('message', (message) => {
        if (message === word) resolve()
      })
      child.once('exit', (code, signal) => reject(new Error(`ended with ${code ?? signal} before ${word}`)))
    })
  // Listened for from the start: what a child says while nobody listens is lost.
  const held = says('held')
  held.catch(() => undefined)
  await says('ready')
  return { child, held }
}

/** Kills the worker at its boundary. */
async function killAtBoundary({ child, held }: StartedWorker): Promise<void> {
  await held
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

export interface Survived {
  readonly session: Session
  readonly store: SessionStore
  readonly log: readonly SessionEvent[]
  /** What the model answered, a line each. */
  readonly paid: string
  /** A folder of the test's own, beside the store. */
  readonly folder: string
}

/** One turn under pressure; its first worker is killed at the boundary, another one goes on to the end. */
export async function surviveKill(
  temporal: Pick<TestTemporal, 'address' | 'client'>,
  given: Pick<BoundaryStage, 'boundary' | 'hooks' | 'recalls' | 'handedTo'>,
  policy: (folder: string) => NonNullable<AnyStart['policy']>,
  check: (survived: Survived) => Promise<void> | void,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'dc-kill-'))
  const stage: BoundaryStage = {
    ...given,
    address: temporal.address,
    taskQueue: `kill-${randomUUID().slice(0, 8)}`,
    storePath: join(folder, 'sessions.db'),
    paidPath: join(folder, 'paid'),
  }
  writeFileSync(stage.paidPath, '')
  const store = sqliteStore({ path: stage.storePath })
  const workers: StartedWorker[] = []
  try {
    const doomed = await startWorker(stage)
    workers.push(doomed)
    const { taskQueue } = stage
    const sessions = new SessionClient({
      client: temporal.client,
      store,
      taskQueue,
      workerTimeoutMs: 60_000,
    })
    const session = await sessions.start(`kill-${randomUUID().slice(0, 8)}`, {
      model: 'scripted/large',
      tools: ['words'],
      policy: policy(folder),
      heartbeatTimeoutMs: 3_000, // A worker that is only late must not count as dead: its calls would be paid twice.
    })
    const turn = await session.prompt('Count the words.', { requestId: 'p1' })
    await killAtBoundary(doomed)
    workers.push(await startWorker({ ...stage, boundary: null }))
    const { reason } = await turn.result({ timeoutMs: 120_000 })
    assert.equal(reason, 'completed')
    const log = await readLog(store, session.id)
    await check({ session, store, log, paid: readFileSync(stage.paidPath, 'utf8'), folder })
  } finally {
    for (const { child } of workers) child.kill('SIGKILL')
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
