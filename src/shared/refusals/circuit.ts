import type { FailureKind, ProviderFailure } from './provider-failure.ts'

/** After so many failures in a row no call is sent for a while. */
export const FAILURES_TO_OPEN = 10
const FIRST_HOLD_MS = 15_000
const LONGEST_HOLD_MS = 60_000
/** A probe of which nothing is heard keeps others back for so long, as a reply may begin late. */
const PROBE_MS = 60_000
/** Failures that lie further apart do not belong together. */
const FORGET_MS = 10 * 60_000

/** What says that the provider does not serve at present. A reply that breaks off is a reply, and a refusal of one request says nothing of others. */
const AWAY: ReadonlySet<FailureKind> = new Set([
  'rate-limit',
  'overloaded',
  'server',
  'timeout',
  'connection',
])

/** What is known of a model, with one key, whose newest calls failed. One that serves has none. */
export interface Circuit {
  /** In a row: no call has begun to be answered between. */
  readonly failures: number
  readonly last: ProviderFailure
  /** Milliseconds since 1970. */
  readonly lastAt: number
  /** How long it was open the last time, without what the provider asked for; 0: it was not. */
  readonly holdMs: number
  /** When it opened the last time; that a probe was sent since changes nothing of it. */
  readonly openedAt: number
  /** Null: calls are sent. */
  readonly open: Hold | null
  /** Probes so far: the number of the newest. */
  readonly probes: number
}

interface Hold {
  readonly since: number
  readonly forMs: number
  /** A call that was sent to find out, and has not answered. */
  readonly probe: number | null
}

/** A call that was let through. */
export interface SentCall {
  /** Milliseconds since 1970. */
  readonly at: number
  /** Its number, when it is a probe. */
  readonly probe?: number
}

export type Passage =
  | { readonly kind: 'send' }
  /** The only call that goes out; `circuit` is the state with it. */
  | { readonly kind: 'probe'; readonly probe: number; readonly circuit: Circuit }
  /** `waitMs`: until another call is let through; 0 while a probe is on its way, which decides soon. */
  | { readonly kind: 'wait'; readonly waitMs: number }

/** Whether a call may be sent now. */
export function mayCall(circuit: Circuit, now: number): Passage {
  const { open, probes } = circuit
  if (open === null) return { kind: 'send' }
  const passedMs = now - open.since
  // A clock that was set back must not hold calls for hours.
  if (passedMs >= 0 && passedMs < open.forMs)
    return { kind: 'wait', waitMs: open.probe === null ? open.forMs - passedMs : 0 }
  const probe = probes + 1
  return {
    kind: 'probe',
    probe,
    circuit: { ...circuit, probes: probe, open: { since: now, forMs: PROBE_MS, probe } },
  }
}

/** Opens after the tenth failure in a row, for 15 s or what the provider asks for; after a failed probe, or ten more, again for twice the time, up to 60 s. */
export function onFailure(
  circuit: Circuit | undefined,
  failure: ProviderFailure,
  now: number,
  probe?: number,
): Circuit | undefined {
  // What no further attempt heals ends its turn at once, so that nobody has to be held back.
  if (!AWAY.has(failure.kind) || !failure.retryable) return onUndecided(circuit, now, probe)
  const before = circuit === undefined || now - circuit.lastAt > FORGET_MS ? NO_FAILURES : circuit
  const failed = { ...before, failures: before.failures + 1, last: failure, lastAt: now }
  const isLate = before.open !== null && !isProbe(before, probe)
  if (isLate || failed.failures < FAILURES_TO_OPEN) return failed
  const holdMs = Math.min(before.holdMs === 0 ? FIRST_HOLD_MS : before.holdMs * 2, LONGEST_HOLD_MS)
  const forMs = Math.max(holdMs, failure.retryAfterMs ?? 0)
  return { ...failed, holdMs, openedAt: now, open: { since: now, forMs, probe: null } }
}

const NO_FAILURES = { failures: 0, holdMs: 0, openedAt: 0, open: null, probes: 0 } as const

/** A probe that was cancelled, or failed in a way that says nothing of the provider, gives its place to the next call. */
export function onUndecided(circuit: Circuit | undefined, now: number, probe?: number): Circuit | undefined {
  if (circuit === undefined || circuit.open === null || !isProbe(circuit, probe)) return circuit
  return { ...circuit, open: { since: now, forMs: 0, probe: null } }
}

/**
 * The first words of a reply, whose end may be minutes away while refusals come at once: no failures in a row any more. While it is open only a call that was
 * sent since then can tell; calls are sent again, and should it open again it is for longer, until such a reply is complete.
 */
export function onAnswer(circuit: Circuit | undefined, call: SentCall): Circuit | undefined {
  if (circuit === undefined || (circuit.open !== null && !isSince(circuit, call))) return circuit
  return { ...circuit, failures: 0, open: null }
}

/** A complete reply ends what is known of failures. One that began before the newest outage says nothing of it. */
export const onSuccess = (circuit: Circuit | undefined, call: SentCall): Circuit | undefined =>
  circuit === undefined || isSince(circuit, call) ? undefined : circuit

/** By its number, too: the clock may have been set back. */
const isSince = (circuit: Circuit, { at, probe }: SentCall): boolean =>
  circuit.holdMs === 0 || at > circuit.openedAt || isProbe(circuit, probe)

const isProbe = ({ open }: Pick<Circuit, 'open'>, probe: number | undefined): boolean =>
  probe !== undefined && open?.probe === probe
