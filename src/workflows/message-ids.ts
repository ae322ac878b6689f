import { canonicalJson } from '../shared/session/canonical-json.ts'
import { hash53 } from '../shared/session/keys.ts'

// Ids of signals that came without one. Pure.

/** 32 bits of a hash, in hex. */
const hex8 = (value: string): string => hash53(value).toString(16).padStart(14, '0').slice(-8)

/**
 * `auto-<life>-<n>-<content>`: the same signal gets the same id in a replay and after a reset, and a reset that repeats the counter for another signal gives
 * another id. `life` is the hash of the life's first run id, which is known before the store's number is.
 */
export function autoId(firstRunId: string, count: number, content: unknown): string {
  return `auto-${hex8(firstRunId)}-${count}-${hex8(canonicalJson(content))}`
}

/** Equal bodies have equal fingerprints. */
export const fingerprintOf = (content: unknown): number => hash53(canonicalJson(content))
