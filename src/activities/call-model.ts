import { cancellationSignal } from '@temporalio/activity'
import type { z } from 'zod'
import type { callModelInputSchema, callModelResultSchema } from '../shared/activity-protocol.ts'
import { planMediaRelief } from '../shared/compaction/media.ts'
import { isCompactionVain } from '../shared/compaction/shorter-reply.ts'
import { SessionError } from '../shared/errors.ts'
import {
  ContextOverflowError,
  type ModelReply,
  type ModelRequest,
  RefusedMediaError,
} from '../shared/ports/model.ts'
import type { Actor, SessionRow, SurfaceSnapshot } from '../shared/ports/store.ts'
import type { ContentBlock } from '../shared/session/content.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { priceContent } from '../shared/tokens/price.ts'
import { announce } from './announce.ts'
import { countedCall } from './counted-call.ts'
import type { ActivityDeps } from './deps.ts'
import { landReply, recordedReply } from './land-reply.ts'
import { liveText } from './live-text.ts'
import { MOST_MEDIA_PASSES, mediaPass, mediaRemedy } from './media-pass.ts'
import { microPass } from './micro-pass.ts'
import { openStep } from './open-step.ts'
import { asOwner, callingRun } from './owner.ts'
import { preflight, type Refusal } from './preflight.ts'
import { recordLost } from './record-lost.ts'
import { countReplies, loadSession } from './session-view.ts'
import { tellCompactOutcome } from './tell-compact-outcome.ts'
import { byteRelief } from './too-many-bytes.ts'
import { turnRequest } from './turn-request.ts'
import { writeNotice } from './write-notice.ts'

export type CallModelInput = z.infer<typeof callModelInputSchema>
export type CallModelResult = z.infer<typeof callModelResultSchema>

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
  await tellCompactOutcome(deps, input, actor)
  await joinPrompts(deps, input, actor)
  const surface = await microPass(deps, input, actor)
  const [session, replies] = await Promise.all([loadSession(deps, sessionId), countReplies(deps, sessionId)])
  await announce(deps, { turn, step, actor, session, surface, replies })
  const sending = { deps, input, actor, session, replies }
  const fitting = await withinBytes(sending, surface)
  const refusal = await preflight(deps, { ...requestOf(sending, fitting), session, turn })
  const maxTokens = refusal === null ? undefined : replyWithout(refusal, sending)
  if (refusal !== null && maxTokens === undefined) return needsCompaction(refusal)
  if (refusal !== null && maxTokens !== undefined) await tellShortReply(sending, refusal, maxTokens)
  const sent = await sendWithoutRefusedMedia({ ...sending, maxTokens }, fitting)
  return landReply(deps, { input, actor, session, ...sent })
}

interface Sending {
  readonly deps: ActivityDeps
  readonly input: CallModelInput
  readonly actor: Actor
  readonly session: SessionRow
  readonly replies: number
  /** Of a reply that must be shorter than the policy's. */
  readonly maxTokens?: number | undefined
}

const requestOf = ({ input, session, replies, maxTokens }: Sending, surface: SurfaceSnapshot) => ({
  surface,
  request: turnRequest(input.sessionId, session.header, surface.nodes, replies, maxTokens),
})

/** `max_tokens` of a reply that goes without a compaction, where none would be made or none would help; undefined: one must come first. */
function replyWithout({ reading, shorterReply }: Refusal, { input, session }: Sending): number | undefined {
  const isTaken = input.shortReply || isCompactionVain(reading, session.header)
  return shorterReply !== null && isTaken ? shorterReply : undefined
}

const needsCompaction = ({ reading, message, shorterReply }: Refusal): CallModelResult => ({
  kind: 'needs-compaction',
  reading,
  message,
  ...(shorterReply === null ? {} : { fitsShorter: true }),
})

/** A reply that is cut off for it ends its turn as `max-tokens`: people are told why, once a turn. */
async function tellShortReply(
  { deps, input, actor, session }: Sending,
  { reading }: Refusal,
  maxTokens: number,
): Promise<void> {
  const { contextWindow, replyMaxTokens } = session.header.policy
  await writeNotice(deps, {
    sessionId: input.sessionId,
    actor,
    turn: input.turn,
    id: `short-reply.${input.turn}`,
    code: 'short-reply',
    message: `The context has about ${reading.tokens} tokens of a window of ${contextWindow}, so the reply may have ${maxTokens} tokens instead of ${replyMaxTokens}. Compact the session, or use a model with a larger window.`,
  })
}

/** The surface without its oldest images and documents, as far as the request has too many bytes. */
async function withinBytes(sending: Sending, surface: SurfaceSnapshot): Promise<SurfaceSnapshot> {
  const { deps, input, actor } = sending
  const { request } = requestOf(sending, surface)
  const relief = byteRelief(request, deps.models[request.provider])
  return relief === null
    ? surface
    : mediaPass(deps, input, actor, (nodes, tool) => planMediaRelief(nodes, relief, tool))
}

/** Asks the model; what it refuses because of images and documents is asked again without those. */
async function sendWithoutRefusedMedia(
  sending: Sending,
  first: SurfaceSnapshot,
): Promise<{ surface: SurfaceSnapshot; request: ModelRequest; reply: ModelReply }> {
  const { deps, input, actor } = sending
  for (let surface = first, passes = 0; ; passes++) {
    const { request } = requestOf(sending, surface)
    try {
      return { surface, request, reply: await generate(sending, request) }
    } catch (error) {
      const plan = passes < MOST_MEDIA_PASSES ? mediaRemedy(error, request) : null
      const relieved = plan === null ? surface : await mediaPass(deps, input, actor, plan)
      if (relieved.generation === surface.generation) throw asFailure(error, surface)
      surface = relieved
    }
  }
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

async function generate({ deps, input, actor }: Sending, request: ModelRequest): Promise<ModelReply> {
  const client = deps.models[request.provider]
  if (client === undefined)
    throw new SessionError(
      'UnknownModel',
      `No worker of this task queue has the provider ${JSON.stringify(request.provider)}.`,
    )
  const called = { client, clock: deps.clock }
  const signal = cancellationSignal()
  const live = liveText(deps, input.sessionId, keys.assistant(input.turn, input.step))
  // After a cancel the turn's end keeps what stands there.
  const endLive = () => live.end({ keep: !signal.aborted })
  try {
    const reply = await countedCall(called, request, { signal, onDelta: live.add }, async (lost) => {
      await endLive()
      await recordLost(deps, input, actor, request, lost)
    })
    await live.end({ keep: false })
    return reply
  } catch (error) {
    await endLive()
    throw error
  }
}

function asFailure(error: unknown, { generation }: SurfaceSnapshot): unknown {
  if (error instanceof ContextOverflowError)
    return new SessionError('ContextOverflow', error.message, { ...error.named, generation })
  return error instanceof RefusedMediaError ? new SessionError('ModelFailed', error.message) : error
}
