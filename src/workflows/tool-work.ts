import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/common'
import {
  ActivityCancellationType,
  type ActivityOptions,
  CancellationScope,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow'
import type { ToolWork, WorkEnd } from '../shared/activity-protocol.ts'
import { LIMITS } from '../shared/limits.ts'
import { handedOutput } from '../shared/session/handed-output.ts'
import { failureMessage } from './failures.ts'

type UserActivities = Record<string, (input: unknown, context: ToolWork['context']) => Promise<unknown>>

/** Runs the activity of the user's own that is the work of a tool call. Every failure but the turn's cancel is an end that the model reads. */
export async function runToolWork(work: ToolWork): Promise<WorkEnd> {
  if (workflowInfo().historySize > LIMITS.handedHistoryBytes)
    return { failure: { kind: 'crowded', message: '' } }
  try {
    const run = proxyActivities<UserActivities>(optionsOf(work))[work.activity]
    return handedOutput(await run?.(work.input, work.context))
  } catch (failure) {
    if (CancellationScope.current().consideredCancelled) throw failure
    return { failure: failureOf(work, failure) }
  }
}

/** A cancelled turn does not wait for the activity, which hears of it with its next beat. */
const optionsOf = ({
  taskQueue,
  timeoutMs,
  queueTimeoutMs,
  heartbeatTimeoutMs,
  attempts,
}: ToolWork): ActivityOptions => ({
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  startToCloseTimeout: timeoutMs,
  scheduleToStartTimeout: queueTimeoutMs,
  retry: { maximumAttempts: attempts, nonRetryableErrorTypes: ['PayloadsTooLarge'] },
  ...(taskQueue === undefined ? {} : { taskQueue }),
  ...(heartbeatTimeoutMs === undefined ? {} : { heartbeatTimeout: heartbeatTimeoutMs }),
})

function failureOf(
  { taskQueue = workflowInfo().taskQueue, timeoutMs, queueTimeoutMs }: ToolWork,
  failure: unknown,
): Extract<WorkEnd, { failure: unknown }>['failure'] {
  const cause = failure instanceof ActivityFailure ? failure.cause : failure
  if (cause instanceof TimeoutFailure) {
    return cause.timeoutType === 'SCHEDULE_TO_START'
      ? {
          kind: 'no-worker',
          message: `no worker of task queue ${JSON.stringify(taskQueue)} took it within ${queueTimeoutMs} ms.`,
        }
      : {
          kind: 'timeout',
          message: `it gave no answer within ${timeoutMs} ms (${cause.timeoutType ?? 'time-out'}).`,
        }
  }
  const isTooLarge = cause instanceof ApplicationFailure && cause.type === 'PayloadsTooLarge'
  return { kind: isTooLarge ? 'too-large' : 'failed', message: failureMessage(failure) }
}
