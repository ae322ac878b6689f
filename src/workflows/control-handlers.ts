import { setHandler } from '@temporalio/workflow'
import type { z } from 'zod'
import {
  type ControlRequest,
  configureSchema,
  controlRequestSchema,
  type NamedControl,
  pinSchema,
  undoSchema,
  unpinSchema,
} from '../shared/control-protocol.ts'
import { problemOf, type Receipt, SIGNALS } from '../shared/protocol.ts'
import { configureUpdate, undoCompactionUpdate } from './messages.ts'
import type { Refusal } from './prompt-queue.ts'
import { assertAccepted, closingRefusal, nextAutoId, onSignal } from './session-handlers.ts'
import type { SessionState } from './session-state.ts'

// What a person does to a session beside prompting and compacting. As every handler: synchronous, only enqueues.

type Message = { readonly requestId?: string | undefined }
type Kind = ControlRequest['kind']

export function registerControlHandlers(session: SessionState): void {
  onSignal(session, SIGNALS.pin, pinSchema, (message) => offer(session, 'pin', message))
  onSignal(session, SIGNALS.unpin, unpinSchema, (message) => offer(session, 'unpin', message))
  setHandler(undoCompactionUpdate, (message) => submit(session, 'undo', message), {
    validator: validator(session, 'undo', undoSchema),
  })
  setHandler(configureUpdate, (message) => submit(session, 'configure', message), {
    validator: validator(session, 'configure', configureSchema),
  })
}

function offer(session: SessionState, kind: Kind, message: Message): Refusal | undefined {
  const body = bodyOf(kind, message)
  if (body === undefined && message.requestId === undefined) {
    const why = `${kind}: is empty; name what to do, or the requestId of a request that waits in the inbox`
    return { error: 'InvalidInput', why }
  }
  const refusal = refusalOf(session, kind, { requestId: message.requestId ?? '', body })
  if (refusal === undefined)
    session.controls.add({ requestId: message.requestId ?? nextAutoId(session, message), body })
  return refusal
}

function submit(session: SessionState, kind: Kind, message: Message): Receipt {
  session.messages++
  const { requestId = '' } = message
  const body = bodyOf(kind, message)
  return { requestId, status: session.controls.add({ requestId, body }), stored: body === undefined }
}

const validator =
  <T extends Message>(session: SessionState, kind: Kind, schema: z.ZodType<T>) =>
  (message: T): void =>
    assertAccepted(schema, message, kind, (named) =>
      refusalOf(session, kind, { requestId: named.requestId, body: bodyOf(kind, named) }),
    )

function refusalOf(session: SessionState, kind: Kind, named: NamedControl): Refusal | undefined {
  if (session.closing !== null) return closingRefusal(kind)
  const { body } = named
  const problem = body === undefined ? undefined : problemOf(controlRequestSchema, body, kind)
  if (problem !== undefined) return { error: 'InvalidInput', why: problem }
  return session.controls.refusal(named)
}

/** Undefined for a message that holds nothing but an id: its body waits in the inbox. */
function bodyOf(kind: Kind, { requestId: _, ...fields }: Message): ControlRequest | undefined {
  const isEmpty = Object.values(fields).every((value) => value === undefined)
  return isEmpty ? undefined : ({ kind, ...fields } as ControlRequest)
}
