import type {
  AttemptRow,
  CommitAttempt,
  CompactionPlan,
  OpenAttempt,
  SessionStore,
} from '../../shared/ports/store.ts'
import type { CompactionOutcome } from '../../shared/protocol.ts'
import { AS_OWNER, appendTo } from './harness.ts'
import { checkpoint, compactSummary, userMessage } from './sample-events.ts'

/** The id of the sample attempt. */
export const ATTEMPT_ID = 'manual.m'

export interface Planned {
  readonly head: number
  readonly plan: CompactionPlan
  readonly turn?: number | null
}

/** Nodes 2 (5 tokens) and 3 (7 tokens), and a plan that takes both. */
export async function twoMessages(store: SessionStore): Promise<Planned> {
  const { head, generation } = await appendTo(store, null, [
    userMessage('a', 'hello'),
    userMessage('b', 'and bye'),
  ])
  return {
    head,
    plan: {
      shadowedSeqs: [2, 3],
      shadowedTokenCount: 12,
      generation,
      chunkEnds: [3],
      tokensBefore: 12,
      checkpointTokens: 100,
    },
  }
}

export function opening({ head, plan, turn = null }: Planned, over: Partial<OpenAttempt> = {}): OpenAttempt {
  return {
    ...AS_OWNER,
    expectedHead: head,
    attempt: {
      compactionId: ATTEMPT_ID,
      cause: 'manual',
      turn,
      focus: 'API',
      childWorkflowId: `pr-4711/compact/${ATTEMPT_ID}`,
      namespace: 'default',
      cluster: 'c1',
      deadline: 99_000,
    },
    copies: [],
    plan,
    ...over,
  }
}

export const openPlanned = (store: SessionStore, planned: Planned): Promise<AttemptRow> =>
  store.openAttempt(opening(planned))

export const outcome = (over: Partial<CompactionOutcome> = {}): CompactionOutcome => ({
  v: 1,
  compactionId: ATTEMPT_ID,
  outcome: 'compacted',
  reading: { headSeq: 0, generation: 0, tokens: 10, limit: 100, pressure: 'none' },
  tokensBefore: 12,
  tokensAfter: 10,
  paid: {
    calls: 0,
    reused: 0,
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  },
  ...over,
})

export const committing = (over: Partial<CommitAttempt> = {}): CommitAttempt => ({
  ...AS_OWNER,
  compactionId: ATTEMPT_ID,
  summary: compactSummary(ATTEMPT_ID, [2, 3], 12),
  checkpoint: checkpoint(ATTEMPT_ID, [2, 3]),
  outcome: outcome(),
  ...over,
})
