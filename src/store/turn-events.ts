import type { PricedMessage } from '../shared/ports/store.ts'
import type { EventFacts } from '../shared/session/event-facts.ts'
import type { EventType, NewEvent, TurnEndReason } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import type { LogControl } from '../shared/session/log-control.ts'
import { interruptedResult, type OpenCall } from '../shared/session/repair.ts'

/** The events that open a turn: its start, then its messages. */
export function turnStartEvents(
  turn: number,
  requestId: string,
  messages: readonly PricedMessage[],
): NewEvent[] {
  const start: NewEvent = {
    key: keys.turnStart(requestId),
    type: 'turn/start',
    turn,
    step: null,
    data: { turn, requestId },
    tokens: 0,
  }
  return [start, ...messages.map((message) => userMessage(turn, message))]
}

function userMessage(turn: number, { requestId, content, source, tokens }: PricedMessage): NewEvent {
  return {
    key: keys.prompt(requestId),
    type: 'user/message',
    turn,
    step: null,
    data: { content: [...content], source, ...(source === 'prompt' ? { requestId } : {}) },
    tokens,
    surfaceOp: 'append',
  }
}

export interface TurnEnd {
  readonly turn: number
  readonly reason: TurnEndReason
  readonly message?: string
  readonly code?: string
}

/** What ends a turn: results of its open calls, the end of its step, its own end. */
export function turnEndEvents(
  { openStep }: LogControl,
  { turn, reason, message, code }: TurnEnd,
  calls: readonly OpenCall[],
): NewEvent[] {
  // A call whose step has ended is answered outside of it.
  const results = calls.map((call) => ({
    ...interruptedResult(call),
    step: call.step === openStep ? openStep : null,
  }))
  const stepEnd: NewEvent[] =
    openStep === null
      ? []
      : [
          {
            key: keys.stepEnd(turn, openStep),
            type: 'step/end',
            turn,
            step: openStep,
            data: { turn, step: openStep },
            tokens: 0,
          },
        ]
  const end: NewEvent = {
    key: keys.turnEnd(turn),
    type: 'turn/end',
    turn,
    step: null,
    data: {
      turn,
      reason,
      ...(message === undefined ? {} : { message }),
      ...(code === undefined ? {} : { code }),
    },
    tokens: 0,
  }
  return [...results, ...stepEnd, end]
}

/** A message of a turn without its body. */
export interface TurnMessage {
  readonly type: EventType
  readonly step: number | null
  readonly facts: EventFacts | null
  readonly onSurface: boolean
}

/**
 * The calls of a turn that wait for their results: of its newest reply, while that is on the surface. An older reply's call without a result gets none any
 * more: a result far behind its call would bind all that stands between into one unit.
 */
export function openCalls(turn: number, messages: readonly TurnMessage[]): OpenCall[] {
  const newest = messages.findLastIndex((message) => message.type === 'assistant/message')
  const reply = messages[newest]
  if (reply?.facts === null || reply === undefined || !('calls' in reply.facts) || !reply.onSurface) return []
  const answered = new Set(messages.slice(newest).flatMap(({ facts }) => answersOf(facts)))
  return reply.facts.calls
    .filter(({ callId }) => !answered.has(callId))
    .map(({ callId, name }) => ({ callId, name, turn, step: reply.step ?? 0 }))
}

function answersOf(facts: EventFacts | null): readonly string[] {
  if (facts === null) return []
  if ('answers' in facts) return facts.answers ?? []
  return 'callId' in facts ? [facts.callId] : []
}
