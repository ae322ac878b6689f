import { LIMITS } from '../shared/limits.ts'
import { isToolUse, type ToolUseBlock, text } from '../shared/session/content.ts'
import type { Header, NewEvent, SessionEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { priceContent } from '../shared/tokens/price.ts'
import { COMPACT_TOOL } from './tools/compact-tool.ts'

export type Assistant = NewEvent<'assistant/message'> | SessionEvent<'assistant/message'>

export interface CodeAnswer {
  readonly call: ToolUseBlock
  /** The call that asks for a compaction. */
  readonly compact: boolean
  readonly event: NewEvent<'tool/result'>
}

export const callsOf = (reply: Assistant): ToolUseBlock[] => reply.data.content.filter(isToolUse)

/** A reply that was cut off ends the turn: its calls may be half written, so none of them runs. */
export const wasCutOff = ({ data }: Assistant): boolean =>
  data.stopReason === 'max_tokens' || data.stopReason === 'model_context_window_exceeded'

/** The calls that no tool runs for, with their results. A pure function of reply and header, so that a retry knows them again. */
export function codeAnswers(reply: Assistant, header: Pick<Header, 'tools'>): CodeAnswer[] {
  const offersCompact = header.tools.some((tool) => tool.name === COMPACT_TOOL.name)
  const isCut = wasCutOff(reply)
  let compactSeen = false
  let running = 0
  return callsOf(reply).flatMap((call): CodeAnswer[] => {
    if (isCut) return [errorAnswer(reply, call, CUT_OFF)]
    if (offersCompact && call.name === COMPACT_TOOL.name) {
      const compact = !compactSeen
      compactSeen = true
      return [{ call, compact, event: result(reply, call, compact ? ACCEPTED : ALREADY_ASKED, false) }]
    }
    running++
    return running <= LIMITS.callsPerStep ? [] : [errorAnswer(reply, call, overLimit(running))]
  })
}

/** The calls of a reply that tools run for, in order. */
export function runningCalls(reply: Assistant, header: Pick<Header, 'tools'>): ToolUseBlock[] {
  const answered = new Set(codeAnswers(reply, header).map(({ call }) => call.id))
  return callsOf(reply).filter((call) => !answered.has(call.id))
}

const CUT_OFF = 'This call was cut off by the limit of the reply and was not run. Make a smaller call.'
const ACCEPTED = 'Accepted: the conversation is compacted once all calls of this step are answered.'
const ALREADY_ASKED = 'Already asked for in this step.'
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
