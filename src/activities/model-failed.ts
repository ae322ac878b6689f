import { Context } from '@temporalio/activity'
import { SessionError } from '../shared/errors.ts'
import type { FailureKind, ProviderFailure } from '../shared/refusals/provider-failure.ts'
import { type Attempt, currentAttempt, mayBePaid, paidAttempts } from './attempt-tally.ts'

/** A failure that says nothing of itself may be the network: after so many attempts of the activity it is final. */
export const ATTEMPTS_OF_UNKNOWN = 5

/**
 * Attempts of the activity after which a failure is final. Limits and overloads pass, and cost nothing: they have what the activity has, 30 attempts in
 * 30 minutes. Silence takes minutes. Attempts that the circuit held back do not count.
 */
const ATTEMPTS: { readonly [kind in FailureKind]?: number } = {
  server: 10,
  connection: 10,
  timeout: 3,
  'cut-stream': ATTEMPTS_OF_UNKNOWN,
  'broken-reply': ATTEMPTS_OF_UNKNOWN,
  unknown: ATTEMPTS_OF_UNKNOWN,
}

/** Attempts of one call that may have been paid, however they ended. */
const MOST_PAID = 5

/** What the session says of a failed call. `details` tells the kind, whether and when Temporal tries again, and the provider's request id. */
export function modelFailed({ message, ...failure }: ProviderFailure): SessionError {
  const attempt = currentAttempt()
  const tries = Context.current().info.attempt - attempt.before.unsent
  const retryable =
    failure.retryable &&
    tries < (ATTEMPTS[failure.kind] ?? Number.POSITIVE_INFINITY) &&
    paidAttempts(attempt) < MOST_PAID
  const asked = { ...failure, ...(retryable ? waitAfterPaid(attempt, failure) : {}) }
  return new SessionError('ModelFailed', message, { ...asked, retryable })
}

/** An overload that comes after the reply has begun passes, too, but its attempts are few: they lie further apart, 8 s, then a minute each. */
const PASSES: ReadonlySet<FailureKind> = new Set(['rate-limit', 'overloaded', 'server'])
const LONGEST_APART_MS = 60_000

function waitAfterPaid(
  attempt: Attempt,
  { kind, retryAfterMs = 0 }: Omit<ProviderFailure, 'message'>,
): Pick<ProviderFailure, 'retryAfterMs'> {
  const paid = paidAttempts(attempt)
  if (!mayBePaid(attempt) || paid < 2 || !PASSES.has(kind)) return {}
  const apartMs = Math.min(1_000 * 8 ** (paid - 1), LONGEST_APART_MS)
  return { retryAfterMs: Math.max(retryAfterMs, apartMs) }
}

/** Whether no further call may be sent in this attempt or a later one. */
export const isPaidUp = (attempt: Attempt): boolean =>
  paidAttempts({ ...attempt, newest: 'held' }) >= MOST_PAID

/** @throws SessionError `ModelFailed`, final: a call that kills its worker each time is not paid for ever */
export function assertMayBePaid(attempt: Attempt): void {
  if (!isPaidUp(attempt)) return
  const paid = paidAttempts(attempt)
  throw modelFailed({
    kind: 'unknown',
    retryable: false,
    message: `Not sent again: ${paid} attempts of this call may have been paid, and no reply of theirs was kept. Their workers died, or could not write it down: see the logs of the workers.`,
  })
}
