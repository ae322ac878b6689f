import { CancellationScope, TemporalFailure } from '@temporalio/workflow'
import type { CompactionActivityInput, SessionActivities } from '../shared/activity-protocol.ts'
import type { CompactionOutcome } from '../shared/protocol.ts'
import { failureMessage } from './failures.ts'
import type { CompactionActivities } from './session-activities.ts'

export interface EndedAttempt {
  readonly outcome: CompactionOutcome
  /** Undefined: prepare failed, and nobody knows which hooks the worker has. */
  readonly prepared: Awaited<ReturnType<SessionActivities['sessionPrepareCompaction']>> | undefined
}

/** Tells the hooks that the worker has of the end, and says in the outcome what hooks did. The end stands whatever happens here, also a cancel. */
export async function tellHooks(
  activities: CompactionActivities,
  work: CompactionActivityInput,
  { outcome, prepared }: EndedAttempt,
): Promise<CompactionOutcome> {
  if (prepared === undefined) return outcome
  const ended: CompactionOutcome = {
    ...outcome,
    ...(prepared.focus === undefined ? {} : { focus: prepared.focus }),
    ...(prepared.hookError === undefined ? {} : { hookError: prepared.hookError }),
  }
  const hook = HOOK_OF[outcome.outcome]
  if (hook === undefined || !prepared.hooks?.includes(hook)) return ended
  try {
    const told = await CancellationScope.nonCancellable(() =>
      activities.runHooks({ ...work, outcome: ended }),
    )
    return { ...ended, ...told }
  } catch (failure) {
    if (!(failure instanceof TemporalFailure)) throw failure
    return { ...ended, hookError: `${hook} was not called: ${failureMessage(failure)}` }
  }
}

const HOOK_OF: {
  readonly [outcome in CompactionOutcome['outcome']]?: 'afterCompaction' | 'compactionFailed'
} = {
  compacted: 'afterCompaction',
  failed: 'compactionFailed',
}
