import type { CompactionOutcome, Reading } from '../protocol.ts'

// The two decisions of the compaction seam: functions of a reading or of a refusal, and of what was tried in this step. Pure.

type Pass = Pick<CompactionOutcome, 'outcome' | 'tokensBefore' | 'tokensAfter'>

/**
 * Before a request: compact for pressure? Only on `over`. A further attempt in the same step needs an effective pass that is still above; an ineffective one
 * shows as `held`, since the store's breaker counts it.
 */
export function pressureWantsCompaction(
  reading: Reading | null,
  passes: readonly Pass[],
  compactionRetries: number,
): boolean {
  if (reading?.pressure !== 'over' || passes.length > compactionRetries) return false
  const last = passes.at(-1)
  return last === undefined || isEffective(last)
}

/** After a refused request: the same step again only when the surface has changed since the request was made. */
export function mayRetryRequest(refusedGeneration: number, outcome: CompactionOutcome): boolean {
  return outcome.reading.generation > refusedGeneration
}

/** The newest reading has the highest head; at the same head the later one counts, which knows of the newest pass. */
export function newestReading(known: Reading | null, found: Reading): Reading {
  return known === null || found.headSeq >= known.headSeq ? found : known
}

const isEffective = ({ outcome, tokensBefore, tokensAfter }: Pass): boolean =>
  (outcome === 'compacted' || outcome === 'pruned') && tokensAfter < tokensBefore
