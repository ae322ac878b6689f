import { randomUUID } from 'node:crypto'
import type { Client, WorkflowHandle } from '@temporalio/client'
import type { z } from 'zod'
import type { CompactionPreview } from '../shared/compaction/preview.ts'
import type { ControlRequest } from '../shared/control-protocol.ts'
import { SessionError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Delivery } from '../shared/ports/inbox.ts'
import type { SessionRow, SessionStore } from '../shared/ports/store.ts'
import {
  type CancelReceipt,
  type CancelTurn,
  type CompactionRequest,
  cancelCompactionSchema,
  cancelTurnSchema,
  closeSchema,
  problemOf,
  promptMessageSchema,
  type Reading,
  type Receipt,
  type SessionState,
  SIGNALS,
  UPDATES,
  type WhenBusy,
} from '../shared/protocol.ts'
import type { ContentBlock } from '../shared/session/content.ts'
import type { SessionEvent } from '../shared/session/events.ts'
import { promptContent, promptProblem, utf8Bytes } from '../shared/session/prompt-content.ts'
import { totalOf, type UsageTotal } from '../shared/usage/ledger.ts'
import { PRICES, type PriceTable } from '../shared/usage/prices.ts'
import { type UsageReport, usageReport } from '../shared/usage/report.ts'
import { compactionHistoryQuery } from '../workflows/messages.ts'
import { querySession } from './ask-worker.ts'
import { cancel } from './cancel.ts'
import { compactNow } from './compact-now.ts'
import { requestCompaction } from './compaction-request.ts'
import { type CompactionResult, compactionResult } from './compaction-result.ts'
import { compactionRecords, recordsByStore, type SessionCompaction } from './compactions.ts'
import {
  type ConfigureResult,
  type ControlOptions,
  control,
  outcomeSchemas,
  type PinResult,
  type UndoResult,
  type UnpinResult,
} from './control.ts'
import { currentState } from './current-state.ts'
import type { PreviewOptions } from './preview.ts'
import type { StartOptions } from './start-session.ts'
import { Turn } from './turn.ts'
import { sendSignal } from './wake.ts'
import { type Watched, type WatchOptions, watchSession } from './watch.ts'

export interface SessionOptions {
  readonly client: Client
  readonly store?: SessionStore
  readonly taskQueue: string
  readonly workerTimeoutMs: number
  readonly sessionId: string
}

export interface CompactOptions {
  readonly requestId?: string
  /** What the checkpoint must keep, at most 800 characters. A blank one is none. */
  readonly focus?: string
  /** Default `refuse`: `busy` while a turn runs or a compaction is open. `wait`: at the next step boundary. */
  readonly whenBusy?: WhenBusy
  /** Aborting cancels the request; the call throws the signal's own reason. */
  readonly signal?: AbortSignal
}

/** What a session is to have from now on; what is left out stays. */
export type ConfigureOptions = Pick<StartOptions, 'system' | 'tools' | 'policy'> & {
  readonly model?: string | null
}

/** One session. Reads come from the store and need no worker; what changes it goes through its workflow. */
export class Session {
  readonly id: string
  /** Temporal's handle, for everything else. */
  readonly workflow: WorkflowHandle
  readonly #options: SessionOptions

  constructor(options: SessionOptions) {
    this.id = options.sessionId
    this.workflow = options.client.workflow.getHandle(options.sessionId)
    this.#options = options
  }

