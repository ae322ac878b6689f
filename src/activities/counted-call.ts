import { isSessionError } from '../shared/errors.ts'
import type { ModelCallContext, ModelClient, ModelReply, ModelRequest } from '../shared/ports/model.ts'
import type { FailureKind } from '../shared/refusals/provider-failure.ts'
import { type LostBecause, type Usage, usageSchema } from '../shared/session/events.ts'
import { askModel } from './ask-model.ts'

/** A call that was paid, or may have been, and gave no reply. */
export interface LostCall {
  readonly why: LostBecause
  /** As far as the provider had told. */
  readonly usage?: Usage
}

/**
 * A call of a model that is counted however it ends: `lost` is told of one that fails after the provider had begun to answer, or that was cancelled on its
 * way. What the provider refused is not paid. A failure to write it down is passed over, because the call's own error says more.
 */
export async function countedCall(
  client: ModelClient,
  request: ModelRequest,
  context: ModelCallContext,
  lost: (call: LostCall) => Promise<unknown>,
): Promise<ModelReply> {
  const { signal } = context
  let hasAnswered = false
  let usage: Usage | undefined
  const told = (value: unknown) => {
    hasAnswered = true
    usage = usageSchema.safeParse(value).data ?? usage
  }
  const watched: ModelCallContext = {
    ...context,
    onDelta(delta) {
      hasAnswered = true
      context.onDelta?.(delta)
    },
    onUsage: told,
  }
  const generate: ModelClient['generate'] = async (...call) => {
    const reply = await client.generate(...call)
    told(reply?.usage)
    return reply
  }
  try {
    return await askModel({ generate }, request, watched)
  } catch (error) {
    const why = signal.aborted ? 'cancelled' : 'failed'
    if (hasAnswered || signal.aborted || brokeOff(error))
      await lost({ why, ...(usage === undefined ? {} : { usage }) }).catch(() => undefined)
    throw error
  }
}

/** Kinds of failures of a request that the provider had taken. */
const BROKE_OFF: ReadonlySet<unknown> = new Set<FailureKind>(['timeout', 'cut-stream', 'too-large-reply'])

const brokeOff = (error: unknown): boolean =>
  isSessionError(error, 'ModelFailed') &&
  BROKE_OFF.has(error.details['kind']) &&
  error.details['status'] === undefined
