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
/** What is added to a wait that was asked for, on average. */
const JITTER = 1.05

export interface TriedCall {
  readonly name: string
  readonly failures: ApplicationFailure[]
  attempts: number
  /** What Temporal would have waited between the attempts. */
  waitedMs: number
}

export interface RetryingStage extends Pick<ActivityStage, 'run' | 'store'> {
  readonly calls: TriedCall[]
}

/** @param asksMs the wait that failures name, for which the clock may say a little less */
export function retryingStage(stage: ActivityStage, asksMs?: number): RetryingStage {
  const calls: TriedCall[] = []
  const run = async (...[actor, name, input]: Parameters<ActivityStage['run']>) => {
    const bound = BOUNDS[name]
    if (bound === undefined) return stage.run(actor, name, input)
    const call: TriedCall = { name, failures: [], attempts: 0, waitedMs: 0 }
    calls.push(call)
    for (;;) {
      call.attempts++
      try {
        return await stage.run(actor, name, input, call.attempts, call.waitedMs)
      } catch (error) {
        assert.ok(error instanceof ApplicationFailure, String(error))
        call.failures.push(error)
        const pauseMs = pauseBefore(error, call.attempts, asksMs)
        const isOver = call.attempts >= bound.attempts || call.waitedMs + pauseMs > bound.forMs
        if (error.nonRetryable === true || isOver) throw error
        call.waitedMs += pauseMs
      }
    }
  }
  return { calls, store: stage.store, run: run as ActivityStage['run'] }
}

/** The wait that the failure names, else a second, doubled each time. */
function pauseBefore(failure: ApplicationFailure, attempt: number, asksMs?: number): number {
  const askedMs = askedPauseMs(failure)
  if (askedMs === undefined) return Math.min(1_000 * 2 ** (attempt - 1), LONGEST_PAUSE_MS)
  const delayMs = Number(failure.nextRetryDelay)
  assert.ok(delayMs > 0, 'the server ends an activity that asks for no wait')
  assert.ok(delayMs >= askedMs && delayMs <= 1 + askedMs * 1.1, `${delayMs} for ${askedMs}`)
  return (asksMs ?? askedMs) * JITTER
}

export function askedPauseMs({ details }: ApplicationFailure): number | undefined {
  const asked = (details?.[0] as { retryAfterMs?: unknown } | undefined)?.retryAfterMs
  return typeof asked === 'number' ? asked : undefined
}
