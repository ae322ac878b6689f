import { SessionError } from '../shared/errors.ts'
import {
  type CompactionRequest,
  compactionRequestSchema,
  problemOf,
  type Receipt,
} from '../shared/protocol.ts'
import { submitCompactionUpdate } from '../workflows/messages.ts'
import { askWorker } from './ask-worker.ts'
import type { SessionOptions } from './session.ts'
import { submitUpdate } from './submit-update.ts'

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
  return askWorker(options, (until) => submitUpdate(options, submitCompactionUpdate, request, until), signal)
}
