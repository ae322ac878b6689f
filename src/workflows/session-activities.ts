import { type ActivityOptions, proxyActivities } from '@temporalio/workflow'
import type { SessionActivities } from '../shared/activity-protocol.ts'
import type { ErrorName } from '../shared/errors.ts'
import type { OwnActivities } from '../shared/own-protocol.ts'
import type { CompactionInput } from '../shared/protocol.ts'
import type { ToolCall } from './turn-steps.ts'

// How the session activities are called. Every number has its reason; every retry has a bound.

type Tuning = Pick<CompactionInput, 'taskQueues' | 'heartbeatTimeoutMs'>

/** A worker that is silent for this long is dead: activities beat twice a second, and a killed one's work must go on soon. */
const HEARTBEAT_MS = 10_000

/**
 * Failures that no further attempt can heal. The activities mark them so themselves; this list holds for workers of other versions and languages.
 * `PayloadsTooLarge` is Temporal's own: unlisted, it would pay for the same oversized result again and again.
 */
const FINAL = [
  'Fenced',
  'TurnClosed',
  'LogRejected',
  'KeyConflict',
  'InvalidInput',
  'SessionNotFound',
  'SessionClosed',
  'SessionOwned',
  'PayloadsTooLarge',
] as const satisfies readonly (ErrorName | 'PayloadsTooLarge')[]

/** For the two activities of every step: the list stands in history each time. */
const FINAL_IN_STEP = ['PayloadsTooLarge'] as const

/** One short transaction. */
const storeWrite = ({ heartbeatTimeoutMs = HEARTBEAT_MS }: Tuning) =>
  ({
    startToCloseTimeout: '30s',
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { initialInterval: '200ms', maximumInterval: '30s', nonRetryableErrorTypes: [...FINAL] },
  }) as const satisfies ActivityOptions

/** The activities of `agentSession`. */
export function sessionActivities(tuning: Tuning) {
  const { taskQueues, heartbeatTimeoutMs = HEARTBEAT_MS } = tuning
  // A store that is away for less than a day loses no session; after it the run fails and the prompts wait in the inbox.
  const spine = proxyActivities<SessionActivities>({ ...storeWrite(tuning), scheduleToCloseTimeout: '24h' })
  const model = proxyActivities<SessionActivities>({
    startToCloseTimeout: '10m', // The longest replies stream for minutes.
    scheduleToCloseTimeout: '30m', // Rate limits are waited out by the delay that the failure names, up to here.
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { maximumInterval: '30s', maximumAttempts: 30, nonRetryableErrorTypes: [...FINAL_IN_STEP] }, // Attempts may be paid.
    ...(taskQueues?.models === undefined ? {} : { taskQueue: taskQueues.models }),
  })
  return {
    open: spine.sessionOpen,
    accept: spine.sessionAccept,
    settle: spine.sessionSettle,
    control: spine.sessionControl,
    startTurn: spine.sessionStartTurn,
    landTool: spine.sessionLandTool,
    endTurn: spine.sessionEndTurn,
    close: spine.sessionClose,
    closeAttempt: spine.sessionCloseAttempt,
    callModel: model.sessionCallModel,
    runTool: (input: Parameters<SessionActivities['sessionRunTool']>[0], call: ToolCall) =>
      toolActivity(tuning, call)(input),
  }
}

/** The activities of a workflow of one's own; they may run on another queue. */
export function ownActivities(tuning: Tuning & { readonly taskQueue?: string | undefined }) {
  const { taskQueue } = tuning
  return proxyActivities<SessionActivities & OwnActivities>({
    ...storeWrite(tuning),
    scheduleToCloseTimeout: '24h', // As for a session: a store that is away for less loses nothing.
    ...(taskQueue === undefined ? {} : { taskQueue }),
  })
}

/** The tool's own time-out ends it and gives the model a result; the activity's stands behind it. */
const TOOL_GRACE_MS = 30_000
/** The first claim runs the tool; a second attempt records that its outcome is unknown; a third is for a store that was away. */
const TOOL_ATTEMPTS = 3
/** For calls that wait for a free place on a busy tools queue. */
const TOOL_QUEUE_MS = 30 * 60_000

function toolActivity(
  { taskQueues, heartbeatTimeoutMs = HEARTBEAT_MS }: Tuning,
  { queue = taskQueues?.tools, timeoutMs, retries = 0 }: ToolCall,
) {
  const attemptMs = timeoutMs + TOOL_GRACE_MS
  const attempts = TOOL_ATTEMPTS + retries
  const { sessionRunTool } = proxyActivities<SessionActivities>({
    startToCloseTimeout: attemptMs,
    scheduleToCloseTimeout: attempts * attemptMs + TOOL_QUEUE_MS,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { maximumAttempts: attempts, nonRetryableErrorTypes: [...FINAL_IN_STEP] },
    ...(queue === undefined ? {} : { taskQueue: queue }),
  })
  return sessionRunTool
}

/** The activities of `sessionCompaction`: together within its run time-out of 30 minutes. */
export function compactionActivities(tuning: Tuning) {
  const { taskQueues, heartbeatTimeoutMs = HEARTBEAT_MS } = tuning
  const write = proxyActivities<SessionActivities>({
    ...storeWrite(tuning),
    scheduleToCloseTimeout: '2m',
    retry: { ...storeWrite(tuning).retry, nonRetryableErrorTypes: [...FINAL, 'InvalidSpan'] },
  })
  const summary = proxyActivities<SessionActivities>({
    scheduleToCloseTimeout: '25m', // Many paid calls of up to 5 minutes each; what is stored is not paid again.
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { maximumInterval: '30s', maximumAttempts: 10, nonRetryableErrorTypes: [...FINAL] },
    ...(taskQueues?.models === undefined ? {} : { taskQueue: taskQueues.models }),
  })
  return {
    prepare: write.sessionPrepareCompaction,
    summarize: summary.sessionSummarize,
    commit: write.sessionCommitCompaction,
    runHooks: write.sessionRunHooks,
    closeAttempt: write.sessionCloseAttempt,
  }
}

export type CompactionActivities = ReturnType<typeof compactionActivities>
