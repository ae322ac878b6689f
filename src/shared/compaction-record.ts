import type { AttemptRow } from './ports/store.ts'
import type { CompactionOutcome, CompactionRecord } from './protocol.ts'

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

/** The record of an attempt that the store keeps. */
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
      : { ...recordedEnd(outcome), endedAt: endedAt ?? startedAt }),
  }
}
