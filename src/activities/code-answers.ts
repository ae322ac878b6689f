import { COMPACT_TOOL } from '../shared/compaction/compact-tool.ts'
import { LIMITS } from '../shared/limits.ts'
import type { SessionRow } from '../shared/ports/store.ts'
import { isToolUse, type ToolUseBlock, text } from '../shared/session/content.ts'
import type { Header, NewEvent, SessionEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { isCutOff, isWhole } from '../shared/session/stop-reasons.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { ActivityDeps } from './deps.ts'

export type Assistant = NewEvent<'assistant/message'> | SessionEvent<'assistant/message'>

export interface CodeAnswer {
  readonly call: ToolUseBlock
  /** The call that asks for a compaction. */
  readonly compact: boolean
  readonly event: NewEvent<'tool/result'>
}

export const callsOf = (reply: Assistant): ToolUseBlock[] => reply.data.content.filter(isToolUse)

const isCompactCall = ({ name }: ToolUseBlock): boolean => name === COMPACT_TOOL.name

/**
 * The calls that no tool runs for, with their results. A pure function of its input, so that a retry knows them again. `asksAgain`: the step before asked for a
 * compaction, too.
 */
export function codeAnswers(
  reply: Assistant,
  header: Pick<Header, 'tools'>,
  asksAgain: boolean,
): CodeAnswer[] {
  const offersCompact = header.tools.some((tool) => tool.name === COMPACT_TOOL.name)
  const { stopReason } = reply.data
  let compactSeen = false
  let running = 0
  return callsOf(reply).flatMap((call): CodeAnswer[] => {
    if (!isWhole(stopReason)) return [errorAnswer(reply, call, notRun(stopReason))]
    if (offersCompact && isCompactCall(call)) {
      const said = asksAgain ? ASKED_BEFORE : compactSeen ? ALREADY_ASKED : ACCEPTED
      compactSeen = true
      return [{ call, compact: said === ACCEPTED, event: result(reply, call, said, false) }]
    }
    running++
    return running <= LIMITS.callsPerStep ? [] : [errorAnswer(reply, call, overLimit(running))]
  })
}

/** The calls of a reply that tools run for, in order. */
export function runningCalls(reply: Assistant, header: Pick<Header, 'tools'>): ToolUseBlock[] {
  // Whether the model asks again changes what a call of `compact` is told, not who answers it.
  const answered = new Set(codeAnswers(reply, header, false).map(({ call }) => call.id))
  return callsOf(reply).filter((call) => !answered.has(call.id))
}

/** Whether the step before this reply's asked for a compaction, too. By the log, so that a retry finds the same. */
export async function asksAgain(deps: ActivityDeps, sessionId: string, reply: Assistant): Promise<boolean> {
  const { turn, step } = reply
  if (turn === null || step === null || !callsOf(reply).some(isCompactCall)) return false
  const before = await deps.store.eventByKey(sessionId, keys.assistant(turn, step - 1))
  return before?.type === 'assistant/message' && callsOf(before).some(isCompactCall)
}

/** The call of a reply that a compaction was made for. */
export async function compactCallOf(
  deps: ActivityDeps,
  session: SessionRow,
  reply: Assistant,
): Promise<ToolUseBlock | undefined> {
  const answers = codeAnswers(reply, session.header, await asksAgain(deps, session.sessionId, reply))
  return answers.find((answer) => answer.compact)?.call
}

const notRun = (stopReason: string) =>
  isCutOff(stopReason)
    ? 'This call was cut off by the limit of the reply and was not run. Make a smaller call.'
    : `This call was not run: the reply ended as ${JSON.stringify(stopReason)}, after which a call may be half written.`
const ACCEPTED =
  'Accepted: the conversation is compacted once all calls of this step are answered. Go on with the task afterwards.'
const ALREADY_ASKED = 'Already asked for in this step.'
const ASKED_BEFORE =
  'Not compacted again: you asked for it in the step before, and there is hardly anything new. Go on with the task; ask again after more work.'
const overLimit = (running: number) =>
  `Not run: a step runs at most ${LIMITS.callsPerStep} calls, this is number ${running}. Call it again in the next step.`

const errorAnswer = (reply: Assistant, call: ToolUseBlock, said: string): CodeAnswer => ({
  call,
  compact: false,
  event: result(reply, call, said, true),
})

function result(
  reply: Assistant,
  call: ToolUseBlock,
  said: string,
  isError: boolean,
): NewEvent<'tool/result'> {
  const content = [text(said)]
  const turn = reply.turn ?? 1
  const step = reply.step ?? 1
  return {
    key: keys.toolResult(turn, step, call.id),
    type: 'tool/result',
    turn,
    step,
    data: { callId: call.id, name: call.name, content, isError },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
}
