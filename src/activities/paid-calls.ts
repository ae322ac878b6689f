import { SessionError } from '../shared/errors.ts'
import type { ModelClient, ModelReply, ModelRequest } from '../shared/ports/model.ts'
import type { Actor } from '../shared/ports/store.ts'
import type { PaidCalls } from '../shared/ports/summarizer.ts'
import type { Paid } from '../shared/protocol.ts'
import type { NewEvent, RefusalReason, SessionEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { wellFormed } from '../shared/session/well-formed.ts'
import { askModel } from './ask-model.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner } from './owner.ts'
import { addUsage, NO_USAGE } from './paid.ts'
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

/** The calls of one attempt: each is looked up in the log before it is paid, and recorded right after. `spent` is what this run of the activity paid. */
export function paidCalls(calls: AttemptCalls): PaidCalls & { readonly spent: () => Paid } {
  let spent: Paid = { calls: 0, reused: 0, usage: NO_USAGE }
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
      const reply = await pay(calls, call)
      spent = { ...spent, calls: spent.calls + 1, usage: addUsage(spent.usage, reply.usage ?? NO_USAGE) }
      return record(calls, index, call, reply)
    },
  }
}

const pay = ({ deps, signal }: AttemptCalls, { request }: Call): Promise<ModelReply> =>
  askModel(clientOf(deps, request), request, { signal })

function clientOf(deps: ActivityDeps, request: ModelRequest): ModelClient {
  const client = deps.models[request.provider]
  if (client === undefined)
    throw new SessionError(
      'UnknownModel',
      `No worker of this task queue has the provider ${JSON.stringify(request.provider)} of the summarizer.`,
    )
  return client
}

async function record(calls: AttemptCalls, index: number, call: Call, reply: ModelReply): Promise<Called> {
  const { deps, sessionId, compactionId, turn, actor, requestHead } = calls
  const refusedBecause = call.judge(reply)
  const event: NewEvent<'compact/call'> = {
    key: keys.compactCall(compactionId, index),
    type: 'compact/call',
    turn,
    step: null,
    data: {
      compactionId,
      index,
      purpose: call.purpose,
      provider: call.request.provider,
      model: reply.model ?? call.request.model,
      maxTokens: call.request.maxTokens,
      stopReason: reply.stopReason,
      rawOutput: [...wellFormed(reply.content)],
      ...(reply.usage === null ? {} : { usage: reply.usage }),
      accepted: refusedBecause === null,
      ...(refusedBecause === null ? {} : { refusedBecause }),
      requestHead,
    },
    tokens: 0,
  }
  const recorded = await writePaid(() =>
    asOwner(deps, sessionId, actor, (owner) =>
      deps.store.recordCall({ sessionId, actor: owner, compactionId, complete: true, event, index }),
    ),
  )
  return { ...fromStore(recorded), fromStore: false }
}

function fromStore(event: SessionEvent<'compact/call'>): Called {
  const { rawOutput, stopReason, usage, model, accepted, refusedBecause } = event.data
  return {
    reply: { content: rawOutput ?? [], stopReason, usage: usage ?? null, model },
    accepted,
    ...(refusedBecause === undefined ? {} : { refusedBecause: refusedBecause satisfies RefusalReason }),
    fromStore: true,
  }
}
