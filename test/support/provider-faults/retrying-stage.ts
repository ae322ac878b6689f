import assert from 'node:assert/strict'
import { ApplicationFailure } from '@temporalio/common'
import type { ActivityStage } from '../activity-stage.ts'

// A stage whose model activities are tried again as Temporal does it, in no time: by the attempts and the time of src/workflows/session-activities.ts.

const MINUTE_MS = 60_000
const BOUNDS: { readonly [name: string]: { readonly attempts: number; readonly forMs: number } } = {
  sessionCallModel: { attempts: 30, forMs: 30 * MINUTE_MS },
  sessionSummarize: { attempts: 10, forMs: 25 * MINUTE_MS },
}
const LONGEST_PAUSE_MS = 30_000
/** What is added to a wait that was asked for, at most; half of it on average. */
const JITTER = 0.1
const JITTER_OF_HELD = 0.5

export interface TriedCall {
  readonly name: string
  readonly failures: ApplicationFailure[]
  attempts: number
  /** Of them, those whose request was sent. */
  sent: number
  /** What Temporal would have waited between the attempts. */
  waitedMs: number
}

export interface RetryingStage extends Pick<ActivityStage, 'run' | 'store'> {
  readonly calls: TriedCall[]
}

/** A clock that moves only when a stage waits. */
export interface WaitingClock {
  readonly now: () => number
  wait(ms: number): void
}

export function waitingClock(): WaitingClock {
  let now = Date.now()
  return {
    now: () => now,
    wait(ms) {
      now += ms
    },
  }
}

/** @param clock of the stage @param asksMs the wait that failures name, for which the clock may say a little less */
export function retryingStage(stage: ActivityStage, clock: WaitingClock, asksMs?: number): RetryingStage {
  const calls: TriedCall[] = []
  const run = async (...[actor, name, input]: Parameters<ActivityStage['run']>) => {
    const bound = BOUNDS[name]
    if (bound === undefined) return stage.run(actor, name, input)
    const call: TriedCall = { name, failures: [], attempts: 0, sent: 0, waitedMs: 0 }
    const beats = {}
    calls.push(call)
    for (;;) {
      call.attempts++
      call.sent++
      try {
        return await stage.run(actor, name, input, call.attempts, call.waitedMs, beats)
      } catch (error) {
        assert.ok(error instanceof ApplicationFailure, String(error))
        call.failures.push(error)
        if (isHeld(error)) call.sent--
        const pauseMs = pauseBefore(error, call.attempts, asksMs)
        const isOver = call.attempts >= bound.attempts || call.waitedMs + pauseMs > bound.forMs
        if (error.nonRetryable === true || isOver) throw error
        call.waitedMs += pauseMs
        clock.wait(pauseMs)
      }
    }
  }
  return { calls, store: stage.store, run: run as ActivityStage['run'] }
}

/** The wait that the failure names, else a second, doubled each time. */
function pauseBefore(failure: ApplicationFailure, attempt: number, asksMs?: number): number {
  const policyMs = Math.min(1_000 * 2 ** (attempt - 1), LONGEST_PAUSE_MS)
  const askedMs = askedPauseMs(failure)
  if (askedMs === undefined) return policyMs
  const jitter = isHeld(failure) ? JITTER_OF_HELD : JITTER
  const delayMs = Number(failure.nextRetryDelay)
  assert.ok(delayMs > 0, 'the server ends an activity that asks for no wait')
  assert.ok(delayMs >= askedMs && delayMs <= 1 + askedMs * (1 + jitter), `${delayMs} for ${askedMs}`)
  if (isHeld(failure)) assert.ok(askedMs >= policyMs, 'attempts that are not sent are not used up sooner')
  return (isHeld(failure) || asksMs === undefined ? askedMs : asksMs) * (1 + jitter / 2)
}

const detailsOf = ({ details }: ApplicationFailure) =>
  details?.[0] as { kind?: unknown; retryAfterMs?: unknown } | undefined

/** Not sent, since the circuit is open. */
export const isHeld = (failure: ApplicationFailure): boolean => detailsOf(failure)?.kind === 'circuit-open'

export function askedPauseMs(failure: ApplicationFailure): number | undefined {
  const asked = detailsOf(failure)?.retryAfterMs
  return typeof asked === 'number' ? asked : undefined
}
