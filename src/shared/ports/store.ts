import type { CompactionOutcome } from '../protocol.ts'
import type { ContentBlock } from '../session/content.ts'
import type {
  AttemptError,
  CompactionCause,
  EventType,
  Header,
  NewEvent,
  SessionEvent,
  SurfaceNode,
  TurnEndReason,
} from '../session/events.ts'
import type { UsageLedger } from '../usage/ledger.ts'
import type { InboxKind, InboxRow, InboxState, PutInbox } from './inbox.ts'
import type { Summary } from './summarizer.ts'

/**
 * The session store: the truth of a session. Every method is one transaction. Writes take the run that
 * acts; when that run does not own the session they throw `SessionError('NotOwner', …, {owner, fence})` and write
 * nothing. Checks come in this order: owner, key (known: the recorded events come back), turn, plan.
 *
 * Errors of every method: `SessionNotFound` (also for a session whose bodies were erased), `StoreUnavailable`; of writes also `NotOwner`
 * and `InvalidInput` (an event, id or number of no known shape). A store is used by several processes at once. Text is made well-formed
 * on its way in. `storeContract` (`durable-compaction/store-contract`) is these sentences as tests.
 */
export interface SessionStore {
  // Sessions and owners

  /**
   * Creates the session (life 1: `session/start`, `request/header`), or returns it when the same run asks again.
   * A known session is not changed here: the owner test applies (`NotOwner`), then a new life goes through `takeOver`.
   */
  createSession(input: CreateSession): Promise<SessionRow>
  /** Null when the store does not know the session. */
  session(sessionId: string): Promise<SessionRow | null>
  /** All sessions, newest activity first. */
  sessions(options?: { limit?: number }): Promise<readonly SessionRow[]>
  /**
   * Makes `actor` the owner, put-if-absent per (session, run), if the fence is still `expectedFence` (`HeadMoved` otherwise: ask
   * the server again). Closes an open attempt as `interrupted`. When the actor's life differs from the owner's: a new life,
   * which also closes an open turn as interrupted and writes `session/end-seed`; a closed session is open again. The owner gets its row
   * back, whatever the fence; a run that owned the session before and was replaced never owns it again (`NotOwner`).
   */
  takeOver(input: TakeOver): Promise<SessionRow>
  /**
   * Writes `session/close`: prompts are refused from then on (`SessionClosed`), waiting ones stay in the inbox, waiting control requests become
   * `refused`, an open turn may end. Once a life: a later call returns the recorded event.
   */
  closeSession(input: ActorInput & { requestId: string; reason?: string }): Promise<Written>

  // The log

  /**
   * Appends a whole batch. If any key exists nothing is written and the recorded events come back in the batch's order (those
   * that exist), `recorded: true`. `expectedHead`, when given: `HeadMoved` unless the next seq still is this. `turn` non-null must be the open turn (`TurnClosed`).
   * The rules of the fold judge the batch (`LogRejected`). `meter` replaces the session's meter state in the same transaction. Lives, turns and
   * brackets are left to their own methods (`LogRejected`). Cost: O(1) per event in the length of the log; a replacement O(span).
   */
  append(input: Append): Promise<Written>
  /** In seq order. `after`: seq greater than this. Default limit 1,000. */
  events(sessionId: string, query?: EventsQuery): Promise<readonly SessionEvent[]>
  eventByKey(sessionId: string, key: string): Promise<SessionEvent | null>
  /** How many events of a type the log holds. Cost: one run over them in an index, no body. */
  countEvents(sessionId: string, type: EventType): Promise<number>
  /** Missing keys are left out. */
  eventsByKeys(sessionId: string, keys: readonly string[]): Promise<readonly SessionEvent[]>
  /** The surface with its bodies, one consistent read. Cost: the bodies of the surface. */
  surface(sessionId: string): Promise<SurfaceSnapshot>
  /** The surface without its bodies: prices only. Cost: rows of the surface, no body. */
  measure(sessionId: string): Promise<SurfaceMeasure>
  /**
   * Messages and outputs that contain the text, newest first, behind them the checkpoints that do. Literal; `foldCase` of both sides is compared, over
   * `contentText`. Each result once: its uncut output if there is one, never a shortened copy. Erased bodies are no hits. Cost: the bodies
   * that are passed over, read through the codec.
   */
  search(sessionId: string, text: string, options?: SearchOptions): Promise<readonly SessionEvent[]>

