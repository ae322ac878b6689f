import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow'
import type { CompactionActivityInput } from '../shared/activity-protocol.ts'
import {
  type CompactionInput,
  type CompactionOutcome,
  compactionInputSchema,
  problemOf,
} from '../shared/protocol.ts'
import { closeAttempt } from './attempt-child.ts'
import { stageError } from './attempt-errors.ts'
import { heardReason } from './cancel-reason.ts'
import { failureType, sessionFailure } from './failures.ts'
import { type CompactionActivities, compactionActivities } from './session-activities.ts'
import { type EndedAttempt, tellHooks } from './tell-hooks.ts'
import { setVersioning } from './versioning.ts'

/**
 * One compaction attempt, the child of the workflow that owns the session: prepare, summarize, commit, and in every other case its own close. It returns an
 * outcome also when it failed or was cancelled.
 *
 * @throws ApplicationFailure `InvalidSpan` for a region that cannot be compacted, `InvalidInput`; nothing was opened then.
 */
export async function sessionCompaction(input: CompactionInput): Promise<CompactionOutcome> {
  const reason = heardReason()
  const work = activityInput(input)
  const activities = compactionActivities(input)
  const ended = await runAttempt(activities, work, reason)
  return tellHooks(activities, work, ended)
}

async function runAttempt(
  activities: CompactionActivities,
  work: CompactionActivityInput,
  reason: () => string | undefined,
): Promise<EndedAttempt> {
  const closer = { sessionId: work.sessionId, closeAttempt: activities.closeAttempt }
  let stage: 'prepare' | 'summarize' | 'commit' = 'prepare'
  let prepared: EndedAttempt['prepared']
  try {
    prepared = await activities.prepare(work)
    if (prepared.kind === 'done') return { outcome: prepared.outcome, prepared }
    stage = 'summarize'
    const summary = await activities.summarize(work)
    if (summary.kind === 'failed')
      return {
        outcome: { ...(await closeAttempt(closer, work, summary.error)), paid: summary.paid },
        prepared,
      }
    stage = 'commit'
    // A cancel that came before this line leaves the surface as it was; one that comes after it finds the commit made.
    if (CancellationScope.current().consideredCancelled)
      throw new CancelledFailure('cancelled before the commit')
    const { paid, deterministic } = summary
    const outcome = await CancellationScope.nonCancellable(() =>
      activities.commit({ ...work, paid, deterministic }),
    )
    return { outcome, prepared }
  } catch (failure) {
    if (!(failure instanceof TemporalFailure)) throw failure
    if (failureType(failure) === 'InvalidSpan') throw sessionFailure(failure)
    // Without a word of prepare nobody knows which hooks the worker has: the close tells them.
    const tellFor = prepared === undefined ? work.parent : undefined
    return {
      outcome: await closeAttempt(closer, work, stageError(stage, failure, reason()), tellFor),
      prepared,
    }
  }
}

setVersioning(sessionCompaction, 'PINNED')

/** The activities act for the run of the parent, which only this workflow knows for certain. */
function activityInput(input: CompactionInput): CompactionActivityInput {
  const problem = problemOf(compactionInputSchema, input, 'input')
  if (problem !== undefined)
    throw ApplicationFailure.nonRetryable(`sessionCompaction: ${problem}`, 'InvalidInput')
  const { parent } = workflowInfo()
  if (parent === undefined) {
    throw ApplicationFailure.nonRetryable(
      'sessionCompaction must run as a child of the workflow that owns the session',
      'InvalidInput',
    )
  }
  const { taskQueues: _queues, heartbeatTimeoutMs: _heartbeat, ...work } = input
  return { ...work, parent: { workflowId: parent.workflowId, runId: parent.runId } }
}
