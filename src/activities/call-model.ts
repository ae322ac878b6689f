import { cancellationSignal } from '@temporalio/activity'
import type { z } from 'zod'
import type { callModelInputSchema, callModelResultSchema } from '../shared/activity-protocol.ts'
import { SessionError } from '../shared/errors.ts'
import { ContextOverflowError, type ModelReply, type ModelRequest } from '../shared/ports/model.ts'
import type { Actor, SurfaceSnapshot } from '../shared/ports/store.ts'
import type { ContentBlock } from '../shared/session/content.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { priceContent } from '../shared/tokens/price.ts'
import { announce } from './announce.ts'
import { askModel } from './ask-model.ts'
import type { ActivityDeps } from './deps.ts'
import { landReply, recordedReply } from './land-reply.ts'
import { liveText } from './live-text.ts'
import { microPass } from './micro-pass.ts'
import { openStep } from './open-step.ts'
import { asOwner, callingRun } from './owner.ts'
import { preflight } from './preflight.ts'
import { countReplies, loadSession } from './session-view.ts'
import { tellCompactOutcome } from './tell-compact-outcome.ts'
import { turnRequest } from './turn-request.ts'

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
  const request = turnRequest(sessionId, session.header, surface.nodes, replies)
  const refusal = await preflight(deps, { session, surface, request, turn })
  if (refusal !== null) return { kind: 'needs-compaction', ...refusal }
  const reply = await generate(deps, request, surface, keys.assistant(turn, step))
  return landReply(deps, { input, actor, session, surface, request, reply })
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
  const signal = cancellationSignal()
  const live = liveText(deps, request.sessionId, key)
  try {
    const reply = await askModel(client, request, { signal, onDelta: live.add })
    await live.end({ keep: false })
    return reply
  } catch (error) {
    await live.end({ keep: !signal.aborted }) // After a cancel the turn's end keeps what stands there.
    if (error instanceof ContextOverflowError) {
      throw new SessionError('ContextOverflow', error.message, {
        ...error.named,
        generation: surface.generation,
      })
    }
    throw error
  }
}
