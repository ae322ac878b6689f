import { type ContentBlock, isToolResult, isToolUse } from '../shared/session/content.ts'
import { TranscriptError } from './errors.ts'
import type { ReadMessage, ReadTool, ReadTranscript } from './transcript.ts'

export interface ReplayPrompt {
  readonly message: ReadMessage
  /** Number of replies that precede it: submit it when the log holds as many `assistant/message` events. */
  readonly beforeReply: number
  /**
   * `next-turn` starts a turn; the `no-wake` prompts directly before it wait for that turn. `next-step` arrives while
   * the tools of a turn run: it joins the turn before that turn's next request.
   */
  readonly delivery: 'next-turn' | 'next-step' | 'no-wake'
}

export interface ReplayReply {
  readonly content: readonly ContentBlock[]
  /** `tool_use` when it calls, else `end_turn`: the turns of the replay must end where the recorded ones did. */
  readonly stopReason: 'tool_use' | 'end_turn'
  readonly model?: string
}

export interface ReplayResult {
  readonly content: readonly ContentBlock[]
  readonly isError: boolean
}

/** Everything that a session needs to play a recorded conversation again, message by message. */
export interface ReplayPlan {
  readonly system: string
  /** In the order of the conversation. */
  readonly prompts: readonly ReplayPrompt[]
  /** Indexed by the number of `assistant/message` events in the log. */
  readonly replies: readonly ReplayReply[]
  /** By call id. A call that is not in it was never answered. */
  readonly results: ReadonlyMap<string, ReplayResult>
  /** A tool for every recorded name. A tool without a recorded schema takes any object. */
  readonly tools: readonly Required<ReadTool>[]
  /**
   * How the record ends: `answered` by a reply without calls, or `open`: the next request, of index `replies.length`,
   * has no recorded reply, because the last reply calls or a prompt behind it was never answered.
   */
  readonly ends: 'answered' | 'open'
}

const ANY_OBJECT = { type: 'object', properties: {}, additionalProperties: true } as const

/**
 * Plans the replay of a transcript: every message of it becomes exactly one prompt, reply or result. Pure, linear.
 *
 * @throws TranscriptError `not-replayable` when the conversation begins with a reply, which no prompt asks for.
 */
export function planReplay(transcript: ReadTranscript): ReplayPlan {
  const prompts: ReplayPrompt[] = []
  const replies: ReplayReply[] = []
  const results = new Map<string, ReplayResult>()
  let waiting: ReadMessage[] = []
  let toolsRun = false
  const deliver = () => {
    for (const [index, message] of waiting.entries()) {
      const last = index === waiting.length - 1
      const delivery = toolsRun ? 'next-step' : last ? 'next-turn' : 'no-wake'
      prompts.push({ message, beforeReply: replies.length, delivery })
    }
    waiting = []
  }
  for (const message of transcript.messages) {
    if (message.role === 'assistant') {
      if (replies.length === 0 && waiting.length === 0) throw beginsWithReply(transcript, message)
      deliver()
      toolsRun = message.content.some(isToolUse)
      replies.push(replyOf(message, toolsRun))
    } else if (!addResults(message, results)) waiting.push(message)
  }
  const ends = toolsRun || waiting.length > 0 ? 'open' : 'answered'
  deliver()
  const tools = transcript.tools.map(({ name, description, input_schema }) => ({
    name,
    description: description ?? '',
    input_schema: input_schema ?? ANY_OBJECT,
  }))
  return { system: transcript.system ?? '', prompts, replies, results, tools, ends }
}

const replyOf = ({ content, model }: ReadMessage, calls: boolean): ReplayReply => ({
  content,
  stopReason: calls ? 'tool_use' : 'end_turn',
  ...(model === undefined ? {} : { model }),
})

/** False when the message holds no result. */
function addResults(message: ReadMessage, results: Map<string, ReplayResult>): boolean {
  for (const block of message.content) {
    if (!isToolResult(block)) return false
    const content = typeof block.content === 'string' ? [] : (block.content ?? [])
    results.set(block.tool_use_id, { content, isError: block.is_error === true })
  }
  return true
}

function beginsWithReply(transcript: ReadTranscript, { origin }: ReadMessage): TranscriptError {
  const message = `this ${transcript.format} transcript begins with a reply (line ${origin.line}): a replay needs a prompt before it; replay the file that holds the session's first prompt`
  return new TranscriptError('not-replayable', message)
}
