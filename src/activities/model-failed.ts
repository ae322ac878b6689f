import { Context } from '@temporalio/activity'
import { SessionError } from '../shared/errors.ts'
import type { FailureKind, ProviderFailure } from '../shared/refusals/provider-failure.ts'

/** A failure that says nothing of itself may be the network: after so many attempts of the activity it is final. */
export const ATTEMPTS_OF_UNKNOWN = 5

/**
 * Attempts of the activity after which a failure is final. Limits and overloads pass, and cost nothing: they have what the activity has, 30 attempts in
 * 30 minutes. A reply that breaks off may be paid each time, and silence takes minutes.
 */
const ATTEMPTS: { readonly [kind in FailureKind]?: number } = {
  server: 10,
  connection: 10,
  timeout: 3,
  'cut-stream': ATTEMPTS_OF_UNKNOWN,
  'broken-reply': ATTEMPTS_OF_UNKNOWN,
  unknown: ATTEMPTS_OF_UNKNOWN,
}

/** What the session says of a failed call. `details` tells the kind, whether and when Temporal tries again, and the provider's request id. */
export function modelFailed({ message, ...failure }: ProviderFailure): SessionError {
  const { attempt } = Context.current().info
  const retryable = failure.retryable && attempt < (ATTEMPTS[failure.kind] ?? Number.POSITIVE_INFINITY)
  return new SessionError('ModelFailed', message, { ...failure, retryable })
}
