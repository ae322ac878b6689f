import type { AttemptRow } from './ports/store.ts'
import type { CompactionOutcome, CompactionRecord, Paid } from './protocol.ts'
import { totalOf } from './usage/ledger.ts'

/** A record repeats only the beginning of what a person or a failure said: it is carried by continue-as-new. */
export const RECORD_TEXT_CHARS = 160

/** What an outcome adds to the record of its compaction. */
export function recordedEnd({
  outcome,
  reason,
  message,
  focus,
  hookError,
  tokensBefore,
  tokensAfter,
  startSeq,
  summarySeq,
  endSeq,
  paid,
  model,
  failedModels,
  error,
}: CompactionOutcome): Partial<CompactionRecord> & Pick<CompactionRecord, 'outcome'> {
  return {
    outcome,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message: message.slice(0, RECORD_TEXT_CHARS) }),
    ...(focus === undefined || focus === '' ? {} : { focus: focus.slice(0, RECORD_TEXT_CHARS) }),
    ...(hookError === undefined ? {} : { hookError: hookError.slice(0, RECORD_TEXT_CHARS) }),
    tokensBefore,
    tokensAfter,
    ...(startSeq === undefined ? {} : { startSeq }),
    ...(summarySeq === undefined ? {} : { summarySeq }),
    ...(endSeq === undefined ? {} : { endSeq }),
    paidCalls: paid.calls,
    ...(model === undefined ? {} : { model: model.slice(0, RECORD_TEXT_CHARS) }),
    ...(failedModels === undefined ? {} : { failedModels: failedModels.slice(0, RECORD_TEXT_CHARS) }),
    ...(error === undefined
      ? {}
      : { errorCode: error.code, errorMessage: error.message.slice(0, RECORD_TEXT_CHARS) }),
  }
}

/** Every call that the store knows of the attempt, whoever made it. */
export function paidFor({ usage }: Pick<AttemptRow, 'usage'>): Paid {
  const { requests, unknownRequests: _, ...tokens } = totalOf(usage)
  return { calls: requests, reused: 0, usage: tokens }
}

/** The outcome of an attempt; one that failed also paid for what was recorded after its end. */
export function outcomeOfAttempt(row: Pick<AttemptRow, 'outcome' | 'usage'>): CompactionOutcome | null {
  const { outcome } = row
  return outcome?.outcome === 'failed' ? { ...outcome, paid: paidFor(row) } : outcome
}

/** The record of an attempt that the store keeps. Its paid calls are those of the ledger: a cancelled one may be recorded after its end. */
export function recordOfAttempt(row: AttemptRow): CompactionRecord {
  const { compactionId, cause, turn, focus, startSeq, startedAt, endedAt, outcome } = row
  return {
    compactionId,
    cause,
    turn,
    ...(focus === undefined ? {} : { focus: focus.slice(0, RECORD_TEXT_CHARS) }),
    startedAt,
    ...(outcome === null
      ? { outcome: 'running', ...(startSeq === null ? {} : { startSeq }) }
      : { ...recordedEnd(outcome), paidCalls: paidFor(row).calls, endedAt: endedAt ?? startedAt }),
  }
}
