import { Context } from '@temporalio/activity'
import type { AnyUsage, StepResult } from '../../shared/own-protocol.ts'
import type { SessionStore } from '../../shared/ports/store.ts'
import type { Reading } from '../../shared/protocol.ts'
import type { Message } from '../../shared/session/content.ts'
import type { TurnEndReason } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import { asCallers, type MessageLike, plainContent } from '../../shared/session/plain-messages.ts'
import type { ActivityDeps } from '../deps.ts'
import { endTurn as endTurnOf } from '../end-turn.ts'
import { toFailure } from '../failures.ts'
import { startTurn as startTurnOf } from '../start-turn.ts'
import { temporalRuns } from '../workflow-runs.ts'
import { appendToStep } from './session-append.ts'
import { requestMessages } from './session-request.ts'

// For activities of one's own, in the log mode of `compactionHooks`. Each acts for the workflow run that called the activity: one that does not own the session
// is refused as `Fenced`. Failures are typed and final, except `StoreUnavailable`.

/** A message of a step, with what its call cost: in our names, or as the Messages API reports it. */
export interface Entry<M extends MessageLike = Message> {
  readonly message: M
  readonly usage?: AnyUsage | null
  /** Default `tool_use` for a reply with calls, else `end_turn`. */
  readonly stopReason?: string | null
}

interface StepPosition {
  readonly turn: number
  readonly step: number
}

/**
 * Opens the turn of a prompt, or finds it: the same `requestId` is the same turn. The workflow must have opened the session (`hooks.open()`).
 *
 * @returns the number of the turn, the step to do next, and the reading for `preStep`
 * @throws ApplicationFailure `LogRejected` while another turn is open, `KeyConflict` for another message under this id, `InvalidInput`, `SessionNotFound`, `Fenced`
 */
export async function startTurn(
  store: SessionStore,
  sessionId: string,
  { requestId, message }: { readonly requestId: string; readonly message: MessageLike | string },
): Promise<{ turn: number; step: number; status: 'new' | 'resumed' | 'ended'; reading: Reading }> {
  const content = typeof message === 'string' ? message : [...plainContent(message.content)]
  return acting(store, async (deps) => {
    const started = await startTurnOf(deps, { v: 1, sessionId, requestId, message: content })
    const { turn, step, status, reading } = started
    return { turn, step, status, reading }
  })
}

/**
 * The messages of a step's request, as the Messages API takes them. With `recorded` there are none: the step's reply was paid for by an earlier attempt, and
 * `recorded` is what its `appendMessages` returned. Cost: the bodies of the surface.
 *
 * @throws ApplicationFailure `ContextOverflow` for a request that is known not to fit, which `requestError` takes; `TurnClosed`, `Fenced`
 */
export async function sessionRequest<M extends MessageLike = Message>(
  store: SessionStore,
  sessionId: string,
  { turn, step }: StepPosition,
): Promise<{ messages: M[]; generation: number; recorded?: StepResult | undefined }> {
  return acting(store, async (deps) => {
    const { messages, ...rest } = await requestMessages(deps, { v: 1, sessionId, turn, step })
    return { ...rest, messages: asCallers<M>(messages) }
  })
}

/**
 * Appends messages of a step: its reply, then the results of its calls, one at a time or together, from the same activity or from others. The first write wins; a retry
 * gets what is recorded. A result over the policy's `toolResultMaxTokens` is cut, and the whole stays in the log.
 *
 * @throws ApplicationFailure `TurnClosed`, `InvalidInput`, `Fenced`
 */
export async function appendMessages(
  store: SessionStore,
  sessionId: string,
  { turn, step, entries }: StepPosition & { readonly entries: readonly Entry<MessageLike>[] },
): Promise<StepResult> {
  const plain = entries.map(({ message, ...rest }) => ({
    ...rest,
    message: { role: message.role, content: [...plainContent(message.content)] },
  }))
  return acting(store, (deps) => appendToStep(deps, { v: 1, sessionId, turn, step, entries: plain }))
}

/** The reply of a step, null before it is recorded: for an activity that runs one of its calls. */
export async function recordedReply<M extends MessageLike = Message>(
  store: SessionStore,
  sessionId: string,
  { turn, step }: StepPosition,
): Promise<M | null> {
  const event = await store.eventByKey(sessionId, keys.assistant(turn, step))
  if (event?.type !== 'assistant/message') return null
  const [message = null] = asCallers<M>([{ role: 'assistant', content: event.data.content }])
  return message
}

/** Ends the turn; calls without a result get one that says so. Ending it again changes nothing. */
export async function endTurn(
  store: SessionStore,
  sessionId: string,
  {
    turn,
    reason,
    message,
  }: { readonly turn: number; readonly reason: TurnEndReason; readonly message?: string },
): Promise<{ reading: Reading }> {
  return acting(store, (deps) =>
    endTurnOf(deps, { v: 1, sessionId, turn, reason, ...(message === undefined ? {} : { message }) }),
  )
}

async function acting<T>(store: SessionStore, work: (deps: ActivityDeps) => Promise<T>): Promise<T> {
  const { client } = Context.current()
  const runs = temporalRuns(client)
  try {
    return await work({ store, runs, models: {}, tools: [], cluster: '', clock: Date.now })
  } catch (error) {
    throw toFailure(error)
  }
}
