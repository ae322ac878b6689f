import { Context } from '@temporalio/activity'
import type { Clock } from '../shared/ports/clock.ts'
import { ModelCallError, type ModelRequest } from '../shared/ports/model.ts'
import {
  type Circuit,
  mayCall,
  onAnswer,
  onFailure,
  onSuccess,
  onUndecided,
  type SentCall,
} from '../shared/refusals/circuit.ts'

// One circuit for each client, which has one key, and model, in this process. Models that serve have none.

const CIRCUITS = new WeakMap<object, Map<string, Circuit>>()
/** Of one client, since sessions name models as they like. */
const MOST_MODELS = 100

/** A call that the circuit has let through; it is told how the call goes. */
export interface PassedCall {
  /** The provider has begun to answer; to be told once. */
  answers(): void
  succeeded(): void
  failed(error: unknown): void
}

/**
 * Lets a call of a model through, or not.
 *
 * @throws ModelCallError `circuit-open`: too many calls before it failed. Nothing was sent, and nothing is paid.
 */
export function passCircuit(
  client: object,
  { provider, model }: Pick<ModelRequest, 'provider' | 'model'>,
  clock: Clock,
): PassedCall {
  const name = `${provider}/${model}`
  const known = CIRCUITS.get(client) ?? new Map<string, Circuit>()
  CIRCUITS.set(client, known)
  const become = (next: Circuit | undefined) => {
    if (next === undefined) return known.delete(model)
    return forgetOldest(known.set(model, next))
  }
  const at = clock()
  const probe = probeOf(known.get(model), at, name, become)
  const call: SentCall = { at, ...(probe === undefined ? {} : { probe }) }
  return {
    answers: () => become(onAnswer(known.get(model), call)),
    succeeded: () => become(onSuccess(known.get(model), call)),
    failed(error) {
      const before = known.get(model)
      const failure = error instanceof ModelCallError ? error.failure : undefined
      const next =
        failure === undefined
          ? onUndecided(before, clock(), probe)
          : onFailure(before, failure, clock(), probe)
      become(next)
      if (next !== undefined && next.last === failure && next.open !== before?.open) warnOfHold(next, name)
    },
  }
}

/** @returns the number of the call, when it is a probe */
function probeOf(
  circuit: Circuit | undefined,
  now: number,
  name: string,
  become: (next: Circuit) => void,
): number | undefined {
  const passage = circuit === undefined ? undefined : mayCall(circuit, now)
  if (circuit === undefined || passage === undefined || passage.kind === 'send') return undefined
  if (passage.kind === 'wait') throw heldBack(circuit, passage.waitMs, name)
  become(passage.circuit)
  return passage.probe
}

function forgetOldest(known: Map<string, Circuit>): void {
  const [oldest] = known.keys()
  if (known.size > MOST_MODELS && oldest !== undefined) known.delete(oldest)
}

function heldBack({ failures, last }: Circuit, waitMs: number, name: string): ModelCallError {
  const next =
    waitMs === 0 ? 'One is on its way to find out' : `The next is let through in ${seconds(waitMs)}`
  return new ModelCallError({
    kind: 'circuit-open',
    retryable: true,
    retryAfterMs: Math.max(waitMs, policyWaitMs()),
    message: `circuit-open: not sent, since the last ${failures} calls of this worker to ${name} failed. The newest: ${last.message} ${next}.`,
  })
}

/**
 * What Temporal waits by itself after this attempt, by src/workflows/session-activities.ts. An attempt that was not sent waits no less, so that the attempts
 * of a turn last as long as they would without a circuit.
 */
const policyWaitMs = (): number => Math.min(1_000 * 2 ** (Context.current().info.attempt - 1), 30_000)

function warnOfHold({ failures, last, open }: Circuit, name: string): void {
  if (open === null) return
  Context.current().log.warn(
    `The last ${failures} calls to ${name} failed: none is sent for ${seconds(open.forMs)}`,
    { kind: last.kind, message: last.message },
  )
}

const seconds = (ms: number): string => `${Math.ceil(ms / 1_000)} s`
