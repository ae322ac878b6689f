import { z } from 'zod'
import { ManualCompactionError } from '../shared/errors.ts'
import type { InboxRow } from '../shared/ports/inbox.ts'
import type { SessionStore } from '../shared/ports/store.ts'
import { type CompactionOutcome, SIGNALS } from '../shared/protocol.ts'
import { type IdentifiedRequest, requestCompaction } from './compaction-request.ts'
import { poll } from './poll.ts'
import type { SessionOptions } from './session.ts'
import { storedRefusal } from './stored-refusal.ts'
import { signalRunning } from './wake.ts'

type StoredOptions = SessionOptions & { readonly store: SessionStore }

/**
 * Asks for a compaction and waits in the store for its outcome. An answer that was of the past (busy with a turn that has ended, joined to an attempt that
 * had ended: the workflow learns of an end a moment after the store) is asked for again, under the next id. An abort cancels the request and throws the signal's own reason.
 *
 * @throws ManualCompactionError; SessionError
 */
export async function compactNow(
  options: StoredOptions,
  request: IdentifiedRequest,
  signal?: AbortSignal,
): Promise<CompactionOutcome> {
  signal?.throwIfAborted()
  let asked = 0
  const outcome = await poll(
    options.workerTimeoutMs,
    () => askOnce(options, nth(request, ++asked), signal),
    signal,
  )
  if (outcome !== undefined) return outcome
  throw busy(options.sessionId)
}

const nth = (request: IdentifiedRequest, n: number): IdentifiedRequest =>
  n === 1 ? request : { ...request, requestId: `${request.requestId.slice(0, 250)}-${n}` }

/** Undefined for an answer of the past. */
async function askOnce(
  options: StoredOptions,
  request: IdentifiedRequest,
  signal: AbortSignal | undefined,
): Promise<CompactionOutcome | undefined> {
  const row = await rowOf(options, request, signal)
  const settled = row === null ? { error: 'Busy' } : settledSchema.parse(row.outcome)
  const outcome = await outcomeOf(options.store, options.sessionId, settled.compactionId)
  if (outcome !== undefined) {
    const isPast = row !== null && outcome.endSeq !== undefined && row.acceptedAt > outcome.endSeq
    return isPast ? undefined : outcome
  }
  if (settled.error !== 'Busy') throw refusal(request, settled)
  if (await isBusy(options)) throw busy(options.sessionId)
  return undefined
}

/** The settled row of the request; null for one that was refused as busy at once. */
async function rowOf(
  options: StoredOptions,
  request: IdentifiedRequest,
  signal: AbortSignal | undefined,
): Promise<InboxRow | null> {
  let isTaken = false
  try {
    const receipt = await requestCompaction(options, request, signal)
    isTaken = true
    return receipt.status === 'busy' ? null : await settledRow(options, request, WAIT_MS, signal)
  } catch (error) {
    if (!signal?.aborted) throw error
    await takeBack(options, request, String(signal.reason), isTaken).catch(() => undefined) // The caller gets its own reason, whatever happens.
    throw signal.reason
  }
}

/** Longer than a child may run. */
const WAIT_MS = 35 * 60_000
/** A cancel takes about a second. */
const CANCEL_MS = 10_000

/** Cancels a request; one that the session has taken is waited for, so that no bracket stays open behind the caller. */
async function takeBack(
  options: StoredOptions,
  request: IdentifiedRequest,
  reason: string,
  isTaken: boolean,
): Promise<void> {
  const { requestId } = request
  await signalRunning(options, SIGNALS.cancelCompaction, { requestId, reason: reason.slice(0, 1000) })
  if (isTaken) await settledRow(options, request, CANCEL_MS)
}

async function settledRow(
  { store, sessionId }: StoredOptions,
  { requestId }: IdentifiedRequest,
  limitMs: number,
  signal?: AbortSignal,
): Promise<InboxRow> {
  const settled = async () => {
    const [row] = await store.inbox(sessionId, { requestIds: [requestId] })
    return row?.state === 'done' || row?.state === 'refused' ? row : undefined
  }
  const row = await poll(limitMs, settled, signal)
  if (row !== undefined) return row
  throw new ManualCompactionError(
    'interrupted',
    `The compaction ${requestId} was not settled within ${limitMs / 60_000} minutes.`,
  )
}

async function outcomeOf(
  store: SessionStore,
  sessionId: string,
  compactionId: string | undefined,
): Promise<CompactionOutcome | undefined> {
  const attempt = compactionId === undefined ? null : await store.attempt(sessionId, compactionId)
  return attempt?.outcome ?? undefined
}

/** By the store, which is never behind. */
async function isBusy({ store, sessionId }: StoredOptions): Promise<boolean> {
  const session = await store.session(sessionId)
  if (session === null || session.openTurn !== null || session.openCompactionId !== null) return true
  const waiting = await store.inbox(sessionId, { kind: 'prompt', state: 'waiting' })
  return waiting.some((row) => row.delivery !== 'no-wake')
}

/** What the inbox keeps of a settled request. */
const settledSchema = z.looseObject({ compactionId: z.string().optional(), error: z.string().optional() })

function refusal(
  { requestId }: IdentifiedRequest,
  { compactionId, error = `attempt ${compactionId} has no outcome` }: z.infer<typeof settledSchema>,
): Error {
  const stored = storedRefusal(error, `The compaction ${requestId}`)
  return stored.name === 'Cancelled' ? new ManualCompactionError('cancelled', stored.message) : stored
}

const busy = (sessionId: string) =>
  new ManualCompactionError(
    'busy',
    `Session ${sessionId} is busy with a turn or a compaction: wait for it, or ask with whenBusy "wait".`,
  )