  // Turns

  /**
   * Opens the turn of a prompt, or finds it: `turn/start`, then the given messages as `user/message` (the last is the prompt). The store gives the
   * turn's number. The inbox rows named in `messages` become `running`. `LogRejected` while another turn or a compaction is open, `SessionClosed`. A prompt that
   * has joined a turn finds that one; a message that the log holds already is left out.
   */
  startTurn(input: StartTurn): Promise<TurnRow>
  /** The turn that the prompt opened or joined. */
  turnByRequest(sessionId: string, requestId: string): Promise<TurnRow | null>
  /**
   * Ends an open turn: `events` first (the last assistant message), then interrupted results for the unanswered calls of the newest reply, the last `step/end`,
   * `turn/end`. The inbox rows that ran in it become `done` with `{turn, reason}`. A turn that has ended returns its recorded end; if a key of `events` exists,
   * nothing is written, as for `append`. `TurnClosed` for a turn that never was; an open bracket inside refuses it (`LogRejected`).
   */
  endTurn(input: EndTurn): Promise<Written>

  // Attempts: absent → open → ended, or absent → void

  /**
   * Prepare's transaction: the copies (micro, prune) and, with `plan`, the frozen plan and `compact/start`; with `void`, the outcome of an attempt that
   * found nothing to do or was relieved by pruning. An attempt that is already known comes back unchanged and nothing is written. `expectedHead` as for `append`.
   * `Busy` while another attempt is open; `TurnClosed`; `LogRejected` when the plan is not true of the surface that the copies leave.
   */
  openAttempt(input: OpenAttempt): Promise<AttemptRow>
  attempt(sessionId: string, compactionId: string): Promise<AttemptRow | null>
  /** Newest first; of one session, or of all. */
  attempts(query: AttemptsQuery): Promise<readonly AttemptRow[]>
  /** The ledger of each attempt of the session that paid for a call, in any order. */
  attemptUsage(sessionId: string): Promise<readonly Pick<AttemptRow, 'compactionId' | 'usage'>[]>
  /**
   * Records one paid call. A complete response takes `compact.<id>.call.<n>` (first wins); any other takes the next `….lost.<k>`. Allowed while the attempt is open; after it
   * ended only `lost` calls are written (what was paid is never forgotten). The store gives the key; a call whose turn has ended belongs to none.
   * `LogRejected` for an attempt that never opened.
   */
  recordCall(
    input: ActorInput & {
      compactionId: string
      complete: boolean
      event: NewEvent<'compact/call'>
      index: number
    },
  ): Promise<SessionEvent<'compact/call'>>
  /** Keeps the accepted summary (or null: code writes the whole checkpoint) with the open attempt, for the commit. The first one stays. */
  recordSummary(input: ActorInput & { compactionId: string; summary: StoredSummary }): Promise<AttemptRow>
  /**
   * Commit: the attempt is open, the plan is still true (every shadowed seq is on the surface, in one run, unchanged: otherwise the attempt
   * ends as `changed`); then `compact/summary`, the replacing `user/message`, `compact/end` and the outcome, in one transaction. An ended attempt comes back as it is.
   * The store gives the checkpoint's surface operation and citations, the turn of all three, and the head and generation of the outcome's reading.
   * `LogRejected` for an unknown attempt; `InvalidInput` for a summary or checkpoint of another one.
   */
  commitAttempt(input: CommitAttempt): Promise<AttemptRow>
  /** Any closer may call it, without owning the session; the first end wins; an absent attempt becomes void. */
  closeAttempt(input: CloseAttempt): Promise<AttemptRow>

  // Inbox

