import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure } from '@temporalio/common'

// What a failure of an activity or a child says, seen through Temporal's wrappers. Pure.

/** The failure inside the wrappers of activities and children. */
function rootFailure(error: unknown): unknown {
  let root = error
  while (
    (root instanceof ActivityFailure || root instanceof ChildWorkflowFailure) &&
    root.cause !== undefined
  ) {
    root = root.cause
  }
  return root
}

/** The name of the expected failure, such as `Fenced`; undefined for anything else. */
export function failureType(error: unknown): string | undefined {
  const root = rootFailure(error)
  return root instanceof ApplicationFailure ? (root.type ?? undefined) : undefined
}

/** Characters of a failure's message that are kept: it stands in history, in the log and in the memo. */
const MESSAGE_CHARS = 1000

export function failureMessage(error: unknown): string {
  const root = rootFailure(error)
  const message = root instanceof Error ? root.message : String(root)
  return (message === '' ? 'no message' : message).slice(0, MESSAGE_CHARS)
}

/** The generation of the request that a provider refused as too long; undefined for any other failure. */
export function overflowGeneration(error: unknown): number | undefined {
  const root = rootFailure(error)
  if (!(root instanceof ApplicationFailure) || root.type !== 'ContextOverflow') return undefined
  const detail = root.details?.[0]
  if (typeof detail !== 'object' || detail === null || !('generation' in detail)) return undefined
  return typeof detail.generation === 'number' ? detail.generation : undefined
}

/** The same failure as the session's own, so that a client sees its type without wrappers. */
export function sessionFailure(error: unknown): ApplicationFailure {
  return ApplicationFailure.create({
    type: failureType(error) ?? 'SessionFailed',
    message: failureMessage(error),
    nonRetryable: true,
    ...(error instanceof Error ? { cause: error } : {}),
  })
}
