import {
  ApplicationFailure,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client'
import type { Workflow } from '@temporalio/common'
import { errorNameOf, SessionError } from '../shared/errors.ts'
import { type Receipt, WORKFLOWS } from '../shared/protocol.ts'
import { fewAtOnce } from './few-at-once.ts'
import { poll } from './poll.ts'
import type { SessionOptions } from './session.ts'
import { wakeOptions } from './wake.ts'

type Identified = { readonly requestId: string }

/**
 * Sends an update to the running session, or to a new life of one that completed by idleness.
 *
 * @throws SessionError by its name when the session refuses it, `SessionNotFound`; the reason of `until`
 */
export async function submitUpdate(
  options: SessionOptions,
  update: { readonly name: string },
  message: Identified,
  until: AbortSignal,
): Promise<Receipt> {
  return untilTaken(options, () => send(options, update, message), until)
}

/**
 * Sends an update, a few of a session at once, and again, under its own id, while workflow tasks pass it over.
 *
 * @param until ends the wait for a place
 * @throws SessionError by its name when the session refuses it; the reason of `until`
 */
export async function untilTaken<T>(
  { client, sessionId, workerTimeoutMs }: SessionOptions,
  send: () => Promise<T>,
  until: AbortSignal,
): Promise<T> {
  let passedOver: unknown
  const taken = await poll(workerTimeoutMs, async () => {
    try {
      return { receipt: await fewAtOnce(client, sessionId, send, until) }
    } catch (error) {
      if (!isPassedOver(error)) throw error instanceof WorkflowUpdateFailedError ? refusal(error) : error
      passedOver = error
      return undefined
    }
  })
  if (taken === undefined) throw passedOver
  return taken.receipt
}

/** The server rejects an update that a workflow task passed over, as when a worker is replaced or starved: nothing was done, so it is sent again. */
const isPassedOver = (error: unknown): boolean =>
  error instanceof WorkflowUpdateFailedError &&
  error.cause instanceof ApplicationFailure &&
  error.cause.type === 'UnprocessedUpdate'

async function send(
  options: SessionOptions,
  { name }: { readonly name: string },
  message: Identified,
): Promise<Receipt> {
  const { workflow } = options.client
  const call = { args: [message] as [Identified], updateId: message.requestId }
  try {
    return await workflow.getHandle(options.sessionId).executeUpdate<Receipt, [Identified]>(name, call)
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
    const startWorkflowOperation = new WithStartWorkflowOperation(WORKFLOWS.session, {
      ...(await wakeOptions(options)),
      workflowIdConflictPolicy: 'USE_EXISTING',
    })
    return workflow.executeUpdateWithStart<Workflow, Receipt, [Identified]>(name, {
      ...call,
      startWorkflowOperation,
    })
  }
}

/** By its name, as the session refused it. */
function refusal({ cause, message }: WorkflowUpdateFailedError): SessionError {
  const type = cause instanceof ApplicationFailure ? cause.type : undefined
  const name = errorNameOf(type) ?? 'InvalidInput'
  return new SessionError(name, cause?.message ?? message)
}
