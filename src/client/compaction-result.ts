import { ManualCompactionError } from '../shared/errors.ts'
import type { SessionStore } from '../shared/ports/store.ts'
import type { CompactionOutcome, Paid } from '../shared/protocol.ts'
import type { ContentBlock } from '../shared/session/content.ts'
import type { CompactionCause, FailedModel, Lost } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'

/** A successful compaction, read from the store. Tokens of `shadowedTokenCount` are of our counter; `tokensBefore` and `tokensAfter` are of the provider, estimated. */
export interface CompactionResult {
  readonly compactionId: string
  readonly startSeq: number
  readonly summarySeq: number
  readonly checkpointSeq: number
  readonly endSeq: number
  readonly summary: readonly ContentBlock[]
  readonly shadowedRange: { readonly start: number; readonly end: number }
  /** In surface order; authoritative. */
  readonly shadowedSeqs: readonly number[]
  readonly shadowedTokenCount: number
  readonly cause: CompactionCause
  readonly focus?: string
  /** The turn that owned it, or null between turns. */
  readonly turn: number | null
  readonly lost: Lost
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly endedAt: number
  readonly durationMs: number
  readonly model: string
  /** Models that were asked for the summary before and failed. */
  readonly failedModels?: readonly FailedModel[]
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly paid: Paid
}

/** Null for `nothing` and `pruned`. @throws ManualCompactionError for a failed one */
export async function compactionResult(
  store: SessionStore,
  sessionId: string,
  outcome: CompactionOutcome,
): Promise<CompactionResult | null> {
  const { compactionId } = outcome
  if (outcome.outcome === 'failed') {
    throw new ManualCompactionError(
      outcome.error?.code ?? 'summary',
      outcome.error?.message ?? 'The compaction failed.',
      compactionId,
    )
  }
  if (outcome.outcome !== 'compacted') return null
  const [start, summary, checkpoint, end] = await Promise.all(
    [
      keys.compactStart(compactionId),
      keys.compactSummary(compactionId),
      keys.compactCheckpoint(compactionId),
      keys.compactEnd(compactionId),
    ].map((key) => store.eventByKey(sessionId, key)),
  )
  if (
    start?.type !== 'compact/start' ||
    summary?.type !== 'compact/summary' ||
    end?.type !== 'compact/end' ||
    !checkpoint
  ) {
    throw new ManualCompactionError(
      'persistence',
      `The log does not hold the events of compaction ${compactionId}.`,
      compactionId,
    )
  }
  const { shadowedRange, shadowedSeqs, shadowedTokenCount, lost, model, failed } = summary.data
  return {
    compactionId,
    startSeq: start.seq,
    summarySeq: summary.seq,
    checkpointSeq: checkpoint.seq,
    endSeq: end.seq,
    summary: summary.data.summary,
    shadowedRange,
    shadowedSeqs,
    shadowedTokenCount,
    cause: start.data.cause,
    ...(start.data.focus === undefined ? {} : { focus: start.data.focus }),
    turn: start.data.turn,
    lost,
    startedAt: start.time,
    endedAt: end.time,
    durationMs: end.time - start.time,
    model,
    ...(failed === undefined ? {} : { failedModels: failed }),
    tokensBefore: outcome.tokensBefore,
    tokensAfter: outcome.tokensAfter,
    paid: outcome.paid,
  }
}
