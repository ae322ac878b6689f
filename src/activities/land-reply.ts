import { callAsText } from '../shared/compaction/call-as-text.ts'
import { learnFromUsage } from '../shared/compaction/meter.ts'
import { isSessionError, SessionError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { ModelReply, ModelRequest } from '../shared/ports/model.ts'
import type { Actor, EndTurn, SessionRow, SurfaceSnapshot, Written } from '../shared/ports/store.ts'
import type { AnyTool, ToolRules } from '../shared/ports/tool.ts'
import { canonicalJson } from '../shared/session/canonical-json.ts'
import { isText, type ToolUseBlock } from '../shared/session/content.ts'
import type { Header, NewEvent, SurfaceNode, TurnEndReason } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { isCutOff, isPaused, isWhole } from '../shared/session/stop-reasons.ts'
import { headOf, wellFormed } from '../shared/session/well-formed.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { CallModelInput, CallModelResult } from './call-model.ts'
import {
  type Assistant,
  asksAgain,
  callsOf,
  codeAnswers,
  compactCallOf,
  runningCalls,
} from './code-answers.ts'
import type { ActivityDeps } from './deps.ts'
import { timeoutOf } from './execute-tool.ts'
import { overheadTokens } from './overhead.ts'
import { asOwner } from './owner.ts'
import { recordLost } from './record-lost.ts'
import { currentReading, loadMeter, loadSession } from './session-view.ts'
import { uniqueCallIds } from './unique-call-ids.ts'
import { writePaid } from './write-paid.ts'

interface Landing {
  readonly input: CallModelInput
  readonly actor: Actor
  readonly session: SessionRow
  readonly surface: SurfaceSnapshot
  readonly request: ModelRequest
  readonly reply: ModelReply
}

/**
 * Writes a reply with the results that code itself gives (the `compact` tool, calls over the limit, calls that were cut off) in one transaction; a reply
 * that asks for nothing ends the turn in the same transaction.
 */
export async function landReply(deps: ActivityDeps, landing: Landing): Promise<CallModelResult> {
  const { input, actor, session, surface, request, reply } = landing
  const { sessionId, turn, step } = input
  const content = uniqueCallIds(wellFormed(reply.content), surface.nodes)
  const assistant: NewEvent<'assistant/message'> = {
    key: keys.assistant(turn, step),
    type: 'assistant/message',
    turn,
    step,
    data: {
      content: [...content],
      usage: reply.usage,
      stopReason: reply.stopReason,
      provider: request.provider,
      model: reply.model ?? request.model,
      requestHead: surface.head,
      ...(request.maxTokens === session.header.policy.replyMaxTokens ? {} : { maxTokens: request.maxTokens }),
    },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
  const answers = codeAnswers(assistant, session.header, await asksAgain(deps, sessionId, assistant))
  const end = endOf(assistant) ?? tooManyPauses(assistant, surface.nodes)
  const flagged = end?.reason === 'completed' ? flagOf(assistant, session.header) : []
  const events = [assistant, ...answers.map((answer) => answer.event), ...flagged]
  const meter = learnFromUsage(await loadMeter(deps, session), {
    usage: reply.usage,
    modelKey: `${request.provider}/${request.model}`,
    nodes: surface.nodes,
    overheadTokens: overheadTokens(session.header),
    replyTokens: assistant.tokens,
    generation: surface.generation,
    headSeq: surface.head,
  })
  const write = () =>
    asOwner(deps, sessionId, actor, (owner) =>
      end === undefined
        ? deps.store.append({ sessionId, actor: owner, turn, events, meter })
        : deps.store.endTurn({ sessionId, actor: owner, turn, ...end, events, meter }),
    )
  await landOrLose(deps, landing, assistant, write)
  const landed = await recordedReply(deps, input)
  if (landed !== null) return landed
  // A turn's end that was there before is returned as it is, without the reply.
  throw new SessionError(
    'TurnClosed',
    `Turn ${turn} had ended when the reply of its step ${step} came: it is written nowhere.`,
  )
}

/** Writes the reply. One that came when the step had another, or when the turn had ended, was paid for nothing. */
async function landOrLose(
  deps: ActivityDeps,
  { input, actor, request, reply }: Landing,
  assistant: Assistant,
  write: () => Promise<Written>,
): Promise<void> {
  const lose = async () => {
    const usage = reply.usage === null ? {} : { usage: reply.usage }
    await recordLost(deps, input, actor, request, { why: 'late', ...usage }).catch(() => undefined)
  }
  let tries = 0
  try {
    const written = await writePaid(() => {
      tries++
      return write()
    })
    if (!written.recorded) return
  } catch (error) {
    if (!isSessionError(error, 'StoreUnavailable')) await lose()
    throw error
  }
  // A repeated write may find what it wrote itself.
  const recorded = await deps.store.eventByKey(input.sessionId, assistant.key)
  const isOurs = tries > 1 && canonicalJson(recorded?.data) === canonicalJson(assistant.data)
  if (!isOurs) await lose()
}

/** What the log says of this step, or null when its reply is still to be paid. */
export async function recordedReply(
  deps: ActivityDeps,
  input: CallModelInput,
): Promise<CallModelResult | null> {
  const { sessionId, turn, step } = input
  const event = await deps.store.eventByKey(sessionId, keys.assistant(turn, step))
  if (event?.type !== 'assistant/message') return null
  const [session, end, joined] = await Promise.all([
    loadSession(deps, sessionId),
    deps.store.eventByKey(sessionId, keys.turnEnd(turn)),
    joinedPrompts(deps, input),
  ])
  const compact = await compactCallOf(deps, session, event)
  const ended: TurnEndReason | undefined = end?.type === 'turn/end' ? end.data.reason : undefined
  return {
    kind: 'reply',
    reading: await currentReading(deps, sessionId),
    calls: runningCalls(event, session.header).map((call) => ({
      callId: call.id,
      ...rulesOf(deps.tools, call.name),
    })),
    ...(compact === undefined ? {} : { compact: compactCall(compact) }),
    ...(joined.length === 0 ? {} : { joined }),
    ...(ended === undefined ? {} : { ended }),
    stopReason: event.data.stopReason,
  }
}

/** Prompts that entered at the beginning of this step; the turn's own prompt stands before its first step. */
async function joinedPrompts(
  deps: ActivityDeps,
  { sessionId, turn, step }: CallModelInput,
): Promise<string[]> {
  const messages = await deps.store.events(sessionId, { turn, types: ['user/message'] })
  return messages.flatMap((event) =>
    event.type === 'user/message' && event.step === step && event.data.requestId !== undefined
      ? [event.data.requestId]
      : [],
  )
}

function rulesOf(tools: readonly AnyTool[], name: string): { timeoutMs: number; retries?: number } {
  const rules: ToolRules = tools.find((tool) => tool.name === name) ?? {}
  return { timeoutMs: timeoutOf(rules), ...(rules.retries ? { retries: rules.retries } : {}) }
}

type Ending = Pick<EndTurn, 'reason' | 'message' | 'code'>

/** How the turn ends with a reply; undefined when it goes on. */
function endOf(event: Assistant): Ending | undefined {
  const { stopReason, content } = event.data
  if (stopReason === 'refusal') return { reason: 'blocked' }
  if (isCutOff(stopReason)) return { reason: 'max-tokens' }
  if (callsOf(event).length === 0) return isPaused(stopReason, content) ? undefined : { reason: 'completed' }
  if (isWhole(stopReason)) return undefined
  return {
    reason: 'error',
    code: 'UnknownStopReason',
    message: `The reply has calls and ended as ${JSON.stringify(stopReason)}, which nobody here knows: none of them was run.`,
  }
}

const EXCERPT_CHARS = 120

/** Tells people of a last reply that writes a call as text instead of making it: nothing runs, and the turn looks done. */
function flagOf({ turn, step, data }: Assistant, { tools }: Header): NewEvent<'session/notice'>[] {
  const said =
    tools.length === 0
      ? undefined
      : callAsText(
          data.content
            .filter(isText)
            .map(({ text }) => text)
            .join('\n'),
        )
  if (said === undefined) return []
  const message = `The reply that ended turn ${turn} writes a call as text, so nothing was run: ${JSON.stringify(headOf(said, EXCERPT_CHARS))}. Ask for it again; a model that keeps doing so imitates what it has read.`
  return [
    {
      key: keys.notice(`call-as-text.${turn}.${step}`),
      type: 'session/notice',
      turn,
      step,
      data: { code: 'call-as-text', message },
      tokens: 0,
    },
  ]
}

/** A provider whose tools never come to an end would be paid for ever. */
function tooManyPauses({ data }: Assistant, before: readonly SurfaceNode[]): Ending | undefined {
  if (!isPaused(data.stopReason, data.content)) return undefined
  const isPause = (node: SurfaceNode) =>
    node.type === 'assistant/message' && isPaused(node.data.stopReason, node.data.content)
  const pauses = before.length - 1 - before.findLastIndex((node) => !isPause(node)) + 1
  if (pauses < LIMITS.pausesInARow) return undefined
  return {
    reason: 'error',
    code: 'TooManyPauses',
    message: `The provider paused ${pauses} times in a row for tools of its own, which is the most that a turn pays for. The next prompt lets it go on.`,
  }
}

function compactCall(call: ToolUseBlock): { callId: string; focus?: string } {
  const input = call.input
  const focus = typeof input === 'object' && input !== null && 'focus' in input ? input.focus : undefined
  if (typeof focus !== 'string' || focus.trim() === '') return { callId: call.id }
  return { callId: call.id, focus: [...focus].slice(0, LIMITS.focusChars).join('') }
}
