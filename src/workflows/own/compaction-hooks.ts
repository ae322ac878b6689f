import { ApplicationFailure } from '@temporalio/workflow'
import { mayRetryRequest } from '../../shared/compaction/decisions.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { AnyUsage } from '../../shared/own-protocol.ts'
import type { CompactionOutcome, CompactionRecord, Reading } from '../../shared/protocol.ts'
import type { CompactionTrigger, TurnEndReason } from '../../shared/session/events.ts'
import { asCallers, type MessageLike } from '../../shared/session/plain-messages.ts'
import { askedAttempt } from '../attempt-child.ts'
import { failureType, overflowGeneration, sessionFailure } from '../failures.ts'
import { autoId } from '../message-ids.ts'
import { ArrayMode } from './array-mode.ts'
import { type CarriedHooks, fitHooks } from './carried-hooks.ts'
import { isContextOverflow } from './context-overflow.ts'
import { type CompactionHooksOptions, invalid, lifeRunId, OwnSession, type StepPlace } from './own-session.ts'

/** A step by the log's count: as `startTurn` gave its turn. */
export interface LogStep {
  readonly turn: number
  readonly step: number
  /** The newest that your activities returned. */
  readonly reading?: Reading | null | undefined
}

/** A step by the caller's own count: any number that grows. */
export interface ArrayStep<M extends MessageLike> {
  readonly turn: number
  readonly step: number
  /** What `preStep` returned last, with what has come since behind it. */
  readonly messages: readonly M[]
  /** Of the newest reply. */
  readonly usage?: AnyUsage | null | undefined
}

export interface CompactNowOptions {
  /** Names the request: the same id again is the same compaction. Default: from its number in this workflow. */
  readonly requestId?: string | undefined
  /** What the summary should keep, at most 800 characters. */
  readonly focus?: string | undefined
}

/**
 * Compaction for an agent workflow of one's own. Create it once a run, before the first wait.
 *
 * Log mode: the messages are in the session store, written and read by your activities (`durable-compaction/activity`); below the threshold no hook costs an
 * event of history. Array mode: your workflow keeps its messages in an array and passes it to `preStep`; it costs one activity a step and sends
 * each new message once more.
 *
 * Every method is cancelled by the current CancellationScope: it then closes its bracket and throws `CancelledFailure`.
 *
 * @throws ApplicationFailure `InvalidInput`
 */
export const compactionHooks = (options: CompactionHooksOptions): CompactionHooks =>
  new CompactionHooks(options)

export class CompactionHooks {
  readonly #session: OwnSession
  readonly #array: ArrayMode
  #manual: number

  constructor(options: CompactionHooksOptions) {
    this.#session = new OwnSession(options)
    this.#array = new ArrayMode(this.#session, options.carried)
    this.#manual = options.carried?.manual ?? 0
  }

  /**
   * Opens the session in the store, as its owner. Log mode calls it before the first `startTurn`; the other methods call it themselves. One activity, in the first
   * run only.
   *
   * @throws ActivityFailure of type `SessionOwned` while another workflow that is open owns it, `InvalidPolicy`, `UnknownModel`
   */
  open(): Promise<void> {
    return this.#session.open()
  }

