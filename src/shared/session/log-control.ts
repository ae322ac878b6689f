import type { UsageLedger } from '../usage/ledger.ts'
import type { SurfaceType } from './events.ts'

/**
 * The small state that the rules of the log need besides their lookups, and what was paid: O(1) in the length of the log. The fold keeps it in
 * memory, a store in the session's row.
 */
export interface LogControl {
  /** Seq of the next event. */
  readonly nextSeq: number
  /** How often a replacement has changed the surface. */
  readonly generation: number
  /** 0 before `session/start`. */
  readonly life: number
  readonly closed: boolean
  /** Seq of the newest `request/header`. */
  readonly headerSeq: number | null
  /** Number of the newest turn, 0 before the first. */
  readonly lastTurn: number
  readonly openTurn: number | null
  /** The newest step of the open turn, 0 before its first and between turns. */
  readonly lastStep: number
  readonly openStep: number | null
  /** The open compaction. */
  readonly bracket: Bracket | null
  /** Set between a price event and the copy that must follow it. */
  readonly pricedNode: number | null
  /** Every paid call so far, summed. */
  readonly usage: UsageLedger
}

export interface Bracket {
  readonly compactionId: string
  /** The turn that owns it, or null between turns. */
  readonly turn: number | null
  readonly startSeq: number
  readonly summary: BracketSummary | null
  readonly checkpointSeq: number | null
}

/** The span that the summary stands for, and the generation in which that was true. */
export interface BracketSummary {
  readonly seq: number
  readonly start: number
  readonly end: number
  readonly generation: number
}

export const EMPTY_CONTROL: LogControl = {
  nextSeq: 0,
  generation: 0,
  life: 0,
  closed: false,
  headerSeq: null,
  lastTurn: 0,
  openTurn: null,
  lastStep: 0,
  openStep: null,
  bracket: null,
  pricedNode: null,
  usage: [],
}

/** A node of the surface as the rules see it. */
export interface NodeFacts {
  readonly seq: number
  readonly type: SurfaceType
  readonly tokens: number
  /** Canonical JSON of its `eventFacts`. */
  readonly facts: string
}

/** What the rules ask about the events before the one they judge. */
export interface LogLookup {
  seqOfKey(key: string): number | undefined
  /** The nodes from `start` to `end`, in surface order; null unless both are on the surface, in this order. */
  span(start: number, end: number): readonly NodeFacts[] | null
  /** The nodes that a replacement has shadowed, in surface order. */
  shadowedBy(seq: number): readonly number[]
}

/** What an accepted event does to the surface. */
export type SurfaceChange =
  | { readonly op: 'none' }
  | { readonly op: 'append' }
  | { readonly op: 'replace'; readonly shadowed: readonly number[] }
  | { readonly op: 'restore'; readonly node: number; readonly restored: readonly number[] }

export interface Judgement {
  readonly control: LogControl
  readonly change: SurfaceChange
}
