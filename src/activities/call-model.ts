import { cancellationSignal } from '@temporalio/activity'
import type { z } from 'zod'
import type { callModelInputSchema, callModelResultSchema } from '../shared/activity-protocol.ts'
import { planMicro } from '../shared/compaction/micro.ts'
import { shadowEvents } from '../shared/compaction/prune.ts'
import { isSessionError, SessionError } from '../shared/errors.ts'
import { ContextOverflowError, type ModelReply, type ModelRequest } from '../shared/ports/model.ts'
import type { Actor, SessionRow, SurfaceSnapshot } from '../shared/ports/store.ts'
import type { ContentBlock } from '../shared/session/content.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { priceContent } from '../shared/tokens/price.ts'
import { askModel } from './ask-model.ts'
import type { ActivityDeps } from './deps.ts'
import { landReply, recordedReply } from './land-reply.ts'
import { liveText } from './live-text.ts'
import { asOwner, callingRun } from './owner.ts'
import { countReplies, loadMeter, loadSession, readingOf } from './session-view.ts'
import { turnRequest } from './turn-request.ts'

export type CallModelInput = z.infer<typeof callModelInputSchema>
export type CallModelResult = z.infer<typeof callModelResultSchema>

/** Planning against a moving log: messages that belong to no turn may land meanwhile. */
const MAX_PLANS = 8

/**
 * One model request of a turn: opens the step, joins `next-step` prompts, runs the micro pass, refuses what is known not to fit, calls the
 * model and lands its reply. A reply that an earlier attempt recorded is returned unpaid.
 *
 * @throws SessionError `ContextOverflow` {generation}, `ModelFailed`, `TurnClosed`, `Fenced`
 */
export async function callModel(deps: ActivityDeps, input: CallModelInput): Promise<CallModelResult> {
  const { sessionId, turn, step } = input
  const actor = callingRun()
  const recorded = await recordedReply(deps, input)
  if (recorded !== null) return recorded
  await openStep(deps, input, actor)
  await joinPrompts(deps, input, actor)
  const surface = await microPass(deps, input, actor)
  const [session, replies] = await Promise.all([loadSession(deps, sessionId), countReplies(deps, sessionId)])
  const refusal = await preflight(deps, session, surface, replies)
  if (refusal !== null) return refusal
  const request = turnRequest(sessionId, session.header, surface.nodes, replies)
  const reply = await generate(deps, request, surface, keys.assistant(turn, step))
  return landReply(deps, { input, actor, session, surface, request, reply })
}

/** @throws SessionError `TurnClosed`: the turn has ended, so nobody may be paid for it. */
async function openStep(
  deps: ActivityDeps,
  { sessionId, turn, step }: CallModelInput,
  actor: Actor,
): Promise<void> {
  const start: NewEvent = {
    key: keys.stepStart(turn, step),
    type: 'step/start',
    turn,
    step,
    data: { turn, step },
    tokens: 0,
  }
  const previous = step - 1
  const end: NewEvent = {
    key: keys.stepEnd(turn, previous),
    type: 'step/end',
    turn,
    step: previous,
    data: { turn, step: previous },
    tokens: 0,
  }
  const write = (events: readonly NewEvent[]) =>
    asOwner(deps, sessionId, actor, (owner) => deps.store.append({ sessionId, actor: owner, turn, events }))
  const written = await write(previous === 0 ? [start] : [end, start])
  // The end of a turn also ends its step: then the batch is known, and its start is not written.
  if (written.events.every((event) => event.key !== start.key)) await write([start])
}

async function joinPrompts(
  deps: ActivityDeps,
  { sessionId, turn, step }: CallModelInput,
  actor: Actor,
): Promise<void> {
  const waiting = await deps.store.inbox(sessionId, { kind: 'prompt', state: 'waiting' })
  for (const row of waiting.filter((candidate) => candidate.delivery === 'next-step')) {
    const content = row.body as readonly ContentBlock[]
    const event: NewEvent<'user/message'> = {
      key: keys.prompt(row.requestId),
      type: 'user/message',
      turn,
      step,
      data: { content: [...content], source: 'prompt', requestId: row.requestId },
      tokens: priceContent(content),
      surfaceOp: 'append',
    }
    await asOwner(deps, sessionId, actor, (owner) =>
      deps.store.append({ sessionId, actor: owner, turn, events: [event], consumes: [row.requestId] }),
    )
  }
}

/** The silent level: old results become a placeholder when that frees enough. Returns the surface that the request is made of. */
async function microPass(
  deps: ActivityDeps,
  { sessionId, turn, step }: CallModelInput,
  actor: Actor,
): Promise<SurfaceSnapshot> {
  const { policy } = (await loadSession(deps, sessionId)).header
  for (let plans = 0; ; plans++) {
    const surface = await deps.store.surface(sessionId)
    const copies = planMicro(surface.nodes, policy)
    if (copies.length === 0) return surface
    const events = copies.flatMap((copy) => shadowEvents(copy, priceContent(copy.content), { turn, step }))
    try {
      await asOwner(deps, sessionId, actor, (owner) =>
        deps.store.append({ sessionId, actor: owner, turn, events, expectedHead: surface.head }),
      )
    } catch (error) {
      if (!isSessionError(error, 'HeadMoved') || plans >= MAX_PLANS) throw error
    }
  }
}

/** O2: a request that is known not to fit is never sent. */
async function preflight(
  deps: ActivityDeps,
  session: SessionRow,
  snapshot: SurfaceSnapshot,
  replies: number,
): Promise<CallModelResult | null> {
  const { header } = session
  const { contextWindow, replyMaxTokens } = header.policy
  if (contextWindow === null) return null
  const reading = readingOf({
    header,
    snapshot,
    meter: await loadMeter(deps, session),
    replies,
    nowMs: deps.clock(),
  })
  const needed = reading.tokens + replyMaxTokens
  if (needed <= contextWindow) return null
  const message = `The next request needs about ${reading.tokens} tokens and ${replyMaxTokens} for the reply; the window of ${header.provider}/${header.model} is ${contextWindow}.`
  return { kind: 'needs-compaction', reading, message }
}

async function generate(
  deps: ActivityDeps,
  request: ModelRequest,
  surface: SurfaceSnapshot,
  key: string,
): Promise<ModelReply> {
  const client = deps.models[request.provider]
  if (client === undefined)
    throw new SessionError(
      'UnknownModel',
      `No worker of this task queue has the provider ${JSON.stringify(request.provider)}.`,
    )
  const live = liveText(deps, request.sessionId, key)
  try {
    return await askModel(client, request, { signal: cancellationSignal(), onDelta: live.add })
  } catch (error) {
    if (error instanceof ContextOverflowError) {
      throw new SessionError('ContextOverflow', error.message, { generation: surface.generation })
    }
    throw error
  } finally {
    await live.end()
  }
}
