import type { z } from 'zod'
import { SessionError } from '../../shared/errors.ts'
import type {
  messagesInputSchema,
  messagesResultSchema,
  requestInputSchema,
  requestResultSchema,
} from '../../shared/own-protocol.ts'
import type { Message } from '../../shared/session/content.ts'
import { keys } from '../../shared/session/keys.ts'
import { messageDigest } from '../../shared/session/message-digest.ts'
import { deriveMessages } from '../../shared/session/messages.ts'
import { utf8Bytes } from '../../shared/session/prompt-content.ts'
import type { ActivityDeps } from '../deps.ts'
import { microPass } from '../micro-pass.ts'
import { openStep } from '../open-step.ts'
import { callingRun } from '../owner.ts'
import { preflight } from '../preflight.ts'
import { countReplies, loadSession } from '../session-view.ts'
import { turnRequest } from '../turn-request.ts'
import { stepResult } from './session-append.ts'

/**
 * The messages of a step's request: opens the step, runs the micro pass, and refuses what is known not to fit, as the provider would.
 *
 * @throws SessionError `ContextOverflow` {generation}, `TurnClosed`, `Fenced`
 */
export async function requestMessages(
  deps: ActivityDeps,
  input: z.infer<typeof requestInputSchema>,
): Promise<z.infer<typeof requestResultSchema>> {
  const { sessionId, turn, step } = input
  const actor = callingRun()
  if ((await deps.store.eventByKey(sessionId, keys.assistant(turn, step))) !== null) {
    const { generation } = await deps.store.measure(sessionId)
    return { messages: [], generation, recorded: await stepResult(deps, input) }
  }
  await openStep(deps, input, actor)
  const surface = await microPass(deps, input, actor)
  const [session, replies] = await Promise.all([loadSession(deps, sessionId), countReplies(deps, sessionId)])
  const { generation, nodes } = surface
  if (session.header.model === null) return { messages: wire(deriveMessages(nodes)), generation }
  const request = turnRequest(sessionId, session.header, nodes, replies)
  const refusal = await preflight(deps, { session, surface, request, turn })
  if (refusal !== null) throw new SessionError('ContextOverflow', refusal.message, { generation })
  return { messages: wire(request.messages), generation }
}

/** Bodies of one answer: a payload of the server holds 2 MiB. */
const ANSWER_BYTES = 1024 * 1024

/** The messages of the surface, those that the caller has by their number. */
export async function surfaceMessages(
  deps: ActivityDeps,
  { sessionId, known = [], from = 0 }: z.infer<typeof messagesInputSchema>,
): Promise<z.infer<typeof messagesResultSchema>> {
  const { nodes, generation } = await deps.store.surface(sessionId)
  const messages = wire(deriveMessages(nodes))
  const numbers = new Map(known.map((digest, index) => [digest, index]))
  const parts: z.infer<typeof messagesResultSchema>['parts'] = []
  let bytes = 0
  for (const message of messages.slice(from)) {
    const part = numbers.get(messageDigest(message)) ?? message
    bytes += typeof part === 'number' ? 0 : utf8Bytes(JSON.stringify(part))
    if (bytes > ANSWER_BYTES && parts.length > 0) break
    parts.push(part)
  }
  const next = from + parts.length
  return { parts, next: next < messages.length ? next : null, generation }
}

const wire = (messages: readonly Message[]) =>
  messages.map(({ role, content }) => ({ role, content: [...content] }))