  /**
   * Accepts a prompt: with a store its body is durable before this returns. The same `requestId` again is the same prompt.
   *
   * @throws SessionError `InvalidInput`, `KeyConflict` (same id, other content), `QueueFull`, `SessionClosed`, `SessionNotFound`
   */
  async prompt(
    content: string | readonly ContentBlock[],
    options: { readonly requestId?: string; readonly delivery?: Delivery } = {},
  ): Promise<Turn> {
    const { requestId = randomUUID(), delivery = 'next-turn' } = options
    const problem = promptProblem(content)
    if (problem !== undefined) throw new SessionError('InvalidInput', `prompt: ${problem}`)
    const named = problemOf(promptMessageSchema, { requestId, delivery }, 'prompt')
    if (named !== undefined) throw new SessionError('InvalidInput', named)
    const { store } = this.#options
    if (store === undefined) {
      const bytes = utf8Bytes(JSON.stringify(content))
      if (bytes > LIMITS.inlineBytes)
        throw new SessionError(
          'InvalidInput',
          `prompt of ${bytes} bytes; without a store ${LIMITS.inlineBytes} are allowed: give the SessionClient the store.`,
        )
      await sendSignal(this.#options, SIGNALS.prompt, { requestId, content, delivery })
      return new Turn(this.#options, requestId, 0)
    }
    const row = await store.putInbox({
      sessionId: this.id,
      requestId,
      kind: 'prompt',
      body: promptContent(content),
      delivery,
    })
    // A `no-wake` message waits in the inbox for the next turn; there is nobody to tell.
    if (row.state === 'waiting' && delivery !== 'no-wake')
      await sendSignal(this.#options, SIGNALS.prompt, { requestId, delivery })
    return new Turn(this.#options, requestId, row.acceptedAt)
  }

  /** The turn of a prompt, also of another process's. */
  turn(requestId: string): Turn {
    return new Turn(this.#options, requestId, 0)
  }

  /**
   * Compacts now, also below the threshold, and waits for the result. Null when nothing useful can be taken.
   *
   * @throws ManualCompactionError; the signal's own reason
   */
  compactNow(options: CompactOptions = {}): Promise<CompactionResult | null> {
    return this.#compact(options)
  }

  /** Compacts the surface nodes from `start` to `end` (seqs, inclusive, in surface order). @throws SessionError `InvalidSpan`; otherwise as {@link compactNow} */
  compactRegion(start: number, end: number, options: CompactOptions = {}): Promise<CompactionResult | null> {
    return this.#compact({ ...options, span: { start, end } })
  }

  /**
   * What {@link compactNow} or {@link compactRegion} would do now: span, tokens, calls, identifiers that would be lost. Reads the store, writes nothing, needs no worker.
   *
   * @throws SessionError `InvalidInput`, `InvalidSpan`, `SessionNotFound`
   */
  async previewCompaction(options: PreviewOptions = {}): Promise<CompactionPreview> {
    const store = this.#store('previewCompaction')
    const { previewOf } = await import('./preview.ts') // The counter's ranks take 60 MB, which other calls do not need.
    return previewOf(store, this.id, options)
  }

  /** Asks for a compaction and returns at once. */
  async requestCompaction(request: CompactionRequest = {}): Promise<Receipt> {
    return requestCompaction(this.#options, {
      ...request,
      requestId: request.requestId ?? randomUUID(),
      whenBusy: request.whenBusy ?? 'wait',
    })
  }

  async #compact({
    signal,
    ...request
  }: CompactOptions & { readonly span?: { start: number; end: number } }): Promise<CompactionResult | null> {
    const store = this.#store('compactNow')
    const { requestId = randomUUID(), whenBusy = 'refuse' } = request
    const outcome = await compactNow({ ...this.#options, store }, { ...request, requestId, whenBusy }, signal)
    return compactionResult(store, this.id, outcome)
  }

  /**
   * Keeps a text, or the text of a message (by seq), word for word in every checkpoint from the next one on. Waits until it is written: at the next step boundary.
   *
   * @throws SessionError `InvalidInput` when all pins together would have more than 2,000 tokens or half of a checkpoint, for a blank text, for a seq that is no message with text;
   * `KeyConflict`, `SessionClosed`, `WorkerUnavailable`
   */
  pin(what: string | { readonly seq: number }, options: ControlOptions = {}): Promise<PinResult> {
    const target = typeof what === 'string' ? { text: what } : { seq: what.seq }
    return this.#control({ kind: 'pin', ...target }, outcomeSchemas.pin, options)
  }

  /** Takes a pin back by its id, also `keep.<seq>.<n>` of a `<keep>` in a prompt. @throws SessionError `InvalidInput` for an id that pins nothing */
  unpin(id: string, options: ControlOptions = {}): Promise<UnpinResult> {
    return this.#control({ kind: 'unpin', id }, outcomeSchemas.unpin, options)
  }

  /**
   * Puts the messages that a compaction replaced back to their place, at the next step boundary; later messages stay behind them.
   *
   * @throws SessionError `ContextTooLarge` with both numbers when the result would not be below the pressure limit; `InvalidInput` for an unknown id, one that
   * was undone, and one whose checkpoint a later compaction covers; `SessionClosed`, `WorkerUnavailable`
   */
  undoCompaction(compactionId: string, options: ControlOptions = {}): Promise<UndoResult> {
    return this.#control({ kind: 'undo', compactionId }, outcomeSchemas.undo, options)
  }

  /**
   * Another model, system prompt, tools or policy from the next step boundary on. What is not given stays; `policy` takes the place of the whole policy that
   * was given before. Checked as a start is; a refused change leaves everything as it was.
   *
   * @throws SessionError `InvalidPolicy`, `InvalidInput`, `UnknownModel`, `UnknownTool`, `ModelFailed`, `SessionClosed`, `WorkerUnavailable`
   */
  configure(changes: ConfigureOptions, options: ControlOptions = {}): Promise<ConfigureResult> {
    const { tools, policy, ...rest } = changes
    return this.#control(
      {
        kind: 'configure',
        ...rest,
        ...(tools === undefined ? {} : { tools: [...tools] }),
        ...(policy === undefined ? {} : { policy: { ...policy } }),
      },
      outcomeSchemas.configure,
      options,
    )
  }

  #control<T>(
    request: ControlRequest,
    outcome: z.ZodType<T>,
    { requestId = randomUUID(), signal }: ControlOptions,
  ): Promise<T> {
    return control(
      { ...this.#options, store: this.#store(request.kind) },
      requestId,
      request,
      outcome,
      signal,
    )
  }

  /**
   * Stops the running turn, or the named one, with the automatic compaction that it runs; the log stays valid, and keeps what the model had said. The receipt says what was
   * stopped and what goes on: `nothing` is no error. A waiting prompt that `requestId` names is taken back; with `waitingOnly` the turn that it has begun goes on.
   *
   * @throws SessionError `InvalidInput`, `SessionNotFound`; `WorkerUnavailable`: the cancel waits for a worker
   */
  async cancelTurn(request: CancelTurn = {}): Promise<CancelReceipt> {
    const problem = problemOf(cancelTurnSchema, request, 'cancelTurn')
    if (problem !== undefined) throw new SessionError('InvalidInput', problem)
    return cancel(this.#options, UPDATES.cancelTurn, request)
  }

  /**
   * Takes one request back; the attempt is cancelled when nobody else asked for it. A receipt as of {@link cancelTurn}.
   *
   * @throws SessionError `InvalidInput`, `SessionNotFound`; `WorkerUnavailable`: the cancel waits for a worker
   */
  async cancelCompaction(requestId: string, reason?: string): Promise<CancelReceipt> {
    const request = { requestId, ...(reason === undefined ? {} : { reason }) }
    const problem = problemOf(cancelCompactionSchema, request, 'cancelCompaction')
    if (problem !== undefined) throw new SessionError('InvalidInput', problem)
    return cancel(this.#options, UPDATES.cancelCompaction, request)
  }

  /** Ends the session after the running turn; waiting prompts stay in the inbox. Closing twice is once. @throws SessionError `InvalidInput`, `SessionNotFound` */
  async close(reason?: string): Promise<void> {
    const request = { requestId: randomUUID(), ...(reason === undefined ? {} : { reason }) }
    const problem = problemOf(closeSchema, request, 'close')
    if (problem !== undefined) throw new SessionError('InvalidInput', problem)
    if ((await this.#options.store?.session(this.id))?.closed) return
    await sendSignal(this.#options, SIGNALS.close, request)
  }

  /**
   * Live control state, which needs a worker, and what was paid so far (null without a store). With a store it is no older than the end of a turn or of a
   * compaction that this process has read, but while hooks run behind a compaction it is `compacting` (and takes two seconds).
   *
   * @throws SessionError `SessionNotFound`, `WorkerUnavailable`
   */
  async state(): Promise<SessionState & { readonly usage: UsageTotal | null }> {
    const state = await currentState(this.#options)
    const stored = await this.#options.store?.session(this.id)
    return { ...state, usage: stored ? totalOf(stored.usage) : null }
  }

  /**
   * Every paid call of the session, by purpose and model, and its price: turns, summaries, and what was paid for nothing. Reads one row of the store, whatever
   * the length of the session; needs no worker. `prices`: default {@link PRICES}.
   *
   * @throws SessionError `SessionNotFound`
   */
  async usage({ prices = PRICES }: { readonly prices?: PriceTable } = {}): Promise<UsageReport> {
    const row = await this.#store('usage').session(this.id)
    if (row === null)
      throw new SessionError('SessionNotFound', `Session ${this.id} is not in the store: start it first.`)
    return usageReport(row.usage, prices)
  }

  /** Every compaction of the session, newest first, by the store alone: needs no worker. Default limit 100. */
  async compactions(
    options: { readonly limit?: number } = {},
  ): Promise<readonly (SessionCompaction & { readonly usage: UsageTotal })[]> {
    const { limit = 100 } = options
    const store = this.#store('compactions')
    return compactionRecords(store, this.id, await store.attempts({ sessionId: this.id, limit }))
  }

  /** Newest first, the last 20; needs a worker. {@link compactions} has all of them. Without a store times are the workflow's, and nothing is known of undos. */
  async compactionHistory(options: { readonly limit?: number } = {}): Promise<readonly SessionCompaction[]> {
    const records = await querySession(this.#options, () => this.workflow.query(compactionHistoryQuery))
    const { store } = this.#options
    const newest = records.slice(0, options.limit)
    return store === undefined ? newest : recordsByStore(store, this.id, newest)
  }

  /** The newest measure of the context, null before the first; as up to date as {@link state}. @throws as {@link state} */
  async contextReading(): Promise<Reading | null> {
    return (await currentState(this.#options)).reading
  }

  /** What the store keeps of the session; null when it does not know it. */
  stored(): Promise<SessionRow | null> {
    return this.#store('stored').session(this.id)
  }

  /** The log from after a seq on, in pages. */
  events(query: { readonly after?: number; readonly limit?: number } = {}): Promise<readonly SessionEvent[]> {
    return this.#store('events').events(this.id, query)
  }

  /**
   * Events in order as they land, each once, and the text of replies as it is said, until the signal aborts. The deltas before an `assistant/message` are all of its text, also of
   * one that was quick or interrupted: show the deltas or the messages, not both. A delta with `anew` takes the place of what its key had said before.
   */
  watch(options: WatchOptions = {}): AsyncIterable<Watched> {
    return watchSession(this.#store('watch'), this.id, options)
  }

  #store(what: string): SessionStore {
    if (this.#options.store === undefined)
      throw new SessionError('InvalidInput', `${what} needs a store: give one to the SessionClient.`)
    return this.#options.store
  }
}
