import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import pc from 'picocolors'
import { playPrompts } from '../src/cli/replay/run-replay.ts'
import { showReplayProgress } from '../src/cli/replay-progress.ts'
import { type Session, SessionClient } from '../src/client/index.ts'
import { poll } from '../src/client/poll.ts'
import { readTranscript } from '../src/formats/read-transcript.ts'
import { planReplay } from '../src/formats/replay-plan.ts'
import type { AttemptRow, SessionStore } from '../src/shared/ports/store.ts'
import { sqliteStore } from '../src/store/index.ts'
import { obtainServer } from '../src/worker/dev-server/obtain-server.ts'
import { requestCompactionSignal } from '../src/workflows/messages.ts'
import { createCast, type Stage } from './cast.ts'
import { checkSession } from './check.ts'
import { printCheckpoint, printChecks, printCompactions } from './report.ts'
import { say } from './say.ts'
import { killWorker, startWorker, writeWorkflowBundle } from './worker-process.ts'

export interface DemoOptions {
  /** Temporary folder of the store and the server. */
  readonly folder: string
  /** Folder that the session explores. */
  readonly root: string
  readonly transcript?: string
  readonly keep: boolean
}

const HOLD_MS = 3_000
const HEARTBEAT_MS = 2_000
const TURN_MS = 600_000
const FOCUS = 'decisions and open work'

/** The whole main job: returns the exit code. */
export async function runDemo({ folder, root, transcript, keep }: DemoOptions): Promise<number> {
  const bundlePath = join(folder, 'workflows.js')
  const [server] = await Promise.all([
    obtainServer({ ui: true, dbFilename: join(folder, 'temporal.db'), onProgress: say }),
    writeWorkflowBundle(bundlePath),
  ])
  const sessionId = `demo-${process.pid}-${Date.now().toString(36)}`
  const stage: Stage = {
    address: server.address,
    taskQueue: sessionId,
    storePath: join(folder, 'sessions.db'),
    bundlePath,
    paidPath: join(folder, 'paid.jsonl'),
    root,
    ...(transcript === undefined ? {} : { transcript }),
    holdMs: HOLD_MS,
  }
  writeFileSync(stage.paidPath, '')
  const page =
    server.uiUrl === null ? null : `${server.uiUrl}/namespaces/${server.namespace}/workflows/${sessionId}`
  say(`Temporal at ${server.address} (${server.origin})`)
  if (page !== null) say(`Look at it while it runs: ${pc.cyan(page)}`)
  const store = sqliteStore({ path: stage.storePath })
  const connection = await Connection.connect({ address: server.address })
  try {
    const sessions = new SessionClient({
      client: new Client({ connection, namespace: server.namespace }),
      store,
      taskQueue: stage.taskQueue,
      workerTimeoutMs: 60_000,
    })
    const holds = await act(stage, sessions, store, sessionId)
    console.log()
    say(holds ? 'Every check holds' : 'A check does not hold: see above')
    if (keep) await untilInterrupted(page)
    return holds ? 0 : 1
  } finally {
    await connection.close()
    await store.close()
    await server.stop()
  }
}

async function act(
  stage: Stage,
  sessions: SessionClient,
  store: SessionStore,
  sessionId: string,
): Promise<boolean> {
  let worker = await startWorker(stage)
  say(`Worker ${worker.pid} polls`)
  try {
    const session = await begin(stage, sessions, store, sessionId)
    const work = play(stage, session, store)
    const open = await Promise.race([firstOpenAttempt(store, sessionId), work.then(() => undefined)])
    if (open !== undefined) worker = await replaceWorker(stage, worker, store, open)
    await work
    const asked = askBySignal(session, store)
    if (open === undefined) {
      say('There was no pressure, so the worker is killed in the compaction that was asked for')
      const manual = await Promise.race([firstOpenAttempt(store, sessionId), asked.then(() => undefined)])
      if (manual !== undefined) worker = await replaceWorker(stage, worker, store, manual)
    }
    await asked
    await session.close('the demo has ended')
    await printCompactions(store, sessionId)
    await printCheckpoint(store, sessionId)
    const holds = printChecks(await checkSession(stage, store, sessionId))
    await session.workflow.result()
    return holds
  } finally {
    await killWorker(worker)
  }
}

