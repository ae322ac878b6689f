import { SessionError } from '../shared/errors.ts'
import type { ModelClient, ModelReply, ModelRequest } from '../shared/ports/model.ts'
import type { Actor } from '../shared/ports/store.ts'
import type { PaidCalls } from '../shared/ports/summarizer.ts'
import type { Paid } from '../shared/protocol.ts'
import { canonicalJson } from '../shared/session/canonical-json.ts'
import type { EventData, NewEvent, RefusalReason, SessionEvent, Usage } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { wellFormed } from '../shared/session/well-formed.ts'
import { addUsage, NO_USAGE } from '../shared/usage/ledger.ts'
import { countedCall, type LostCall } from './counted-call.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner } from './owner.ts'
import { writePaid } from './write-paid.ts'

interface AttemptCalls {
  readonly deps: ActivityDeps
  readonly sessionId: string
  readonly compactionId: string
  readonly turn: number | null
  readonly actor: Actor
  readonly signal: AbortSignal
  /** Head of the log that the requests are made of. */
  readonly requestHead: number
}

type Call = Parameters<PaidCalls['call']>[1]
type Called = Awaited<ReturnType<PaidCalls['call']>>
/** What is written of a call besides what was asked. */
type Answer = Pick<EventData<'compact/call'>, 'stopReason' | 'accepted'> & Partial<EventData<'compact/call'>>

/** The calls of one attempt: each is looked up in the log before it is paid, and recorded right after. `spent` is what this run of the activity paid. */
export function paidCalls(calls: AttemptCalls): PaidCalls & { readonly spent: () => Paid } {
  let spent: Paid = { calls: 0, reused: 0, usage: NO_USAGE }
  const spend = (usage: Usage | null | undefined) => {
    spent = { ...spent, calls: spent.calls + 1, usage: addUsage(spent.usage, usage ?? NO_USAGE) }
  }
  return {
    spent: () => spent,
    async call(index, call) {
      const stored = await calls.deps.store.eventByKey(
        calls.sessionId,
        keys.compactCall(calls.compactionId, index),
      )
      if (stored?.type === 'compact/call') {
        spent = { ...spent, reused: spent.reused + 1 }
        return fromStore(stored)
      }
      const { request } = call
      const called = { client: clientOf(calls.deps, request), clock: calls.deps.clock }
      const context = { signal: calls.signal }
      const reply = await countedCall(called, request, context, (lost) => {
        spend(lost.usage)
        return recordLost(calls, index, call, lost)
      })
      spend(reply.usage)
      return record(calls, index, call, reply)
    },
  }
}

function clientOf(deps: ActivityDeps, request: ModelRequest): ModelClient {
  const client = deps.models[request.provider]
  if (client === undefined)
    throw new SessionError(
      'UnknownModel',
      `No worker of this task queue has the provider ${JSON.stringify(request.provider)} of the summarizer.`,
    )
  return client
}

/** The first complete response of a call stands; another, that two workers paid at the same time, is kept as lost. */
async function record(calls: AttemptCalls, index: number, call: Call, reply: ModelReply): Promise<Called> {
  const refusedBecause = call.judge(reply)
  const event = callEvent(calls, index, call, {
    model: reply.model ?? call.request.model,
    stopReason: reply.stopReason,
    rawOutput: [...wellFormed(reply.content)],
    ...(reply.usage === null ? {} : { usage: reply.usage }),
    accepted: refusedBecause === null,
    ...(refusedBecause === null ? {} : { refusedBecause }),
  })
  const recorded = await write(calls, index, event, true)
  if (canonicalJson(recorded.data) !== canonicalJson(event.data)) await write(calls, index, event, false)
  return { ...fromStore(recorded), fromStore: false }
}

const recordLost = (calls: AttemptCalls, index: number, call: Call, { why, usage }: LostCall) =>
  write(
    calls,
    index,
    callEvent(calls, index, call, {
      stopReason: why,
      accepted: false,
      ...(usage === undefined ? {} : { usage }),
    }),
    false,
  )

function callEvent(
  { compactionId, turn, requestHead }: AttemptCalls,
  index: number,
  { purpose, request }: Call,
  answer: Answer,
): NewEvent<'compact/call'> {
  const { provider, model, maxTokens } = request
  return {
    key: keys.compactCall(compactionId, index),
    type: 'compact/call',
    turn,
    step: null,
    data: { compactionId, index, purpose, provider, model, maxTokens, ...answer, requestHead },
    tokens: 0,
  }
}

const write = (
  { deps, sessionId, compactionId, actor }: AttemptCalls,
  index: number,
  event: NewEvent<'compact/call'>,
  complete: boolean,
): Promise<SessionEvent<'compact/call'>> =>
  writePaid(() =>
    asOwner(deps, sessionId, actor, (owner) =>
      deps.store.recordCall({ sessionId, actor: owner, compactionId, complete, event, index }),
    ),
  )

function fromStore(event: SessionEvent<'compact/call'>): Called {
  const { rawOutput, stopReason, usage, model, accepted, refusedBecause } = event.data
  return {
    reply: { content: rawOutput ?? [], stopReason, usage: usage ?? null, model },
    accepted,
    ...(refusedBecause === undefined ? {} : { refusedBecause: refusedBecause satisfies RefusalReason }),
    fromStore: true,
  }
}
