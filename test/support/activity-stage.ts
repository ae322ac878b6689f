import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import type { ActivityDeps, WorkflowRun } from '../../src/activities/deps.ts'
import { createSessionActivities } from '../../src/activities/index.ts'
import type { SessionActivities } from '../../src/shared/activity-protocol.ts'
import type { Clock } from '../../src/shared/ports/clock.ts'
import type { ModelClient } from '../../src/shared/ports/model.ts'
import type { Actor, SessionStore } from '../../src/shared/ports/store.ts'
import type { AnyTool } from '../../src/shared/ports/tool.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { scriptedModel } from '../../src/worker/index.ts'

// The session activities over a store in memory and a server that says what the test lets it say.

/** The SDK warns of every failure that a test provokes. */
const QUIET = new DefaultLogger('ERROR')

export class ScriptedServer {
  readonly #current = new Map<string, WorkflowRun>()
  /** Runs while the question is on its way: after what the server answers was true, before the asker hears it. */
  onAnswer: (workflowId: string) => Promise<void> = async () => {}
  asked = 0

  /** This is the workflow's current run from now on. */
  setCurrent({ workflowId, runId }: Actor, rest: Partial<WorkflowRun> = {}): void {
    this.#current.set(workflowId, { runId, firstRunId: 'run-1', running: true, ...rest })
  }

  async describe(workflowId: string): Promise<WorkflowRun | null> {
    this.asked++
    const answer = this.#current.get(workflowId) ?? null
    await this.onAnswer(workflowId)
    return answer
  }
}

type Name = keyof SessionActivities

export interface ActivityStage {
  readonly store: SessionStore
  readonly server: ScriptedServer
  readonly deps: ActivityDeps
  /** Runs one activity as the task of a run, as the server would hand it out. */
  run<K extends Name>(
    actor: Actor,
    name: K,
    input: Omit<Parameters<SessionActivities[K]>[0], 'v' | 'sessionId'>,
    attempt?: number,
    /** Milliseconds since the first attempt was scheduled. Default 0. */
    sinceMs?: number,
    /** What the heartbeats of the attempts before said, by default that each was refused; it becomes what those of this one say. */
    beats?: { details?: unknown },
  ): Promise<Awaited<ReturnType<SessionActivities[K]>>>
  /** The same, for one that is cancelled. */
  start<K extends Name>(
    actor: Actor,
    name: K,
    input: Omit<Parameters<SessionActivities[K]>[0], 'v' | 'sessionId'>,
    attempt?: number,
    beats?: { details?: unknown },
  ): { readonly result: Promise<Awaited<ReturnType<SessionActivities[K]>>>; cancel(): void }
}

export const SESSION = 's1'
export const RUN_1: Actor = { workflowId: SESSION, runId: 'run-1' }
export const RUN_2: Actor = { workflowId: SESSION, runId: 'run-2' }

export interface StageOptions {
  readonly model?: ModelClient
  /** Further providers. */
  readonly others?: Readonly<Record<string, ModelClient>>
  /** Of the model, at its client. Default `x`. */
  readonly name?: string
  readonly tools?: readonly AnyTool[]
  readonly policy?: Readonly<Record<string, unknown>>
  /** Default: one in memory. */
  readonly store?: SessionStore
  /** Default: that of the machine. */
  readonly clock?: Clock
}

/** A session that `RUN_1` has opened. */
export async function openStage({
  model,
  others = {},
  name = 'x',
  tools = [],
  policy,
  store = sqliteStore({ path: ':memory:' }),
  clock = Date.now,
}: StageOptions = {}): Promise<ActivityStage> {
  const server = new ScriptedServer()
  const deps: ActivityDeps = {
    store,
    models: {
      scripted: model ?? scriptedModel(() => 'Done.', { capacity: { contextWindow: 100_000 } }),
      ...others,
    },
    tools,
    runs: server,
    cluster: 'c1',
    clock,
  }
  const activities = createSessionActivities(deps)
  const task = (
    actor: Actor,
    name: Name,
    input: object,
    attempt: number,
    sinceMs = 0,
    beats: { details?: unknown } = { details: { unsent: 0, unpaid: attempt - 1 } },
  ) => {
    const scheduledTimestampMs = Date.now() - sinceMs
    const environment = new MockActivityEnvironment(
      {
        attempt,
        workflowExecution: actor,
        scheduledTimestampMs,
        scheduleToCloseTimeoutMs: 25 * 60_000,
        heartbeatDetails: beats.details,
      },
      { logger: QUIET },
    )
    environment.on('heartbeat', (details: unknown) => {
      beats.details = details
    })
    const activity = activities[name] as (input: unknown) => Promise<never>
    const result: Promise<never> = environment.run(activity, { v: 1, sessionId: SESSION, ...input })
    return { result, cancel: () => environment.cancel() }
  }
  const stage: ActivityStage = {
    store,
    server,
    deps,
    run: (actor, name, input, attempt = 1, ...tried) => task(actor, name, input, attempt, ...tried).result,
    start: (actor, name, input, attempt = 1, beats) => task(actor, name, input, attempt, 0, beats),
  }
  server.setCurrent(RUN_1)
  const start = { model: `scripted/${name}`, system: '', tools: tools.map(({ name }) => name) }
  await stage.run(RUN_1, 'sessionOpen', { start: { ...start, ...(policy === undefined ? {} : { policy }) } })
  return stage
}
