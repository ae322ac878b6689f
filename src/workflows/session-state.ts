import type { z } from 'zod'
import type { settleInputSchema } from '../shared/activity-protocol.ts'
import { blockedBy } from '../shared/compaction/blocked.ts'
import { newestReading } from '../shared/compaction/decisions.ts'
import type {
  CarriedState,
  CloseRequest,
  CompactionRecord,
  Reading,
  SessionState as SessionView,
} from '../shared/protocol.ts'
import type { CompactionCause } from '../shared/session/events.ts'
import { fitCarried } from './carried-state.ts'
import { CompactionHistory } from './compaction-history.ts'
import { CompactionQueue } from './compaction-queue.ts'
import { ControlQueue } from './control-queue.ts'
import { PromptQueue } from './prompt-queue.ts'

// The control state of a session: what the handlers write and the loop works on. Pure.

export interface RunningTurn {
  readonly requestId: string
  /** Null until the store gave it. */
  number: number | null
  step: number | null
  cancelReason?: string | undefined
  /** A cancel by number that came before the number was known. */
  earlyCancel?: { readonly turn: number; readonly reason: string | undefined }
  cancel(): void
}

export interface RunningAttempt {
  readonly compactionId: string
  readonly cause: CompactionCause
  cancelReason?: string | undefined
  cancel(): void
}

export type Settlement = z.infer<typeof settleInputSchema>['rows'][number]

export class SessionState {
  readonly sessionId: string
  readonly prompts: PromptQueue
  readonly compactions: CompactionQueue
  readonly controls = new ControlQueue()
  readonly history: CompactionHistory
  /** Inbox rows to be written. */
  readonly settlements: Settlement[] = []
  /** The store's number of this life; 0 until the session is open. */
  life = 0
  idleTimeoutMs: number | null = null
  reading: Reading | null
  turn: RunningTurn | null = null
  attempt: RunningAttempt | null = null
  closing: (CloseRequest & { readonly requestId: string }) | null
  /** Why the run failed. */
  failure: string | null = null
  /** Messages that the handlers refused. */
  refused: number
  /** Messages of this run. */
  messages = 0
  /** Signals that came without an id. */
  autoIds: number

  constructor(sessionId: string, carried?: CarriedState) {
    this.sessionId = sessionId
    this.prompts = new PromptQueue(carried?.prompts)
    this.compactions = new CompactionQueue(carried?.compactions)
    this.history = new CompactionHistory(carried?.history, carried?.compactionCount)
    this.reading = carried?.reading ?? null
    this.refused = carried?.refused ?? 0
    this.autoIds = carried?.autoIds ?? 0
    this.closing =
      carried?.closing === undefined
        ? null
        : { ...carried.closing, requestId: carried.closing.requestId ?? 'close' }
  }

  observe(reading: Reading): void {
    this.reading = newestReading(this.reading, reading)
  }

  /** Cancels the running turn with what it runs, apart from a compaction that a person asked for. */
  stopTurn(reason: string | undefined): void {
    if (this.turn === null) return
    this.turn.cancelReason = reason
    if (this.attempt !== null && this.compactions.running === null) this.attempt.cancelReason = reason
    this.turn.cancel()
  }

  get isBusy(): boolean {
    return this.turn !== null || this.attempt !== null
  }

  get hasWork(): boolean {
    return (
      !this.prompts.isEmpty ||
      this.compactions.size > 0 ||
      this.controls.isDue ||
      this.settlements.length > 0 ||
      this.closing !== null
    )
  }

  /** For the next run. */
  carry(): CarriedState {
    return fitCarried({
      prompts: this.prompts.carry(),
      compactions: this.compactions.carry(),
      ...(this.reading === null ? {} : { reading: this.reading }),
      history: [...this.history.records],
      compactionCount: this.history.count,
      refused: this.refused,
      autoIds: this.autoIds,
      ...(this.closing === null ? {} : { closing: this.closing }),
    })
  }

  /** Answer of the query `sessionState`. */
  view(): SessionView {
    return {
      sessionId: this.sessionId,
      status: this.#status(),
      life: this.life,
      turn: this.turn?.number ?? null,
      step: this.turn?.step ?? null,
      requestId: this.turn?.requestId ?? null,
      compactionId: this.attempt?.compactionId ?? null,
      reading: this.reading,
      waitingPrompts: this.prompts.size,
      waitingCompactions: this.compactions.size,
      refusedMessages: this.refused,
      compactions: this.history.count,
      blocked: blockedBy(this.reading, this.history.lastAutomatic),
      lastFailure: this.history.lastAutomatic?.outcome === 'failed' ? this.history.lastAutomatic : null,
      error: this.failure,
    }
  }

  #status(): SessionView['status'] {
    if (this.failure !== null) return 'failed'
    if (this.attempt !== null) return 'compacting'
    if (this.turn !== null) return this.closing === null ? 'running' : 'closing'
    if (this.closing !== null) return 'closing'
    return this.life === 0 ? 'starting' : 'idle'
  }
}

/** Under 2 KB; changes with turns and compactions, never with steps: each change is an event of history. */
export function memoOf(session: SessionState): Record<string, unknown> {
  const { status, turn, reading, compactions, blocked } = session.view()
  return {
    state: status,
    turn,
    tokens: reading?.tokens ?? null,
    compactions,
    blocked: blocked?.reason ?? null,
    lastCompaction: memoLine(session.history.last),
  }
}

const memoLine = (record: CompactionRecord | undefined) =>
  record === undefined
    ? null
    : {
        id: record.compactionId,
        cause: record.cause,
        outcome: record.outcome,
        ...(record.errorCode === undefined ? {} : { error: record.errorCode }),
        before: record.tokensBefore ?? null,
        after: record.tokensAfter ?? null,
      }

/** What the Temporal UI shows of the running workflow; costs no history. */
export function detailsOf(session: SessionState): string {
  const { status, turn, step, requestId, reading, waitingPrompts, compactionId, blocked } = session.view()
  const limit = reading?.limit ?? null
  const last = session.history.last
  const lines = [
    turn === null
      ? `**${status}**`
      : `**${status}**: turn ${turn}, step ${step ?? 1}, prompt \`${requestId}\``,
    reading === null
      ? undefined
      : `context ${reading.tokens} tokens${limit === null ? '' : ` of ${limit}`}, pressure ${reading.pressure}`,
    compactionId === null ? undefined : `compacting \`${compactionId}\``,
    last === undefined || last.outcome === 'running'
      ? undefined
      : `last compaction \`${last.compactionId}\`: ${last.outcome}${last.errorMessage === undefined ? '' : `, ${last.errorCode ?? ''} ${last.errorMessage}`}`,
    blocked === null ? undefined : `**blocked** (${blocked.reason}): ${blocked.message}`,
    waitingPrompts === 0 ? undefined : `${waitingPrompts} prompts wait`,
  ]
  return lines.filter((line) => line !== undefined).join('  \n')
}
