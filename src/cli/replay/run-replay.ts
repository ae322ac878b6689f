import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { NativeConnection, type WorkerOptions } from '@temporalio/worker'
import type { Session } from '../../client/session.ts'
import { SessionClient } from '../../client/session-client.ts'
import type { Turn } from '../../client/turn.ts'
import { planReplay, type ReplayPlan } from '../../formats/replay-plan.ts'
import type { ReadTranscript } from '../../formats/transcript.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import { createSessionWorker } from '../../worker/create-session-worker.ts'
import { replayModel } from '../../worker/index.ts'
import { checkedModel, type RequestRecord } from './checked-model.ts'
import { compareLog, type LogComparison } from './compare-log.ts'
import { deliveringTools, promptId } from './delivering-tools.ts'
import { REPLAY_MODEL, replayWindow } from './replay-window.ts'

export interface ReplayOptions {
  readonly address: string
  readonly namespace?: string
  readonly taskQueue: string
  readonly store: SessionStore
  readonly sessionId: string
  /** Context window of the replayed model; default: {@link replayWindow}. */
  readonly window?: number
  /** Laid over a deterministic summarizer. */
  readonly policy?: Readonly<Record<string, unknown>>
  readonly workflows?: Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'>
  readonly signal?: AbortSignal
  /** After each turn. */
  readonly onProgress?: (done: number, of: number) => void
}

export interface ReplayReport {
  readonly sessionId: string
  readonly window: number
  readonly turns: number
  readonly requests: RequestRecord
  readonly log: LogComparison
  readonly durationMs: number
}

/** No recorded turn takes this long when nothing waits for a model. */
const TURN_MS = 300_000
/** Nor does the end of the session. */
const CLOSE_MS = 60_000

/**
 * Plays a recorded conversation through a real session: the model answers what was recorded, tools return what was recorded, and the session compacts by
 * its policy on the way.
 *
 * @throws TranscriptError when it holds no conversation that a session could play
 */
export async function runReplay(transcript: ReadTranscript, options: ReplayOptions): Promise<ReplayReport> {
  const begun = Date.now()
  const plan = planReplay(transcript)
  const window = options.window ?? replayWindow(plan)
  const requests: RequestRecord = { requests: 0, summaries: 0, largest: 0, problems: [] }
  const tools = deliveringTools(plan, options.store)
  const model = checkedModel(
    replayModel(plan, { capacity: { contextWindow: window, maxOutputTokens: window } }),
    requests,
  )
  const connection = await NativeConnection.connect({ address: options.address })
  const worker = await createSessionWorker({
    connection,
    store: options.store,
    models: { replay: model },
    tools,
    taskQueue: options.taskQueue,
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    ...(options.workflows === undefined ? {} : { workflows: options.workflows }),
  })
  const running = worker.run()
  try {
    const turns = await play(
      plan,
      tools.map((tool) => tool.name),
      options,
    )
    const log = await compareLog(options.store, options.sessionId, plan)
    return { sessionId: options.sessionId, window, turns, requests, log, durationMs: Date.now() - begun }
  } finally {
    worker.shutdown()
    await running
    await connection.close()
  }
}

async function play(plan: ReplayPlan, tools: readonly string[], options: ReplayOptions): Promise<number> {
  const { address, namespace, store, taskQueue, sessionId, policy, signal, onProgress } = options
  const connection = await Connection.connect({ address })
  const client = new Client({ connection, ...(namespace === undefined ? {} : { namespace }) })
  try {
    const sessions = new SessionClient({ client, store, taskQueue, workerTimeoutMs: 60_000 })
    const session = await sessions.start(sessionId, {
      model: REPLAY_MODEL,
      system: plan.system,
      tools,
      policy: { summarizer: 'deterministic', ...policy },
    })
    const turns = await playPrompts(session, plan, signal, onProgress)
    await session.close('the replay has ended')
    await untilEnded(session)
    return turns
  } finally {
    // Nothing when it has ended. Its worker goes, so it must not wait on the server for one that can never come.
    await client.workflow
      .getHandle(sessionId)
      .terminate('the replay has ended')
      .catch(() => undefined)
    await connection.close()
  }
}

/** The signal to close is only taken: the worker has to serve it before it ends. */
async function untilEnded({ workflow }: Session): Promise<void> {
  const late = new AbortController()
  const ended = workflow.result().catch(() => undefined)
  await Promise.race([ended, sleep(CLOSE_MS, undefined, { signal: late.signal }).catch(() => undefined)])
  late.abort()
}

/** Prompts that came while tools ran are delivered by the tools. */
export async function playPrompts(
  session: Session,
  plan: ReplayPlan,
  signal?: AbortSignal,
  onProgress?: ReplayOptions['onProgress'],
): Promise<number> {
  const total = plan.prompts.filter((prompt) => prompt.delivery === 'next-turn').length
  let turns = 0
  for (const [index, { message, delivery }] of plan.prompts.entries()) {
    if (delivery === 'next-step') continue
    const turn: Turn = await session.prompt(message.content, { requestId: promptId(index), delivery })
    if (delivery === 'no-wake') continue
    await turn.result({ timeoutMs: TURN_MS, ...(signal === undefined ? {} : { signal }) })
    turns++
    onProgress?.(turns, total)
  }
  return turns
}
