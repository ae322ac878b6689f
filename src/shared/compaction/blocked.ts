import type { Blocked, CompactionRecord, Reading } from '../protocol.ts'
import type { CompactionCause } from '../session/events.ts'
import { reasonText } from './reason-text.ts'

/** Compactions that no person asked for. */
export const isAutomatic = (cause: CompactionCause): boolean => cause !== 'manual' && cause !== 'region'

/** Why a session does not compact by itself although it should; `last` is its newest automatic compaction. */
export function blockedBy(reading: Reading | null, last: CompactionRecord | undefined): Blocked | null {
  if (reading?.off === 'budget-spent') {
    return {
      reason: reading.off,
      message:
        "The session's compactions have used up the policy's compactionBudget, so none is paid for by itself: raise it by configure, or compact by hand. A request that does not fit still gets a checkpoint that code writes alone.",
    }
  }
  if (reading?.off !== undefined) {
    return {
      reason: reading.off,
      message:
        "Nobody knows the window of the session's model, so pressure starts no compaction: give the policy models[].contextWindow or thresholdTokens. A request that the provider refuses as too long is still compacted for.",
    }
  }
  if (reading?.pressure === 'overhead') {
    return {
      reason: 'overhead',
      message: `System prompt and tools alone reach the limit of ${reading.limit} tokens, so no compaction can help: give the session fewer tools, a shorter system prompt or a larger window.`,
    }
  }
  if (reading?.pressure !== 'held') return null
  return {
    reason: 'held',
    message: `Automatic compaction pauses at ${reading.tokens} tokens, limit ${reading.limit}${last === undefined ? '' : `: the last one ${endText(last)}`}. It goes on after some steps, or after three in a row that did not help once the conversation is shorter, a person compacts, or an hour has passed.`,
  }
}

function endText({
  compactionId,
  outcome,
  reason,
  errorCode,
  errorMessage,
  tokensBefore,
  tokensAfter,
}: CompactionRecord): string {
  if (outcome === 'failed')
    return `(${compactionId}) failed${errorCode === undefined ? '' : ` (${errorCode})`}: ${errorMessage ?? 'no message'}`
  if (outcome === 'nothing') return `(${compactionId}) did nothing: ${reasonText(reason ?? '')}`
  return `(${compactionId}) was not enough: ${tokensBefore} → ${tokensAfter} tokens`
}
