import {
  ApplicationFailure,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client'
import { ERROR_NAMES, SessionError } from '../shared/errors.ts'
import {
  type CompactionRequest,
  compactionRequestSchema,
  problemOf,
  type Receipt,
  WORKFLOWS,
} from '../shared/protocol.ts'
import { submitCompactionUpdate } from '../workflows/messages.ts'
import { askWorker } from './ask-worker.ts'
import type { SessionOptions } from './session.ts'
import { wakeOptions } from './wake.ts'

export type IdentifiedRequest = CompactionRequest & { readonly requestId: string }

/**
 * Stores the request where there is a store, then asks the workflow, which answers within one workflow task.
 *
 * @throws SessionError by its name when the session refuses it, `WorkerUnavailable`; the signal's own reason
 */
export async function requestCompaction(
  options: SessionOptions,
  request: IdentifiedRequest,
  signal?: AbortSignal,
): Promise<Receipt> {
  const problem = problemOf(compactionRequestSchema, request, 'compaction')
  if (problem !== undefined) throw new SessionError('InvalidInput', problem)
  const { store, sessionId } = options
  if (store !== undefined) {
    const { requestId, ...body } = request
    const row = await store.putInbox({ sessionId, requestId, kind: 'compaction', body })
    if (row.state === 'done' || row.state === 'refused') return { requestId, status: 'known', stored: true }
  }
  try {
    return await askWorker(options, () => submit(options, request), signal)
  } catch (error) {
    throw error instanceof WorkflowUpdateFailedError ? refusal(error) : error
  }
}

/** To the running session, or to a new life of one that completed by idleness. */
async function submit(options: SessionOptions, request: IdentifiedRequest): Promise<Receipt> {
  const { workflow } = options.client
  const update = { args: [request] as [CompactionRequest], updateId: request.requestId }
  try {
    return await workflow.getHandle(options.sessionId).executeUpdate(submitCompactionUpdate, update)
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
    const startWorkflowOperation = new WithStartWorkflowOperation(WORKFLOWS.session, {
      ...(await wakeOptions(options)),
      workflowIdConflictPolicy: 'USE_EXISTING',
    })
    return workflow.executeUpdateWithStart(submitCompactionUpdate, { ...update, startWorkflowOperation })
  }
}

function refusal({ cause, message }: WorkflowUpdateFailedError): SessionError {
  const type = cause instanceof ApplicationFailure ? cause.type : undefined
  const name = ERROR_NAMES.find((known) => known === type) ?? 'InvalidInput'
  return new SessionError(name, cause?.message ?? message)
}
