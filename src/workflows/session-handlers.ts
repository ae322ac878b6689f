import { ApplicationFailure, log, setHandler, workflowInfo } from '@temporalio/workflow'
import type { z } from 'zod'
import {
  type CloseRequest,
  type CompactionRequest,
  closeSchema,
  compactionRequestSchema,
  type PromptMessage,
  problemOf,
  promptMessageSchema,
  type Receipt,
  SIGNALS,
  type WhenBusy,
} from '../shared/protocol.ts'
import type { NamedRequest } from './compaction-queue.ts'
import { autoId } from './message-ids.ts'
import {
  compactionHistoryQuery,
  contextReadingQuery,
  sessionStateQuery,
  submitCompactionUpdate,
  submitPromptUpdate,
} from './messages.ts'
import type { NamedPrompt, Refusal } from './prompt-queue.ts'
import type { SessionState } from './session-state.ts'
import { readSignal, undecodedSignal } from './signal-input.ts'

// Handlers are synchronous, only put into the session's state, and never throw: the loop does the work. What they accept decides the commands of a
// replay: once histories are kept, a change of their checks or of a schema of theirs needs `patched()`.

export function registerHandlers(session: SessionState): void {
  setHandler(sessionStateQuery, () => session.view())
  setHandler(compactionHistoryQuery, () => [...session.history.records].reverse())
  setHandler(contextReadingQuery, () => session.reading)
  onSignal(session, SIGNALS.prompt, promptMessageSchema, (message) => offerPrompt(session, message))
  onSignal(session, SIGNALS.requestCompaction, compactionRequestSchema, (request) =>
    offerCompaction(session, request),
  )
  onSignal(session, SIGNALS.close, closeSchema, (message) => close(session, message))
  setHandler(submitPromptUpdate, (message) => submitPrompt(session, message), {
    validator: (message) =>
      assertAccepted(promptMessageSchema, message, 'prompt', (named) => promptRefusal(session, named)),
  })
  setHandler(submitCompactionUpdate, (request) => submitCompaction(session, request), {
    validator: (request) =>
      assertAccepted(compactionRequestSchema, request, 'compaction', (named) =>
        compactionRefusal(session, named, 'refuse'),
      ),
  })
}

export function onSignal<T>(
  session: SessionState,
  name: string,
  schema: z.ZodType<T>,
  take: (message: T) => Refusal | undefined,
): void {
  setHandler(undecodedSignal(name), (raw) => {
    session.messages++
    const input = readSignal(raw, schema, name)
    const problem = 'problem' in input ? input.problem : take(input.message)?.why
    if (problem === undefined) return
    session.refused++
    log.warn('refused a signal', { signal: name, problem })
  })
}

/** A validator: throws one sentence, changes nothing. The sender of an update must name it, to find its result. */
export function assertAccepted<T extends { readonly requestId?: string | undefined }>(
  schema: z.ZodType<T>,
  message: T,
  what: string,
  refusalOf: (named: T & { readonly requestId: string }) => Refusal | undefined,
): void {
  const problem = problemOf(schema, message, what)
  if (problem !== undefined) throw ApplicationFailure.nonRetryable(problem, 'InvalidInput')
  const { requestId } = message
  if (requestId === undefined)
    throw ApplicationFailure.nonRetryable(`${what}.requestId: an update needs one`, 'InvalidInput')
  const refusal = refusalOf({ ...message, requestId })
  if (refusal !== undefined) throw ApplicationFailure.nonRetryable(refusal.why, refusal.error)
}

// Prompts

function offerPrompt(session: SessionState, message: PromptMessage): Refusal | undefined {
  if (message.requestId === undefined && message.content === undefined) {
    return {
      error: 'InvalidInput',
      why: 'prompt: needs content, or the requestId of a prompt that waits in the inbox',
    }
  }
  const named: NamedPrompt = { ...message, requestId: message.requestId ?? nextAutoId(session, message) }
  const refusal = promptRefusal(session, named)
  if (refusal === undefined) session.prompts.add(named)
  return refusal
}

function submitPrompt(session: SessionState, message: PromptMessage): Receipt {
  session.messages++
  const requestId = message.requestId ?? ''
  return {
    requestId,
    status: session.prompts.add({ ...message, requestId }),
    stored: message.content === undefined,
  }
}

const promptRefusal = (session: SessionState, message: NamedPrompt): Refusal | undefined =>
  session.closing === null ? session.prompts.refusal(message) : closingRefusal('prompt')

// Compactions

function offerCompaction(session: SessionState, request: CompactionRequest): Refusal | undefined {
  const named: NamedRequest = { ...request, requestId: request.requestId ?? nextAutoId(session, request) }
  const refusal = compactionRefusal(session, named, 'wait')
  if (refusal === undefined) addCompaction(session, named, 'wait')
  return refusal
}

function submitCompaction(session: SessionState, request: CompactionRequest): Receipt {
  session.messages++
  const requestId = request.requestId ?? ''
  return { requestId, status: addCompaction(session, { ...request, requestId }, 'refuse'), stored: false }
}

/** `whenBusy` is what the kind of message means when the sender does not say. */
const compactionRefusal = (
  session: SessionState,
  request: NamedRequest,
  whenBusy: WhenBusy,
): Refusal | undefined =>
  session.closing === null
    ? session.compactions.refusal(request, session.isBusy, request.whenBusy ?? whenBusy)
    : closingRefusal('compaction')

function addCompaction(session: SessionState, request: NamedRequest, whenBusy: WhenBusy): Receipt['status'] {
  const status = session.compactions.add(request, session.isBusy, request.whenBusy ?? whenBusy)
  if (status === 'busy')
    session.settlements.push({ requestId: request.requestId, state: 'refused', error: 'Busy' })
  return status
}

// Close

function close(session: SessionState, message: CloseRequest): undefined {
  session.closing ??= { ...message, requestId: message.requestId ?? nextAutoId(session, message) }
}

export const closingRefusal = (what: string): Refusal => ({
  error: 'SessionClosed',
  why: `${what}: the session is closing; start it again to reopen it`,
})

export function nextAutoId(session: SessionState, message: unknown): string {
  session.autoIds++
  return autoId(workflowInfo().firstExecutionRunId, session.autoIds, message)
}
