import { isAutomatic } from '../shared/compaction/blocked.ts'
import { RECORD_TEXT_CHARS, recordedEnd } from '../shared/compaction-record.ts'
import { LIMITS } from '../shared/limits.ts'
import type { CompactionOutcome, CompactionRecord } from '../shared/protocol.ts'
import type { CompactionCause } from '../shared/session/events.ts'

// The newest compactions of a session, for the query; all of them are in the store. Pure.

export interface Begun {
  readonly compactionId: string
  readonly cause: CompactionCause
  readonly turn: number | null
  readonly focus?: string | undefined
}

export class CompactionHistory {
  #records: CompactionRecord[]
  /** Of the whole session, as far as this chain of runs knows. */
  count: number

  constructor(records: readonly CompactionRecord[] = [], count = 0) {
    this.#records = [...records]
    this.count = count
  }

  begin({ compactionId, cause, turn, focus }: Begun, startedAt: number): void {
    this.count++
    const record: CompactionRecord = {
      compactionId,
      cause,
      turn,
      ...(focus === undefined ? {} : { focus: focus.slice(0, RECORD_TEXT_CHARS) }),
      outcome: 'running',
      startedAt,
    }
    this.#records = [...this.#records, record].slice(-LIMITS.historyRecords)
  }

  /** Ends the newest record. A refused request has no outcome, only a sentence. */
  end(ended: CompactionOutcome | { readonly refused: string }, endedAt: number): void {
    const record = this.#records.at(-1)
    if (record === undefined) return
    this.#records[this.#records.length - 1] = { ...record, ...endOf(ended), endedAt }
  }

  get last(): CompactionRecord | undefined {
    return this.#records.at(-1)
  }

  /** The newest that has ended and that no person asked for. */
  get lastAutomatic(): CompactionRecord | undefined {
    return this.#records.findLast(({ cause, outcome }) => isAutomatic(cause) && outcome !== 'running')
  }

  /** Oldest first. */
  get records(): readonly CompactionRecord[] {
    return this.#records
  }
}

const endOf = (ended: CompactionOutcome | { readonly refused: string }) =>
  'refused' in ended
    ? { outcome: 'failed' as const, errorMessage: ended.refused.slice(0, RECORD_TEXT_CHARS) }
    : recordedEnd(ended)
