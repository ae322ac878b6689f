import { z } from 'zod'
import { type ControlRequest, controlRequestSchema, type NamedControl } from '../shared/control-protocol.ts'
import { SessionError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { InboxRow } from '../shared/ports/inbox.ts'
import type { SessionStore } from '../shared/ports/store.ts'
import { problemOf, QUERIES, requestIdSchema, SIGNALS } from '../shared/protocol.ts'
import { utf8Bytes } from '../shared/session/prompt-content.ts'
import { configureUpdate, undoCompactionUpdate } from '../workflows/messages.ts'
import { askWorker, querySession } from './ask-worker.ts'
import { poll } from './poll.ts'
import type { SessionOptions } from './session.ts'
import { refusedSchema, storedRefusal } from './stored-refusal.ts'
import { submitUpdate } from './submit-update.ts'
import { sendSignal } from './wake.ts'

type StoredOptions = SessionOptions & { readonly store: SessionStore }

export interface ControlOptions {
  /** The same id again is the same request, and gives the same answer. */
  readonly requestId?: string
  /** Aborting stops the wait with the signal's own reason; what was asked for is done all the same. */
  readonly signal?: AbortSignal
}

const seq = z.int().nonnegative()
/** What the inbox keeps of a request that was served. */
export const outcomeSchemas = {
  pin: z.object({ id: z.string(), seq, tokens: z.int() }),
  unpin: z.object({ id: z.string(), seq }),
  undo: z.object({
    compactionId: z.string(),
    seq,
    checkpointSeq: seq,
    messages: z.int(),
    tokensBefore: z.int(),
    tokensAfter: z.int(),
  }),
  configure: z.object({ seq, changed: z.boolean() }),
} as const
type Outcome<K extends ControlRequest['kind']> = Readonly<z.infer<(typeof outcomeSchemas)[K]>>

/** A pin, and the event that holds it. `id` takes it back; tokens are of our counter. */
export type PinResult = Outcome<'pin'>
export type UnpinResult = Outcome<'unpin'>
/** `seq` is of `compact/restore`; tokens are of the next request before and after it, estimated. */
export type UndoResult = Outcome<'undo'>
/** `seq` is of the header that holds now; `changed` is false when it was so already. */
export type ConfigureResult = Outcome<'configure'>

/**
 * Stores a request, tells the session, and waits in the store until it is served: at the next step boundary, or at once when nothing runs.
 *
 * @throws SessionError by the name of its refusal; `KeyConflict`, `QueueFull`, `SessionClosed`, `WorkerUnavailable`; the signal's own reason
 */
export async function control<T>(
  options: StoredOptions,
  requestId: string,
  request: ControlRequest,
  outcomeSchema: z.ZodType<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted()
  requireFit(requestId, request)
  const { store, sessionId } = options
  const row = await store.putInbox({ sessionId, requestId, kind: 'control', body: request })
  if (!isServed(row)) await tell(options, { requestId }, request.kind, signal)
  const { state, outcome } = isServed(row) ? row : await servedRow(options, requestId, signal)
  if (state === 'refused') throw storedRefusal(refusedSchema.parse(outcome).error, `Request ${requestId}`)
  return outcomeSchema.parse(outcome)
}

function requireFit(requestId: string, request: ControlRequest): void {
  const problem =
    problemOf(requestIdSchema, requestId, 'requestId') ??
    problemOf(controlRequestSchema, request, request.kind)
  if (problem !== undefined) throw new SessionError('InvalidInput', problem)
  const bytes = utf8Bytes(JSON.stringify(request))
  if (bytes > LIMITS.startBytes) {
    throw new SessionError(
      'InvalidInput',
      `${request.kind}: the request has ${bytes} bytes, allowed are ${LIMITS.startBytes}: send material as a prompt`,
    )
  }
}

/** The body waits in the store: only its id travels. */
async function tell(
  options: StoredOptions,
  { requestId }: NamedControl,
  kind: ControlRequest['kind'],
  signal: AbortSignal | undefined,
): Promise<void> {
  if (kind === 'pin') return sendSignal(options, SIGNALS.pin, { requestId })
  if (kind === 'unpin') return sendSignal(options, SIGNALS.unpin, { requestId })
  const update = kind === 'undo' ? undoCompactionUpdate : configureUpdate
  await askWorker(options, (until) => submitUpdate(options, update, { requestId }, until), signal)
}

const isServed = ({ state }: Pick<InboxRow, 'state'>): boolean => state === 'done' || state === 'refused'

/** Longer than a step and a compaction may run. */
const WAIT_MS = 60 * 60_000

async function servedRow(
  options: StoredOptions,
  requestId: string,
  signal: AbortSignal | undefined,
): Promise<InboxRow> {
  const { store, sessionId, client, workerTimeoutMs } = options
  const served = async () => {
    const [row] = await store.inbox(sessionId, { requestIds: [requestId] })
    return row !== undefined && isServed(row) ? row : undefined
  }
  for (const end = Date.now() + WAIT_MS; Date.now() < end; ) {
    const row = await poll(workerTimeoutMs, served, signal)
    if (row !== undefined) return row
    // A step may take long; without a worker it would take for ever.
    await querySession(options, () => client.workflow.getHandle(sessionId).query(QUERIES.sessionState))
  }
  throw new SessionError(
    'WorkerUnavailable',
    `Request ${requestId} of session ${sessionId} was not served within ${WAIT_MS / 60_000} minutes; it still waits.`,
  )
}
