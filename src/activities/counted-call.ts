import type { Clock } from '../shared/ports/clock.ts'
import {
  type ModelCallContext,
  ModelCallError,
  type ModelClient,
  type ModelReply,
  type ModelRequest,
} from '../shared/ports/model.ts'
import type { FailureKind } from '../shared/refusals/provider-failure.ts'
import { type LostBecause, type Usage, usageSchema } from '../shared/session/events.ts'
import { askModel } from './ask-model.ts'
import { currentAttempt } from './attempt-tally.ts'
import { type PassedCall, passCircuit } from './circuits.ts'
import { assertMayBePaid, modelFailed } from './model-failed.ts'

/** A call that was paid, or may have been, and gave no reply. */
export interface LostCall {
  readonly why: LostBecause
  /** As far as the provider had told. */
  readonly usage?: Usage
}

/** Where a call goes. */
export interface CalledModel {
  readonly client: ModelClient
  readonly clock: Clock
}

/**
 * A call of a model that is counted however it ends: `lost` is told of one that fails after the provider had begun to answer, or that was cancelled on its
 * way. What the provider refused is not paid. A failure to write it down is passed over, because the call's own error says more.
 *
 * @throws what {@link askModel} throws, ModelCallError as SessionError `ModelFailed`, whose details say the kind, whether and when Temporal tries again, and the
 * provider's request id; the same for a call that is not sent, because the circuit is open or too many attempts before it may have been paid
 */
export async function countedCall(
  { client, clock }: CalledModel,
  request: ModelRequest,
  context: ModelCallContext,
  lost: (call: LostCall) => Promise<unknown>,
): Promise<ModelReply> {
  const { signal } = context
  const attempt = currentAttempt()
  const circuit = passed(() => passCircuit(client, request, clock))
  let hasAnswered = false
  let usage: Usage | undefined
  const answers = () => {
    if (!hasAnswered) circuit.answers()
    hasAnswered = true
  }
  const told = (value: unknown) => {
    answers()
    usage = usageSchema.safeParse(value).data ?? usage
  }
  const watched: ModelCallContext = {
    ...context,
    onDelta(delta) {
      answers()
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
    const reply = await askModel({ generate }, request, watched)
    circuit.succeeded()
    return reply
  } catch (error) {
    circuit.failed(signal.aborted ? signal.reason : error)
    const why = signal.aborted ? 'cancelled' : 'failed'
    const isLost = hasAnswered || signal.aborted || brokeOff(error)
    attempt.newest = 'refused'
    attempt.hasLost ||= isLost
    attempt.hasRefused ||= !isLost
    if (isLost) await lost({ why, ...(usage === undefined ? {} : { usage }) }).catch(() => undefined)
    throw asFailure(error)
  }
}

/** @throws SessionError `ModelFailed` when the call may not be sent */
function passed(pass: () => PassedCall): PassedCall {
  const attempt = currentAttempt()
  attempt.newest = 'held'
  assertMayBePaid(attempt)
  try {
    const circuit = pass()
    attempt.newest = 'sent'
    return circuit
  } catch (error) {
    throw asFailure(error)
  }
}

const asFailure = (error: unknown): unknown =>
  error instanceof ModelCallError ? modelFailed(error.failure) : error

/** Kinds of failures of a request that the provider had taken. */
const BROKE_OFF: ReadonlySet<FailureKind> = new Set(['timeout', 'cut-stream', 'too-large-reply'])

const brokeOff = (error: unknown): boolean =>
  error instanceof ModelCallError && BROKE_OFF.has(error.failure.kind) && error.failure.status === undefined
