import type { RecordCounts } from './transcript.ts'

/** The reason of a merged record that says again what another one said. */
export const REPEATED = 'repeats a record that was taken before'

type Fate = 'taken' | 'merged' | 'leftOut'

interface Entry {
  readonly type: string
  fate: Fate
  reason: string
}

/**
 * What becomes of every record of a file. A record that was opened has exactly one fate at any time, so that the
 * counts add up whatever a reader does; without a word from the reader it is left out.
 */
export class RecordAccount {
  readonly #entries = new Map<number, Entry>()

  /** @param reason why the record is left out, when nothing takes it later. */
  open(line: number, type: string, reason: string): void {
    this.#entries.set(line, { type, fate: 'leftOut', reason })
  }

  take(line: number): void {
    this.#set(line, 'taken', '')
  }

  merge(line: number, reason: string): void {
    this.#set(line, 'merged', reason)
  }

  leaveOut(line: number, reason: string): void {
    this.#set(line, 'leftOut', reason)
  }

  get size(): number {
    return this.#entries.size
  }

  /** Number of records with this reason. */
  countOf(reason: string): number {
    let count = 0
    for (const entry of this.#entries.values()) if (entry.reason === reason) count++
    return count
  }

  counts(): Record<string, RecordCounts> {
    const byType = new Map<string, Record<Fate, number> & { reasons: Map<string, number> }>()
    for (const { type, fate, reason } of this.#entries.values()) {
      const counts = byType.get(type) ?? { taken: 0, merged: 0, leftOut: 0, reasons: new Map() }
      byType.set(type, counts)
      counts[fate]++
      if (fate !== 'taken') counts.reasons.set(reason, (counts.reasons.get(reason) ?? 0) + 1)
    }
    const entries = [...byType].map(([type, counts]): [string, RecordCounts] => [
      type,
      { ...counts, reasons: Object.fromEntries(counts.reasons) },
    ])
    return Object.fromEntries(entries)
  }

  #set(line: number, fate: Fate, reason: string): void {
    const entry = this.#entries.get(line)
    if (entry === undefined) throw new RangeError(`record ${line} was not opened`)
    entry.fate = fate
    entry.reason = reason
  }
}
