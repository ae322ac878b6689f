import { Context } from '@temporalio/activity'
import { TemporalFailure } from '@temporalio/common'
import type { z } from 'zod'
import {
  type ControlRequest,
  type controlInputSchema,
  controlRequestSchema,
  type controlResultSchema,
} from '../../shared/control-protocol.ts'
import { type ErrorName, isSessionError, SessionError } from '../../shared/errors.ts'
import type { InboxRow } from '../../shared/ports/inbox.ts'
import type { Actor, SessionRow } from '../../shared/ports/store.ts'
import type { NewEvent } from '../../shared/session/events.ts'
import type { ActivityDeps } from '../deps.ts'
import { ATTEMPTS_OF_UNKNOWN } from '../model-failed.ts'
import { asOwner, callingRun } from '../owner.ts'
import { replanned } from '../replanned.ts'
import { currentReading, loadSession } from '../session-view.ts'
import { configured } from './configure.ts'
import { pinned, unpinned } from './pins.ts'
import { undone } from './undo.ts'

/** What a request comes to: at most one event, judged on the log as it was at `head`, and what its inbox row says of it. */
export interface Decided {
  /** Null: it is so already. */
  readonly event: NewEvent | null
  readonly head: number
  readonly outcome: Readonly<Record<string, unknown>>
}

/** Errors that are no answer to a request: another attempt may heal them, or this run may not write at all. */
const NO_ANSWER: ReadonlySet<ErrorName> = new Set([
  'StoreUnavailable',
  'NotOwner',
  'Fenced',
  'SessionOwned',
  'SessionNotFound',
  'HeadMoved',
])

/**
 * Serves all control requests of the inbox in order: each in one transaction that writes its event and settles its row. One that is refused leaves everything as
 * it was, and its row says why. Bodies that came inline are stored first; a request that was served before is not served again.
 *
 * @throws SessionError `Fenced`
 */
export async function serveControls(
  deps: ActivityDeps,
  input: z.infer<typeof controlInputSchema>,
): Promise<z.infer<typeof controlResultSchema>> {
  const { sessionId } = input
  const actor = callingRun()
  const serveWaiting = async () => {
    for (const row of await deps.store.inbox(sessionId, { kind: 'control', state: 'waiting' }))
      await serve(deps, actor, row)
  }
  // First what waits there: a full inbox would refuse bodies that were accepted.
  await serveWaiting()
  const refused = await storeBodies(deps, input)
  await serveWaiting()
  const { policy } = (await loadSession(deps, sessionId)).header
  return {
    reading: await currentReading(deps, sessionId),
    idleTimeoutMs: policy.idleTimeoutMs,
    compactionRetries: policy.compactionRetries,
    maxOverflowRetries: policy.maxOverflowRetries,
    refused,
  }
}

/** @returns how many could not be taken */
async function storeBodies(
  { store }: ActivityDeps,
  { sessionId, requests }: z.infer<typeof controlInputSchema>,
): Promise<number> {
  let refused = 0
  for (const { requestId, body } of requests) {
    if (body === undefined) {
      const [row] = await store.inbox(sessionId, { kind: 'control', requestIds: [requestId] })
      if (row === undefined) refused++
      continue
    }
    try {
      await store.putInbox({ sessionId, requestId, kind: 'control', body })
    } catch (error) {
      if (!isAnswer(error)) throw error
      refused++
    }
  }
  return refused
}

async function serve(deps: ActivityDeps, actor: Actor, row: InboxRow): Promise<void> {
  const { sessionId, requestId } = row
  try {
    await replanned(async () => {
      const session = await loadSession(deps, sessionId)
      await write(deps, actor, row, await decide(deps, session, row))
    })
  } catch (error) {
    const answer = isAnswer(error) ? error : lastAnswer(error, row)
    if (answer === undefined) throw error
    const outcome = { error: `${answer.name}: ${answer.message}` }
    const rows = [{ requestId, state: 'refused' as const, outcome }]
    await asOwner(deps, sessionId, actor, (owner) =>
      deps.store.settleInbox({ sessionId, actor: owner, rows }),
    )
  }
}

const isAnswer = (error: unknown): error is SessionError =>
  isSessionError(error) && !NO_ANSWER.has(error.name)

/** A failure that nobody foresaw may pass by itself; one that lasts must not stop the session for the sake of one request. */
function lastAnswer(error: unknown, { requestId, body }: InboxRow): SessionError | undefined {
  const { attempt } = Context.current().info
  if (isSessionError(error) || error instanceof TemporalFailure || attempt < ATTEMPTS_OF_UNKNOWN)
    return undefined
  const { kind = 'request' } = (body ?? {}) as { kind?: string }
  const message = error instanceof Error ? error.message : String(error)
  return new SessionError(
    'InvalidInput',
    `${kind} failed each time: ${message}. Nothing was changed by ${requestId}; look at the worker's log, and ask again with a new request.`,
  )
}

function decide(deps: ActivityDeps, session: SessionRow, { requestId, body }: InboxRow): Promise<Decided> {
  const parsed = controlRequestSchema.safeParse(body)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new SessionError('InvalidInput', `${requestId} is no request of this release: ${issue?.message}.`)
  }
  const request: ControlRequest = parsed.data
  switch (request.kind) {
    case 'pin':
      return pinned(deps, session, requestId, request)
    case 'unpin':
      return unpinned(deps, session, requestId, request)
    case 'undo':
      return undone(deps, session, request)
    case 'configure':
      return configured(deps, session, requestId, request)
  }
}

async function write(
  deps: ActivityDeps,
  actor: Actor,
  { sessionId, requestId }: InboxRow,
  { event, head, outcome }: Decided,
): Promise<void> {
  const { store } = deps
  await asOwner(deps, sessionId, actor, async (owner) => {
    const by = { sessionId, actor: owner }
    if (event === null) return store.settleInbox({ ...by, rows: [{ requestId, state: 'done', outcome }] })
    const settles = [{ requestId, outcome: { seq: head, ...outcome } }]
    await store.append({ ...by, turn: null, events: [event], expectedHead: head, settles })
  })
}