  /**
   * Stores a prompt, a compaction or a control request before it is acknowledged. Same id, same content: `known`. Same id, other content: `KeyConflict`. `QueueFull`,
   * `SessionClosed`. Needs no owner. `known` also says what became of it, closed or full. The queue is full per kind.
   */
  putInbox(input: PutInbox): Promise<InboxRow>
  inbox(
    sessionId: string,
    query?: { state?: InboxState; kind?: InboxKind; requestIds?: readonly string[]; limit?: number },
  ): Promise<readonly InboxRow[]>
  /** Moves rows to their final state; a final row is left alone. */
  settleInbox(
    input: ActorInput & { rows: readonly { requestId: string; state: InboxState; outcome?: unknown }[] },
  ): Promise<void>

  // Meter and live text

  /** The meter's state; null before the first write. */
  meter(sessionId: string): Promise<unknown>
  putMeter(input: ActorInput & { meter: unknown }): Promise<void>
  /** Live text of the message being written; not durable, deleted when the message with this key lands. Index 0 begins it anew; after the message or the end of its turn nothing is kept. */
  putDelta(input: { sessionId: string; key: string; index: number; text: string }): Promise<void>
  deltas(sessionId: string, key: string): Promise<readonly { index: number; text: string }[]>

  close(): Promise<void>
}

/** The run that acts: of the calling activity's own workflow, or of its parent for a `sessionCompaction`. */
export interface Actor {
  readonly workflowId: string
  readonly runId: string
}

export interface ActorInput {
  readonly sessionId: string
  readonly actor: Actor
}

export interface CreateSession extends ActorInput {
  /** `firstExecutionRunId`: stable across continue-as-new and reset. */
  readonly lifeRunId: string
  readonly header: Header
}

export interface SessionRow {
  readonly sessionId: string
  readonly owner: Actor
  /** `firstExecutionRunId` of the owner's chain. */
  readonly lifeRunId: string
  /** Rises with each change of the owner. */
  readonly fence: number
  /** 1 for the first. */
  readonly life: number
  readonly closed: boolean
  /** Seq of the next event. */
  readonly head: number
  readonly generation: number
  readonly openTurn: number | null
  /** Number of the newest turn, 0 before the first. */
  readonly lastTurn: number
  /** The newest step of the open turn, 0 before its first. */
  readonly openStep: number
  readonly openCompactionId: string | null
  readonly headerSeq: number
  readonly header: Header
  /** Every paid call of the session, summed in the transaction that writes it: what `ledgerOf` makes of the log. */
  readonly usage: UsageLedger
  readonly createdAt: number
  readonly updatedAt: number
}

export interface TakeOver extends ActorInput {
  readonly lifeRunId: string
  readonly expectedFence: number
}

export interface Append extends ActorInput {
  readonly turn: number | null
  readonly events: readonly NewEvent[]
  readonly expectedHead?: number
  readonly meter?: unknown
  /** Inbox rows that this batch consumes (a `next-step` prompt that joined). */
  readonly consumes?: readonly string[]
  /** Inbox rows that become `done` with their outcome in this transaction, also when the events were there before. */
  readonly settles?: readonly { readonly requestId: string; readonly outcome: unknown }[]
}

export interface Written {
  /** True when the events were there before. */
  readonly recorded: boolean
  readonly events: readonly SessionEvent[]
  /** Seq of the next event, after the write. */
  readonly head: number
  readonly generation: number
}

export interface EventsQuery {
  readonly after?: number
  readonly limit?: number
  readonly types?: readonly EventType[]
  readonly turn?: number
}

export interface SearchOptions {
  /** Hits at most. Default 20. */
  readonly limit?: number
  /** Hits to pass over. Default 0. */
  readonly skip?: number
  /** Only what no longer stands on the surface, and whole outputs. */
  readonly left?: boolean
  /** Calls and results of this tool are no hits. */
  readonly exceptTool?: string
}

export interface SurfaceSnapshot {
  readonly head: number
  readonly generation: number
  readonly nodes: readonly SurfaceNode[]
}

/** A node's place and price, without its body. */
export interface MeasuredNode {
  readonly seq: number
  readonly type: SurfaceNode['type']
  readonly tokens: number
}

