import type { ModelRequest } from '../../shared/ports/model.ts'

export interface CallTimes {
  /** Milliseconds for the whole call. Default 570,000 for a turn, 300,000 for a call of a summary. */
  readonly totalTimeoutMs: number
  /** Until the first token, and while the model thinks or writes a call, both in silence, or a tool of the provider runs. Default 280,000. */
  readonly firstTokenTimeoutMs: number
  /** Between two tokens while text is being written. Pings of the provider are no tokens. Default 90,000. */
  readonly idleTimeoutMs: number
}

/** Nine and a half minutes for a turn, below the ten of its activity. */
const TOTAL_MS = { turn: 570_000, summary: 300_000 } as const
/** Below the 300 s after which Node's own client gives up, so that the failure says what happened. */
const FIRST_TOKEN_MS = 280_000
const IDLE_MS = 90_000

/** The times of one call: those that were given, else the defaults. */
export const callTimes = (given: Partial<CallTimes>, purpose: ModelRequest['purpose']): CallTimes => ({
  totalTimeoutMs: given.totalTimeoutMs ?? TOTAL_MS[purpose],
  firstTokenTimeoutMs: given.firstTokenTimeoutMs ?? FIRST_TOKEN_MS,
  idleTimeoutMs: given.idleTimeoutMs ?? IDLE_MS,
})

/** What the model does: `writing` text, which comes in small pieces, or something that may be silent for long. */
export type CallPhase = 'waiting' | 'writing' | 'done'

export interface CallClock {
  /** Aborts with the caller's signal and when a time is up. */
  readonly signal: AbortSignal
  /** Something came; what may come next. */
  tick(phase: CallPhase): void
  /** Which time was up, or undefined. */
  timeout(): CallTimeout | undefined
  stop(): void
}

/** The provider was silent, or too slow. */
export class CallTimeout extends Error {
  override readonly name = 'CallTimeout'
  /** Another attempt may find it faster; one that used the whole time would do so again. */
  readonly isFinal: boolean

  constructor(message: string, isFinal: boolean) {
    super(message)
    this.isFinal = isFinal
  }
}

/** After the last event only the connection's end is missing: worth a moment, so that it can be used again. */
const END_MS = 200

export function callClock(caller: AbortSignal, times: CallTimes): CallClock {
  const abort = new AbortController()
  let timeout: CallTimeout | undefined
  const end = (what: string, ms: number, isFinal: boolean) => {
    timeout = new CallTimeout(`${what} for ${ms / 1_000} s`, isFinal)
    abort.abort(timeout)
  }
  const byPhase = {
    waiting: { ms: times.firstTokenTimeoutMs, what: 'The model said nothing' },
    writing: { ms: times.idleTimeoutMs, what: 'The reply stood still' },
    done: { ms: END_MS, what: 'The reply had ended and the connection stayed open' },
  } as const
  let quiet: NodeJS.Timeout | undefined
  const tick = (phase: CallPhase) => {
    clearTimeout(quiet)
    const { ms, what } = byPhase[phase]
    quiet = setTimeout(end, ms, what, ms, false)
  }
  const total = setTimeout(
    end,
    times.totalTimeoutMs,
    'The reply was not complete',
    times.totalTimeoutMs,
    true,
  )
  const onCaller = () => abort.abort(caller.reason)
  if (caller.aborted) onCaller()
  caller.addEventListener('abort', onCaller, { once: true })
  tick('waiting')
  return {
    signal: abort.signal,
    tick,
    timeout: () => timeout,
    stop() {
      clearTimeout(quiet)
      clearTimeout(total)
      caller.removeEventListener('abort', onCaller)
      abort.abort()
    },
  }
}
