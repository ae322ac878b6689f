import { ApplicationFailure, CancellationScope, workflowInfo } from '@temporalio/workflow'
import { newestReading, pressureWantsCompaction } from '../../shared/compaction/decisions.ts'
import type { PolicyInput } from '../../shared/compaction/policy-input.ts'
import type { PresetName } from '../../shared/compaction/presets.ts'
import { type OwnRequest, ownRequestSchema } from '../../shared/own-protocol.ts'
import {
  type CompactionOutcome,
  problemOf,
  type Reading,
  sessionIdSchema,
  type TaskQueues,
} from '../../shared/protocol.ts'
import { canonicalJson } from '../../shared/session/canonical-json.ts'
import { compactionIds, hash53 } from '../../shared/session/keys.ts'
import { type Attempt, attemptOutcome } from '../attempt-child.ts'
import { CompactionHistory } from '../compaction-history.ts'
import { failureMessage } from '../failures.ts'
import { ownActivities } from '../session-activities.ts'
import { throwIfCancelled } from '../session-env.ts'
import type { CarriedHooks, StepAttempts } from './carried-hooks.ts'

export interface CompactionHooksOptions {
  /** Need not be the workflow's id: `[A-Za-z0-9._-]`, at most 64. One open workflow owns a session. */
  readonly sessionId: string
  /** What every request has besides its messages; a request for a summary has the same. */
  readonly request: OwnRequest
  readonly policy?: PolicyInput | undefined
  /** Default `default`. */
  readonly preset?: PresetName | undefined
  /** Where `sessionCompaction` and the session activities are served. Default: this workflow's queue. */
  readonly taskQueue?: string | undefined
  /** Where summaries are made. Default: `taskQueue`. */
  readonly taskQueues?: Pick<TaskQueues, 'models'> | undefined
  /** After this long without a beat an activity's worker counts as dead. Default 10,000. */
  readonly heartbeatTimeoutMs?: number | undefined
  /** What `carry()` of the run before returned. */
  readonly carried?: CarriedHooks | undefined
}

/** Where an attempt stands in the log. No turn is open: null. */
export interface StepPlace {
  readonly turn: number | null
  readonly step: number
}

/** A session as the workflow that owns it sees it. */
export class OwnSession {
  readonly options: CompactionHooksOptions
  readonly activities: ReturnType<typeof ownActivities>
  readonly history: CompactionHistory
  reading: Reading | null
  compactionRetries: number
  maxOverflowRetries: number
  #attempts: StepAttempts
  #opened: string
  #opening: Promise<void> | undefined

  constructor(options: CompactionHooksOptions) {
    const problem =
      problemOf(sessionIdSchema, options.sessionId, 'sessionId') ??
      problemOf(ownRequestSchema, options.request, 'request')
    if (problem !== undefined) throw invalid(problem)
    const { carried } = options
    this.options = options
    this.activities = ownActivities(options)
    this.history = new CompactionHistory(carried?.history, carried?.compactions)
    this.reading = carried?.reading ?? null
    this.compactionRetries = carried?.compactionRetries ?? 0
    this.maxOverflowRetries = carried?.maxOverflowRetries ?? 0
    this.#attempts = carried?.attempts ?? { at: '', pressure: 0, overflow: 0 }
    this.#opened = carried?.opened ?? ''
  }

  /** Makes this run the owner, once; a run that was carried over has it from its predecessor, unless it asks for something else. */
  open(): Promise<void> {
    const { request, policy, preset } = this.options
    const wanted = hash53(canonicalJson({ request, policy, preset })).toString(36)
    if (this.#opened === wanted) return Promise.resolve()
    this.#opening ??= this.#open(wanted).finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #open(wanted: string): Promise<void> {
    const { sessionId, request, policy, preset } = this.options
    const opened = await this.activities.sessionOpen({
      v: 1,
      sessionId,
      header: request,
      ...(policy === undefined ? {} : { policy: { ...policy } }),
      ...(preset === undefined ? {} : { preset }),
    })
    this.observe(opened.reading)
    this.compactionRetries = opened.compactionRetries ?? 0
    this.maxOverflowRetries = opened.maxOverflowRetries ?? 0
    this.#opened = wanted
  }

  observe(found: Reading | null | undefined): void {
    if (found !== null && found !== undefined) this.reading = newestReading(this.reading, found)
  }

  /**
   * Runs one attempt in the current scope. It has an outcome also when it failed.
   *
   * @throws CancelledFailure once its bracket is closed, when the scope was cancelled
   */
  async attempt(attempt: Attempt): Promise<CompactionOutcome> {
    const { sessionId, taskQueue, taskQueues, heartbeatTimeoutMs } = this.options
    const current = CancellationScope.current()
    throwIfCancelled(current)
    const scope = new CancellationScope({ cancellable: true, parent: current })
    const closeAttempt = this.activities.sessionCloseAttempt
    this.history.begin(attempt, Date.now())
    try {
      const parent = { sessionId, taskQueue, taskQueues, heartbeatTimeoutMs, closeAttempt }
      const outcome = await attemptOutcome(parent, scope, attempt)
      this.observe(outcome.reading)
      this.history.end(outcome, Date.now())
      throwIfCancelled(current)
      return outcome
    } catch (failure) {
      if (this.history.last?.outcome === 'running')
        this.history.end({ refused: failureMessage(failure) }, Date.now())
      throw failure
    }
  }

  /** Compacts while the newest reading asks for it, within the step's count. */
  async relievePressure(place: StepPlace): Promise<void> {
    const passes: CompactionOutcome[] = []
    while (
      this.attemptsAt(place).pressure <= this.compactionRetries &&
      pressureWantsCompaction(this.reading, passes, this.compactionRetries)
    ) {
      passes.push(await this.automatic('pressure', place))
    }
  }

  async automatic(cause: 'pressure' | 'context-overflow', place: StepPlace): Promise<CompactionOutcome> {
    const attempts = this.attemptsAt(place)
    const { turn, step } = place
    const isPressure = cause === 'pressure'
    this.#attempts = isPressure
      ? { ...attempts, pressure: attempts.pressure + 1 }
      : { ...attempts, overflow: attempts.overflow + 1 }
    const compactionId = isPressure
      ? compactionIds.pressure(turn ?? 0, step, attempts.pressure)
      : compactionIds.overflow(turn ?? 0, step, attempts.overflow)
    return this.attempt({ compactionId, cause, turn })
  }

  attemptsAt({ turn, step }: StepPlace): StepAttempts {
    const at = `${turn ?? 0}.${step}`
    return this.#attempts.at === at ? this.#attempts : { at, pressure: 0, overflow: 0 }
  }

  carry(): Omit<CarriedHooks, 'array' | 'manual'> {
    return {
      v: 1,
      opened: this.#opened,
      compactionRetries: this.compactionRetries,
      maxOverflowRetries: this.maxOverflowRetries,
      reading: this.reading,
      attempts: this.#attempts,
      history: this.history.records,
      compactions: this.history.count,
    }
  }
}

/** Stable through continue-as-new and reset. */
export const lifeRunId = (): string => workflowInfo().firstExecutionRunId

export const invalid = (problem: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(`compactionHooks: ${problem}`, 'InvalidInput')
