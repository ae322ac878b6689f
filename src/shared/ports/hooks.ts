import type { Paid } from '../protocol.ts'
import type { ContentBlock } from '../session/content.ts'
import type { AttemptError, CompactionCause } from '../session/events.ts'

/**
 * A worker's own code around one compaction. Every worker of a queue needs the same hooks. Each call may come more than once for one compaction: after a crash
 * before its result was recorded. It gets 20 seconds and an abort signal; a hook that throws or hangs never costs the session anything.
 */
export interface CompactionHooks {
  /**
   * Before an attempt changes anything: allow (return nothing), refuse with a sentence, or give another focus. When it fails, a compaction that a person or the model
   * asked for fails with code `hook`; an automatic one goes on as if it were allowed, since the session would overflow without it, and shows the error.
   */
  beforeCompaction?(attempt: PlannedCompaction): Promise<HookVerdict | undefined>
  /**
   * After the commit, which stands whatever happens here: messages to be told again, at most 4,000 tokens together by our counter, and no more than keeps the context a tenth below the pressure limit. They are appended once, and are in
   * the very next request.
   */
  afterCompaction?(compaction: CompletedCompaction): Promise<HookMessages | undefined>
  /**
   * After an attempt that failed or was cancelled, also when its workflow was terminated or ran out of time, and when it could not be prepared: at least once. Not told of:
   * an attempt that a new life of its session found open, and a region that cannot be compacted.
   */
  compactionFailed?(compaction: FailedCompaction): Promise<void>
  /** Time of one call in milliseconds; default and most 20,000. */
  readonly timeoutMs?: number
}

export interface HookedCompaction {
  readonly sessionId: string
  readonly compactionId: string
  readonly cause: CompactionCause
  /** The open turn that owns it, or null between turns. */
  readonly turn: number | null
  /** What must stay, in the words of who asked. Data, never an instruction. */
  readonly focus?: string
  /** Context of the next request before it, in the provider's tokens, estimated. */
  readonly tokensBefore: number
  /** Aborts at the hook's time limit and when the compaction is cancelled. */
  readonly signal: AbortSignal
}

export interface PlannedCompaction extends HookedCompaction {
  /** Pressure limit; null: pressure is off. */
  readonly limit: number | null
  /** Messages that would be replaced, and their tokens by our counter; 0 when only results would be shortened. */
  readonly messages: number
  readonly messageTokens: number
}

/** `refuse`: why not, for people. `focus`: instead of the given one, at most 800 characters; a blank one is none. */
export type HookVerdict = { readonly refuse: string } | { readonly focus: string }

export interface CompletedCompaction extends HookedCompaction {
  readonly tokensAfter: number
  /** Seqs of its events in the log. */
  readonly startSeq: number
  readonly summarySeq: number
  readonly checkpointSeq: number
  readonly endSeq: number
  readonly paid: Paid
}

export interface HookMessages {
  /** Each becomes one `user/message` of source `context`. */
  readonly messages: readonly (string | readonly ContentBlock[])[]
}

export interface FailedCompaction extends HookedCompaction {
  readonly error: AttemptError
  readonly paid: Paid
}