  /** Log mode, before a request: compacts when the reading is `over`. No event below. */
  preStep(at: LogStep): Promise<void>
  /** Array mode, before a request: writes what is new, compacts under pressure, and returns the messages of the request. */
  preStep<M extends MessageLike>(at: ArrayStep<M>): Promise<{ messages: M[] }>
  // biome-ignore lint/suspicious/noConfusingVoidType: one name for both modes, and each overload says what it returns
  async preStep<M extends MessageLike>(at: LogStep | ArrayStep<M>): Promise<void | { messages: M[] }> {
    await this.#session.open()
    if (!('messages' in at)) {
      this.#session.observe(at.reading)
      return this.#session.relievePressure(at)
    }
    const synced = await this.#array.sync(at)
    await this.#session.relievePressure(synced.place)
    return { messages: asCallers<M>(await this.#array.settle(synced)) }
  }

  /**
   * After a refused request: compacts when the failure says that the request was too long. Again only if it says so: the surface has changed, within the
   * policy's `maxOverflowRetries` a step.
   */
  requestError(error: unknown, at: Omit<LogStep, 'reading'>): Promise<boolean>
  requestError<M extends MessageLike>(
    error: unknown,
    at: ArrayStep<M>,
  ): Promise<{ retry: boolean; messages: M[] }>
  async requestError<M extends MessageLike>(
    error: unknown,
    at: LogStep | ArrayStep<M>,
  ): Promise<boolean | { retry: boolean; messages: M[] }> {
    if (!('messages' in at)) return isContextOverflow(error) && (await this.#recoverLog(error, at))
    if (!isContextOverflow(error)) return { retry: false, messages: [...at.messages] }
    await this.#session.open()
    const refused = overflowGeneration(error) ?? this.#array.state.generation
    const synced = await this.#array.sync(at)
    const retry = await this.#recover(synced.place, refused)
    return { retry, messages: asCallers<M>(await this.#array.settle(synced)) }
  }

  async #recoverLog(error: unknown, at: StepPlace): Promise<boolean> {
    await this.#session.open()
    if (this.#isSpent(at)) return false
    // Nothing has replaced anything since the request was made, but that request's own micro pass.
    return this.#recover(at, overflowGeneration(error) ?? (await this.#position()).reading.generation)
  }

  async #recover(place: StepPlace, refused: number): Promise<boolean> {
    if (this.#isSpent(place)) return false
    return mayRetryRequest(refused, await this.#session.automatic('context-overflow', place))
  }

  #isSpent(place: StepPlace): boolean {
    return this.#session.attemptsAt(place).overflow >= this.#session.maxOverflowRetries
  }

  /** Array mode: writes what is new and ends the turn, so that nothing waits for the next one. Default reason `completed`. */
  async endTurn<M extends MessageLike>(
    at: Omit<ArrayStep<M>, 'step'> & { readonly reason?: TurnEndReason | undefined },
  ): Promise<{ messages: M[] }> {
    await this.#session.open()
    const synced = await this.#array.sync(at, at.reason ?? 'completed')
    return { messages: asCallers<M>(await this.#array.settle(synced)) }
  }

  /**
   * One automatic attempt: for `pressure` if the reading is `over`, for `context-overflow` always. `preStep` and `requestError` are made of it.
   *
   * @returns null when there was nothing to do; also a failed attempt has an outcome
   */
  async compactIfNeeded(trigger: CompactionTrigger, at: LogStep): Promise<CompactionOutcome | null> {
    await this.#session.open()
    this.#session.observe(at.reading)
    if (trigger === 'pressure' && this.#session.reading?.pressure !== 'over') return null
    const outcome = await this.#session.automatic(trigger, at)
    return outcome.outcome === 'nothing' ? null : outcome
  }

  /**
   * Compacts what can be compacted now.
   *
   * @returns null when there is nothing to take
   * @throws ApplicationFailure of type `ManualCompactionError`, details `{code, compactionId}`
   */
  compactNow({ requestId, focus }: CompactNowOptions = {}): Promise<CompactionOutcome | null> {
    return this.#byHand(requestId, focus, undefined)
  }

  /**
   * Compacts the messages between two events of the surface, both included, in surface order.
   *
   * @throws as `compactNow`, and ApplicationFailure `InvalidSpan` for a region that cannot be compacted
   */
  compactRegion(
    start: number,
    end: number,
    { requestId, focus }: CompactNowOptions = {},
  ): Promise<CompactionOutcome | null> {
    return this.#byHand(requestId, focus, { start, end })
  }

  async #byHand(
    requestId: string | undefined,
    wanted: string | undefined,
    span: { readonly start: number; readonly end: number } | undefined,
  ): Promise<CompactionOutcome | null> {
    const focus = wanted?.trim() || undefined
    if (focus !== undefined && focus.length > LIMITS.focusChars)
      throw invalid(`focus has ${focus.length} characters, allowed are ${LIMITS.focusChars}`)
    const id = requestId ?? autoId(lifeRunId(), ++this.#manual, { focus, span })
    await this.#session.open()
    const { openTurn } = await this.#position()
    const outcome = await this.#attempt(askedAttempt(id, { focus, span }, openTurn))
    if (outcome.outcome === 'nothing') return null
    const { error, compactionId } = outcome
    if (error === undefined) return outcome
    throw ApplicationFailure.create({
      type: 'ManualCompactionError',
      message: `${error.code}: ${error.message}`,
      nonRetryable: true,
      details: [{ code: error.code, compactionId }],
    })
  }

  async #attempt(attempt: Parameters<OwnSession['attempt']>[0]): Promise<CompactionOutcome> {
    try {
      return await this.#session.attempt(attempt)
    } catch (failure) {
      if (failureType(failure) === 'InvalidSpan') throw sessionFailure(failure)
      throw failure
    }
  }

  async #position() {
    const found = await this.#session.activities.sessionPosition({
      v: 1,
      sessionId: this.#session.options.sessionId,
    })
    this.#session.observe(found.reading)
    return found
  }

  /** Newest first, at most 20 of this workflow. */
  history(): readonly CompactionRecord[] {
    return this.#session.history.records.toReversed()
  }

  /** The newest reading that the hooks have seen. */
  get reading(): Reading | null {
    return this.#session.reading
  }

  /** For `carried` of the next run: at most 4 KB of JSON, without messages. */
  carry(): CarriedHooks {
    return fitHooks({ ...this.#session.carry(), manual: this.#manual, array: this.#array.state })
  }
}
