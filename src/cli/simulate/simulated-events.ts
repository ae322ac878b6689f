import type { ReplayResult } from '../../formats/replay-plan.ts'
import type { buildCheckpoint } from '../../shared/compaction/checkpoint.ts'
import { offersHistory } from '../../shared/recall/history-tool.ts'
import type { ContentBlock, ToolUseBlock } from '../../shared/session/content.ts'
import type { Header, NewEvent, SessionEvent } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import { INTERRUPTED_RESULT } from '../../shared/session/repair.ts'
import { cutToTokens } from '../../shared/tokens/cut-to-tokens.ts'
import { priceContent } from '../../shared/tokens/price.ts'

// What a session would write of a recorded message.

interface Place {
  readonly turn: number
  /** Number of the message's kind. */
  readonly index: number
}

export const userEvent = (content: readonly ContentBlock[], { turn, index }: Place): NewEvent => ({
  key: keys.prompt(`p${index}`),
  type: 'user/message',
  turn,
  step: null,
  data: { content: [...content], source: 'prompt' },
  tokens: priceContent(content),
  surfaceOp: 'append',
})

export const replyEvent = (
  content: readonly ContentBlock[],
  header: Header,
  { turn, index }: Place,
): NewEvent => ({
  key: keys.assistant(turn, index + 1),
  type: 'assistant/message',
  turn,
  step: null,
  data: {
    content: [...content],
    usage: null,
    stopReason: 'end_turn',
    provider: header.provider ?? '',
    model: header.model ?? '',
  },
  tokens: priceContent(content),
  surfaceOp: 'append',
})

/** Cut at intake as the session would; calls of one step share half of the window. */
export function resultEvent(
  { id, name }: ToolUseBlock,
  recorded: ReplayResult | undefined,
  {
    header,
    callsInStep,
    turn,
  }: { readonly header: Header; readonly callsInStep: number; readonly turn: number },
): NewEvent {
  const { contextWindow, toolResultMaxTokens } = header.policy
  const share =
    contextWindow === null ? Number.POSITIVE_INFINITY : Math.floor(contextWindow / 2 / callsInStep)
  const limit = Math.min(toolResultMaxTokens, share)
  const { content: whole, isError } = recorded ?? { content: INTERRUPTED_RESULT.content, isError: true }
  const content =
    priceContent(whole) > limit
      ? cutToTokens(whole, limit, { seq: 0, historyTool: offersHistory(header) })
      : whole
  return {
    key: keys.toolResult(turn, 1, id),
    type: 'tool/result',
    turn,
    step: null,
    data: { callId: id, name, content: [...content], isError },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
}

/** What the next checkpoint starts from. */
export function summaryEvent(
  compactionId: string,
  seq: number,
  { ledger, lost }: ReturnType<typeof buildCheckpoint>,
): SessionEvent<'compact/summary'> {
  return {
    seq,
    time: 0,
    key: keys.compactSummary(compactionId),
    type: 'compact/summary',
    turn: 1,
    step: null,
    tokens: 0,
    data: {
      compactionId,
      summary: [],
      shadowedRange: { start: 0, end: 0 },
      shadowedSeqs: [],
      shadowedTokenCount: 0,
      provider: 'durable-compaction',
      model: 'deterministic',
      lost,
      ledger,
    },
  }
}
