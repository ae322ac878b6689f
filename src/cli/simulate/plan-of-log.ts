import type { ReplayPlan, ReplayPrompt, ReplayReply, ReplayResult } from '../../formats/replay-plan.ts'
import type { ReadMessage } from '../../formats/transcript.ts'
import type { ContentBlock } from '../../shared/session/content.ts'
import type { Header, SessionEvent } from '../../shared/session/events.ts'

/** The conversation of a session's log as it was, without its compactions, ready to be simulated under other policies. Results are whole, as the tools returned them. */
export function planOfLog(events: readonly SessionEvent[], header: Header): ReplayPlan {
  const prompts: ReplayPrompt[] = []
  const replies: ReplayReply[] = []
  const results = new Map<string, ReplayResult>()
  for (const event of events) {
    if (event.type === 'assistant/message' && event.surfaceOp === 'append') replies.push(replyOf(event))
    else if (event.type === 'user/message' && isSaid(event)) prompts.push(promptOf(event, replies.length))
    else if (event.type === 'tool/result' && event.surfaceOp === 'append') {
      const { callId, content, isError } = event.data
      results.set(callId, { content: results.get(callId)?.content ?? content, isError })
    } else if (event.type === 'tool/output') {
      const { callId, content } = event.data
      results.set(callId, { content, isError: results.get(callId)?.isError ?? false })
    }
  }
  const tools = header.tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    input_schema: inputSchema,
  }))
  const ends = replies.at(-1)?.stopReason === 'end_turn' ? 'answered' : 'open'
  return { system: header.system, prompts, replies, results, tools, ends }
}

/** Checkpoints replace what was said; notices belong to the policy that ran. */
const isSaid = ({ surfaceOp, data }: SessionEvent<'user/message'>): boolean =>
  surfaceOp === 'append' && data.source !== 'notice'

const replyOf = ({ data }: SessionEvent<'assistant/message'>): ReplayReply => ({
  content: data.content,
  stopReason: data.stopReason === 'tool_use' ? 'tool_use' : 'end_turn',
})

const promptOf = ({ seq, data }: SessionEvent<'user/message'>, beforeReply: number): ReplayPrompt => ({
  message: messageOf(data.content, seq),
  beforeReply,
  delivery: 'next-turn',
})

const messageOf = (content: readonly ContentBlock[], seq: number): ReadMessage => ({
  role: 'user',
  content,
  source: 'prompt',
  origin: { line: seq + 1 },
})
