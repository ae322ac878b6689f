import type { CompactionOutcome, CompactionRecord } from './protocol.ts'

/** A record repeats only the beginning of what a person or a failure said: it is carried by continue-as-new. */
export const RECORD_TEXT_CHARS = 160

/** What an outcome adds to the record of its compaction. */
export function recordedEnd({
  outcome,
  reason,
  tokensBefore,
  tokensAfter,
  startSeq,
  summarySeq,
  endSeq,
  paid,
  error,
}: CompactionOutcome): Partial<CompactionRecord> & Pick<CompactionRecord, 'outcome'> {
  return {
    outcome,
    ...(reason === undefined ? {} : { reason }),
    tokensBefore,
    tokensAfter,
    ...(startSeq === undefined ? {} : { startSeq }),
    ...(summarySeq === undefined ? {} : { summarySeq }),
    ...(endSeq === undefined ? {} : { endSeq }),
    paidCalls: paid.calls,
    ...(error === undefined
      ? {}
      : { errorCode: error.code, errorMessage: error.message.slice(0, RECORD_TEXT_CHARS) }),
  }
}
