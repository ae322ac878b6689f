import { randomUUID } from 'node:crypto'
import { WorkflowNotFoundError } from '@temporalio/client'
import { isSessionError } from '../shared/errors.ts'
import type { CancelReceipt } from '../shared/protocol.ts'
import { askWorker } from './ask-worker.ts'
import type { SessionOptions } from './session.ts'
import { untilTaken } from './submit-update.ts'
import { signalRunning } from './wake.ts'

/** Of a session that does not run. */
const NOTHING: CancelReceipt = {
  stopped: 'nothing',
  turn: null,
  compactionId: null,
  goesOn: { turn: null, compactionId: null },
}

/**
 * Cancels by the update of this name. Without a worker the signal of the same name waits for one.
 *
 * @throws SessionError `SessionNotFound`, `WorkerUnavailable`
 */
export async function cancel(options: SessionOptions, name: string, message: object): Promise<CancelReceipt> {
  try {
    return await askWorker(options, (until) => ask(options, name, message, until))
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || isSessionError(error, 'WorkerUnavailable'))
      await signalRunning(options, name, message)
    if (error instanceof WorkflowNotFoundError) return NOTHING
    throw error
  }
}

async function ask(
  options: SessionOptions,
  name: string,
  message: object,
  until: AbortSignal,
): Promise<CancelReceipt> {
  const updateId = randomUUID()
  const handle = options.client.workflow.getHandle(options.sessionId)
  const send = () => handle.executeUpdate<CancelReceipt, [object]>(name, { args: [message], updateId })
  return untilTaken(options, send, until)
}