/** Kills the worker in the middle of an attempt, and shows that another one resumes it. */
async function replaceWorker(
  stage: Stage,
  worker: ChildProcess,
  store: SessionStore,
  open: AttemptRow,
): Promise<ChildProcess> {
  say(
    `${pc.yellow('compact/start')} is in the log as #${open.startSeq}: killing worker ${worker.pid} with SIGKILL`,
  )
  await killWorker(worker)
  const next = await startWorker({ ...stage, holdMs: 0 })
  say(`Worker ${next.pid} polls`)
  await showResumed(store, open)
  return next
}

async function begin(
  stage: Stage,
  sessions: SessionClient,
  store: SessionStore,
  sessionId: string,
): Promise<Session> {
  const { tools } = await createCast(stage, store)
  const session = await sessions.start(sessionId, {
    model: 'demo/scripted',
    system: stage.transcript === undefined ? 'You explore a repository.' : '',
    tools: tools.map((tool) => tool.name),
    heartbeatTimeoutMs: HEARTBEAT_MS,
  })
  say(`Session ${sessionId} runs`)
  return session
}

async function play(stage: Stage, session: Session, store: SessionStore): Promise<void> {
  if (stage.transcript === undefined) {
    const turn = await session.prompt('Get to know the sources of this repository, file by file.', {
      requestId: 'explore',
    })
    const { reason } = await turn.result({ timeoutMs: TURN_MS })
    say(`The turn ended: ${reason}`)
    return
  }
  const plan = planReplay(
    readTranscript(readFileSync(stage.transcript, 'utf8'), { fileName: stage.transcript }),
  )
  const progress = showReplayProgress({ store, sessionId: session.id, replies: plan.replies.length, say })
  const turns = await playPrompts(session, plan, undefined, progress.onTurn).finally(progress.stop)
  say(`${turns} ${turns === 1 ? 'turn was' : 'turns were'} played`)
}

async function firstOpenAttempt(store: SessionStore, sessionId: string): Promise<AttemptRow | undefined> {
  return poll(TURN_MS, async () => (await store.attempts({ sessionId, state: 'open' }))[0])
}

async function showResumed(store: SessionStore, open: AttemptRow): Promise<void> {
  const ended = await poll(TURN_MS, async () => {
    const row = await store.attempt(open.sessionId, open.compactionId)
    return row?.state === 'ended' ? row : undefined
  })
  const outcome = ended?.outcome
  const resumed = ended?.startSeq === open.startSeq && outcome?.outcome === 'compacted'
  say(
    `${resumed ? pc.green('Resumed') : pc.red('Not resumed')}: attempt ${open.compactionId}, bracket #${open.startSeq} … #${outcome?.endSeq}, ${outcome?.outcome}`,
  )
}

async function askBySignal(session: Session, store: SessionStore): Promise<void> {
  say(`Asking for a compaction by signal, with the focus "${FOCUS}"`)
  await session.workflow.signal(requestCompactionSignal, { requestId: 'by-hand', focus: FOCUS })
  const asked = await poll(TURN_MS, async () => {
    const row = await store.attempt(session.id, 'manual.by-hand')
    return row === null || row.state === 'open' ? undefined : row
  })
  say(
    `It ended: ${asked?.outcome?.outcome ?? 'not at all'}${asked?.outcome?.reason === undefined ? '' : ` (${asked.outcome.reason})`}`,
  )
}

async function untilInterrupted(page: string | null): Promise<void> {
  process.removeAllListeners('SIGINT')
  say(`Server and web page stay up${page === null ? '' : ` at ${page}`} until Ctrl-C`)
  await once(process, 'SIGINT')
}
