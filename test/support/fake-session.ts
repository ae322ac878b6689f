import type { CompactionActivityInput, SessionActivities } from '../../src/shared/activity-protocol.ts'
import type { CompactionOutcome, Reading } from '../../src/shared/protocol.ts'
import type { AttemptError, TurnEndReason } from '../../src/shared/session/events.ts'
import { eventually } from './eventually.ts'

// A session in plain memory, and the script of what its model, tools and summarizer do.

type CallResult = Awaited<ReturnType<SessionActivities['sessionCallModel']>>
export type Reply = Extract<CallResult, { kind: 'reply' }>

export const NOTHING_PAID = {
  calls: 0,
  reused: 0,
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
}

export interface Row {
  readonly requestId: string
  readonly kind: 'prompt' | 'compaction'
  readonly body: string
  readonly delivery: 'next-turn' | 'next-step' | 'no-wake'
  state: 'waiting' | 'running' | 'done' | 'refused'
  note?: string | undefined
}

export interface Turn {
  readonly turn: number
  readonly requestId: string
  step: number
  end?: TurnEndReason
  message?: string | undefined
}

interface Attempt {
  state: 'open' | 'ended' | 'void'
  outcome?: CompactionOutcome
}

export class FakeSession {
  life = 0
  lifeRunId = ''
  closed = false
  /** What happened, one line each, in order. */
  readonly log: string[] = []
  readonly rows = new Map<string, Row>()
  readonly turns: Turn[] = []
  readonly attempts = new Map<string, Attempt>()
  readonly replies = new Map<string, Reply>()
  readonly results = new Map<string, boolean>()
  tokens = 1000
  generation = 0
  limit: number | null = null

  get openTurn(): Turn | undefined {
    return this.turns.find((turn) => turn.end === undefined)
  }

  reading(): Reading {
    const pressure = this.limit !== null && this.tokens >= this.limit ? 'over' : 'none'
    return {
      headSeq: this.log.length,
      generation: this.generation,
      tokens: this.tokens,
      limit: this.limit,
      pressure,
    }
  }

  /** Puts a prompt into the inbox, as a client that has the store does before its message. */
  put({ requestId, delivery = 'next-turn' }: { requestId: string; delivery?: Row['delivery'] }): void {
    this.rows.set(requestId, { requestId, kind: 'prompt', body: '"stored"', delivery, state: 'waiting' })
  }

  /** An attempt that commits: the surface shrinks, the bracket ends. */
  end(compactionId: string, rest: Partial<CompactionOutcome> = {}): CompactionOutcome {
    const tokensBefore = this.tokens
    this.tokens = Math.ceil(tokensBefore / 4)
    this.generation++
    this.log.push(`compact ${compactionId} end compacted`)
    const outcome = this.outcome(compactionId, { tokensBefore, endSeq: this.log.length - 1, ...rest })
    this.attempts.set(compactionId, { state: 'ended', outcome })
    return outcome
  }

  outcome(compactionId: string, rest: Partial<CompactionOutcome>): CompactionOutcome {
    const { tokens } = this
    return {
      v: 1,
      compactionId,
      outcome: 'compacted',
      reading: this.reading(),
      tokensBefore: tokens,
      tokensAfter: tokens,
      paid: NOTHING_PAID,
      ...rest,
    }
  }

  /** Waits until this many turns have ended, for each of them as long as `eventually` does. */
  async whenEnded(turns: number): Promise<void> {
    for (let least = 1; least <= turns; least++)
      await eventually(
        () => this.turns.filter((turn) => turn.end !== undefined).length,
        (ended) => ended >= least,
      )
  }

  /** The lines that begin with these words. */
  lines(prefix: string): string[] {
    return this.log.filter((line) => line.startsWith(prefix))
  }
}

/** What the model, the tools and the summarizer of a test do. Every function may wait, and gets the activity's context with its cancel. */
export interface Script {
  /** Default: a reply without calls, which ends the turn. */
  callModel?(at: {
    turn: number
    step: number
    session: FakeSession
    prompt: string
  }): Promise<Partial<Reply> | 'needs-compaction'> | Partial<Reply> | 'needs-compaction'
  runTool?(callId: string, session: FakeSession): Promise<void> | void
  prepare?(
    input: CompactionActivityInput,
    session: FakeSession,
  ): Promise<Partial<CompactionOutcome> | undefined> | Partial<CompactionOutcome> | undefined
  summarize?(
    input: CompactionActivityInput,
    session: FakeSession,
  ): Promise<AttemptError | undefined> | AttemptError | undefined
  commit?(input: CompactionActivityInput, session: FakeSession): Promise<void> | void
  startTurn?(requestId: string, session: FakeSession): Promise<void> | void
  control?(requestIds: readonly string[]): Promise<void> | void
  idleTimeoutMs?: number | null
  compactionRetries?: number
  maxOverflowRetries?: number
}