export interface SurfaceMeasure {
  readonly head: number
  readonly generation: number
  readonly nodes: readonly MeasuredNode[]
}

export interface PricedMessage {
  readonly requestId: string
  readonly content: readonly ContentBlock[]
  readonly source: 'prompt' | 'import' | 'context' | 'notice'
  readonly tokens: number
}

export interface StartTurn extends ActorInput {
  readonly requestId: string
  readonly messages: readonly PricedMessage[]
}

export interface TurnRow {
  readonly turn: number
  readonly requestId: string
  readonly status: 'new' | 'resumed' | 'ended'
  /** The newest step, 0 before the first. */
  readonly step: number
  readonly endReason: TurnEndReason | null
  readonly startSeq: number
}

export interface EndTurn extends ActorInput {
  readonly turn: number
  readonly reason: TurnEndReason
  readonly message?: string
  /** Name of the expected failure that ended it. */
  readonly code?: string
  readonly events?: readonly NewEvent[]
  readonly meter?: unknown
}

/** The frozen plan of an attempt. Re-entry reads it and never selects anew. */
export interface CompactionPlan {
  /** Surface nodes to be replaced, in surface order. */
  readonly shadowedSeqs: readonly number[]
  readonly shadowedTokenCount: number
  readonly generation: number
  /** Last seq of each chunk, in surface order; one entry: the span in one call. */
  readonly chunkEnds: readonly number[]
  readonly tokensBefore: number
  /** Tokens that the checkpoint may have. */
  readonly checkpointTokens: number
}

export interface AttemptInput {
  readonly compactionId: string
  readonly cause: CompactionCause
  /** The open turn that owns the attempt, or null between turns. */
  readonly turn: number | null
  readonly focus?: string
  readonly childWorkflowId: string
  readonly namespace: string
  readonly cluster: string
  /** Inbox rows of those who asked: they become `done`, with the attempt's id, in the transaction that ends or voids it. */
  readonly requestIds?: readonly string[]
  /** Milliseconds since the epoch after which the attempt is dead. */
  readonly deadline: number
}

export interface OpenAttempt extends ActorInput {
  readonly attempt: AttemptInput
  readonly expectedHead: number
  /** Shadow copies with their price events, in order. */
  readonly copies: readonly NewEvent[]
  readonly plan?: CompactionPlan
  readonly void?: CompactionOutcome
  readonly meter?: unknown
}

export interface AttemptRow extends AttemptInput {
  readonly sessionId: string
  readonly state: 'open' | 'ended' | 'void'
  readonly life: number
  readonly plan: CompactionPlan | null
  readonly startSeq: number | null
  /** What `recordSummary` kept; undefined before. */
  readonly summary?: StoredSummary
  /** Final once the state is `ended` or `void`. */
  readonly outcome: CompactionOutcome | null
  /** Every paid call of the attempt, also those that came after its end. */
  readonly usage: UsageLedger
  readonly startedAt: number
  readonly endedAt: number | null
}

export interface StoredSummary {
  /** Null: no model wrote one. */
  readonly summary: Summary | null
  /** Why there is none, when a model was asked: the reason of `SummaryFailed`. */
  readonly fallbackReason?: string
}

export interface AttemptsQuery {
  readonly sessionId?: string
  readonly state?: 'open' | 'ended' | 'void'
  readonly limit?: number
}

export interface CommitAttempt extends ActorInput {
  readonly compactionId: string
  readonly summary: NewEvent<'compact/summary'>
  readonly checkpoint: NewEvent<'user/message'>
  /** Written into the row with the seqs of the events. */
  readonly outcome: CompactionOutcome
  readonly meter?: unknown
}

export interface CloseAttempt extends Pick<AttemptInput, 'requestIds'> {
  /** Written when this call ends an open attempt. */
  readonly meter?: unknown
  readonly sessionId: string
  readonly compactionId: string
  readonly error: AttemptError
  /** What the closer measured: reading, tokens and paid calls are taken from it. Without it, tokens are the plan's and nothing is paid. */
  readonly outcome?: CompactionOutcome
}
