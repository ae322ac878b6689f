import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  type WorkflowHandle,
} from '@temporalio/client'
import type { PolicyInput } from '../shared/compaction/policy-input.ts'
import { errorNameOf, SessionError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { SessionRow, SessionStore } from '../shared/ports/store.ts'
import {
  problemOf,
  QUERIES,
  type SessionStart,
  type SessionState,
  type SessionWorkflowInput,
  sessionWorkflowInputSchema,
  WORKFLOWS,
} from '../shared/protocol.ts'
import { canonicalJson } from '../shared/session/canonical-json.ts'
import { hash53 } from '../shared/session/keys.ts'
import { utf8Bytes } from '../shared/session/prompt-content.ts'
import { changedSettings, differingSettings, settingsOf } from '../shared/session/settings.ts'
import { splitQueues } from '../shared/task-queues.ts'
import { poll } from './poll.ts'
import type { SessionOptions } from './session.ts'

/** What a session is to have. Of a session that is there already, what is not given stays as it was: `system`, `tools`, `policy`, `preset`, and `sampling` while the provider is the same. */
export interface StartOptions {
  /** `provider/model`; null: a session without a model, whose checkpoints code writes. */
  readonly model: string | null
  readonly system?: string
  /** Names of tools of the worker. */
  readonly tools?: readonly string[]
  /** What is not given has its default. */
  readonly policy?: PolicyInput
  readonly preset?: 'default' | 'lean' | 'threeLevel'
  /** Provider settings such as `temperature`, passed on as they are. */
  readonly sampling?: Readonly<Record<string, unknown>>
  readonly taskQueue?: string
  /** False: model calls and tools run on the session's own queue, for a single plain worker. Default true. */
  readonly splitTaskQueues?: boolean
  /** After this long without a beat an activity's worker counts as dead, and the activity runs again. Default 10,000. */
  readonly heartbeatTimeoutMs?: number
  /** Wait until the settings are accepted. Default true. */
  readonly wait?: boolean
}

interface Start extends SessionOptions {
  readonly options: StartOptions
}

export async function startSession({
  client,
  store,
  taskQueue: defaultQueue,
  workerTimeoutMs,
  sessionId,
  options,
}: Start): Promise<void> {
  const start = sessionStart(options)
  const taskQueue = options.taskQueue ?? defaultQueue
  const input: SessionWorkflowInput = {
    v: 1,
    start,
    ...(options.splitTaskQueues === false ? {} : { taskQueues: splitQueues(taskQueue) }),
    ...(options.heartbeatTimeoutMs === undefined ? {} : { heartbeatTimeoutMs: options.heartbeatTimeoutMs }),
  }
  const problem = problemOf(sessionWorkflowInputSchema, input, 'start') ?? sizeProblem(input)
  if (problem !== undefined) throw new SessionError('InvalidInput', problem)
  const settings = hash53(canonicalJson({ system: '', tools: [], ...start })).toString(36)
  const isNew = async () => {
    try {
      await client.workflow.start(WORKFLOWS.session, {
        workflowId: sessionId,
        taskQueue,
        args: [input],
        workflowIdConflictPolicy: 'FAIL',
        memo: { settings, ...(input.taskQueues === undefined ? {} : { taskQueues: input.taskQueues }) },
      })
      return true
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false
      throw error
    }
  }
  if (!(await isNew())) {
    // A run that is closing takes no more prompts: the session goes on in the run after it.
    if (await isClosing(client, store, sessionId))
      await poll(workerTimeoutMs, async () => ((await isNew()) ? true : undefined))
    else {
      const row = (await store?.session(sessionId)) ?? null
      await requireSameSettings(client, row, sessionId, { start, settings })
    }
  }
  if (options.wait === false) return
  await accepted({ client, sessionId, workerTimeoutMs }, taskQueue)
  await requireSameStore(store, sessionId)
}

/** Otherwise every later call would say that the session does not exist. */
async function requireSameStore(store: SessionStore | undefined, sessionId: string): Promise<void> {
  if (store === undefined || (await store.session(sessionId)) !== null) return
  throw new SessionError(
    'StoreUnavailable',
    `Session ${sessionId} runs, but its worker keeps it in another store than this client's: give both the same file.`,
  )
}

async function isClosing(
  client: Client,
  store: SessionStore | undefined,
  sessionId: string,
): Promise<boolean> {
  if ((await store?.session(sessionId))?.closed) return true
  const state = await client
    .withDeadline(Date.now() + 2000, () =>
      client.workflow.getHandle(sessionId).query<SessionState>(QUERIES.sessionState),
    )
    .catch(() => undefined)
  return state?.status === 'closing'
}

function sessionStart(options: StartOptions): SessionStart {
  return {
    model: options.model,
    ...(options.system === undefined ? {} : { system: options.system }),
    ...(options.tools === undefined ? {} : { tools: [...options.tools] }),
    ...(options.sampling === undefined ? {} : { sampling: options.sampling }),
    ...(options.policy === undefined ? {} : { policy: options.policy }),
    ...(options.preset === undefined ? {} : { preset: options.preset }),
  }
}

/** Temporal ends the connection, or retries without end, on what is far too large. */
function sizeProblem(input: SessionWorkflowInput): string | undefined {
  const bytes = utf8Bytes(JSON.stringify(input))
  if (bytes <= LIMITS.startBytes) return undefined
  return `start: system, policy and sampling have ${bytes} bytes, allowed are ${LIMITS.startBytes}: shorten the system prompt, or send its material as a prompt`
}

/** Those that it was started with, or those that it has now. What is left out stays, as it does when the session sleeps; without a store nobody knows what it has. */
async function requireSameSettings(
  client: Client,
  row: SessionRow | null,
  sessionId: string,
  { start, settings }: { start: SessionStart; settings: string },
): Promise<void> {
  const { memo } = await client.workflow.getHandle(sessionId).describe()
  if (memo?.['settings'] === settings) return
  const has = row && settingsOf(row.header)
  const differing = has && differingSettings(changedSettings(has, start), has).filter((name) => name in start)
  if (differing?.length === 0) return
  throw new SessionError(
    'SessionConflict',
    `Session ${sessionId} already runs with other settings${differing ? ` (${differing.join(', ')})` : ''}: use another id, or get("${sessionId}") for the one that runs.`,
    { differing: differing ?? [] },
  )
}

/** Polls the session's state until the first activity has answered; a refusal is thrown by its own name. */
async function accepted(
  { client, sessionId, workerTimeoutMs }: Omit<SessionOptions, 'taskQueue'>,
  taskQueue: string,
): Promise<void> {
  const handle = client.workflow.getHandle(sessionId)
  const state = await poll(workerTimeoutMs, async () => {
    const { status } = await handle.describe()
    if (status.name === 'FAILED') return 'failed' as const
    if (status.name !== 'RUNNING') return 'ended' as const
    const answer = await client
      .withDeadline(Date.now() + 2000, () => handle.query<SessionState>(QUERIES.sessionState))
      .catch(() => undefined)
    const isDecided = answer !== undefined && answer.status !== 'starting' && answer.status !== 'failed'
    return isDecided ? ('accepted' as const) : undefined // One that failed is about to close with its error.
  })
  if (state === 'failed') throw await refusal(handle)
  if (state !== undefined) return
  const waited = `within ${workerTimeoutMs / 1000} s`
  throw (
    (await hindrance(handle, waited)) ??
    new SessionError(
      'WorkerUnavailable',
      `No worker of task queue ${JSON.stringify(taskQueue)} answered ${waited}: start one. The session ${sessionId} waits for it.`,
    )
  )
}

/** What the first activity failed by, when a worker answered and could not open the session. */
async function hindrance(handle: WorkflowHandle, waited: string): Promise<SessionError | undefined> {
  const { raw } = await handle.describe()
  const failure = raw.pendingActivities?.find(({ lastFailure }) => lastFailure)?.lastFailure
  if (!failure) return undefined
  return new SessionError(
    errorNameOf(failure.applicationFailureInfo?.type) ?? 'WorkerUnavailable',
    `The session ${handle.workflowId} could not be opened ${waited} and tries on: ${failure.message}`,
  )
}

async function refusal(handle: { result(): Promise<unknown> }): Promise<Error> {
  try {
    await handle.result()
  } catch (error) {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
      const name = errorNameOf('type' in cause ? cause.type : undefined)
      if (name !== undefined) return new SessionError(name, cause.message)
    }
    if (error instanceof WorkflowFailedError || error instanceof Error) return error
  }
  return new Error('The session ended before it accepted its settings.')
}
