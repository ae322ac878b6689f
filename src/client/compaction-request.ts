import {
  ApplicationFailure,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client'
import { z } from 'zod'
import { ERROR_NAMES, ManualCompactionError, SessionError } from '../shared/errors.ts'
import type { SessionStore } from '../shared/ports/store.ts'
import {
  type CompactionOutcome,
  type CompactionRequest,
  compactionRequestSchema,
  problemOf,
  type Receipt,
  SIGNALS,
  WORKFLOWS,
} from '../shared/protocol.ts'
import { submitCompactionUpdate } from '../workflows/messages.ts'
import { askWorker } from './ask-worker.ts'
import { poll } from './poll.ts'
import type { SessionOptions } from './session.ts'
import { wakeOptions } from './wake.ts'

type Identified = CompactionRequest & { readonly requestId: string }

/**
 * Stores the request where there is a store, then asks the workflow, which answers within one workflow task.
 *
 * @throws SessionError by its name when the session refuses it, `WorkerUnavailable`; the signal's own reason
 */
export async function requestCompaction(
  options: SessionOptions,
  request: Identified,
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
async function submit(options: SessionOptions, request: Identified): Promise<Receipt> {
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

/** Longer than a child may run. */
const WAIT_MS = 35 * 60_000

/**
 * Waits in the store for what became of a request. An abort cancels the request, waits until it is settled, and throws the signal's own reason.
 *
 * @throws ManualCompactionError
 */
export async function waitForCompaction(
  options: SessionOptions,
  requestId: string,
  signal?: AbortSignal,
): Promise<CompactionOutcome> {
  const { store, sessionId, client } = options
  if (store === undefined)
    throw new SessionError(
      'InvalidInput',
      'Waiting for a compaction needs a store: give one to the SessionClient, or use requestCompaction.',
    )
  const settled = async () => {
    const [row] = await store.inbox(sessionId, { requestIds: [requestId] })
    return row !== undefined && (row.state === 'done' || row.state === 'refused') ? row : undefined
  }
  let row = await poll(WAIT_MS, settled, signal).catch((error: unknown) => {
    if (signal?.aborted) return undefined
    throw error
  })
  if (signal?.aborted && row === undefined) {
    await client.workflow
      .getHandle(sessionId)
      .signal(SIGNALS.cancelCompaction, { requestId, reason: String(signal.reason) })
    row = await poll(WAIT_MS, settled)
    signal.throwIfAborted()
  }
  if (row === undefined)
    throw new ManualCompactionError(
      'interrupted',
      `The compaction ${requestId} was not settled within ${WAIT_MS / 60_000} minutes.`,
    )
  return outcomeOf(store, sessionId, row.outcome, requestId)
}

async function outcomeOf(
  store: SessionStore,
  sessionId: string,
  settled: unknown,
  requestId: string,
): Promise<CompactionOutcome> {
  const { compactionId, error } = settledSchema.parse(settled)
  const attempt = compactionId === undefined ? null : await store.attempt(sessionId, compactionId)
  if (attempt?.outcome) return attempt.outcome
  const [name = 'unknown', ...rest] = (error ?? `attempt ${compactionId} has no outcome`).split(': ')
  if (name === 'Busy')
    throw new ManualCompactionError('busy', `The compaction ${requestId} was refused: another one is open.`)
  if (name === 'Cancelled')
    throw new ManualCompactionError('cancelled', `The compaction ${requestId} was cancelled before it began.`)
  const message = rest.join(': ') || `The compaction ${requestId} was refused: ${name}.`
  throw new SessionError(ERROR_NAMES.find((known) => known === name) ?? 'LogRejected', message)
}

/** What the inbox keeps of a settled request. */
const settledSchema = z.looseObject({ compactionId: z.string().optional(), error: z.string().optional() })
