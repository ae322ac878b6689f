import type { ModelReply } from '../ports/model.ts'
import { type ContentBlock, isText, isThinking } from '../session/content.ts'
import type { RefusalReason } from '../session/events.ts'
import { wellFormed } from '../session/well-formed.ts'
import { holdsCallMarkup } from './call-markup.ts'

export interface GateLimits {
  /** More tokens than this are refused as `too-long`. */
  readonly limitTokens: number
  /** Tokens of what the summary stands for; as many or more are refused as `not-smaller`. */
  readonly spanTokens: number
  readonly countTokens: (text: string) => number
}

/**
 * Decides whether a model's answer may become a summary: complete, text from this response, non-blank, no tool call and no
 * markup of one, smaller than the span, within its length. Returns why it is refused, or null when it is accepted.
 */
export function judgeSummary(reply: ModelReply, limits: GateLimits): RefusalReason | null {
  return (
    stopProblem(reply.stopReason) ?? blockProblem(reply.content) ?? textProblem(summaryText(reply), limits)
  )
}

/** The text that a summary consists of: the text blocks of the answer, trimmed and well-formed. */
export function summaryText(reply: ModelReply): string {
  const texts = reply.content.filter(isText).map((block) => block.text)
  return wellFormed(texts.join('')).trim()
}

/** Only `end_turn` is complete. A stop reason that nobody knows is not. */
function stopProblem(stopReason: string): RefusalReason | null {
  switch (stopReason) {
    case 'end_turn':
      return null
    case 'refusal':
      return 'refusal'
    case 'pause_turn':
      return 'paused'
    case 'tool_use':
      return 'tool-use'
    default:
      return 'truncated'
  }
}

function blockProblem(content: readonly ContentBlock[]): RefusalReason | null {
  if (content.some((block) => block.type.endsWith('tool_use'))) return 'tool-use'
  if (content.some((block) => !isText(block) && !isThinking(block))) return 'not-text'
  const isBlank = content.filter(isText).every((block) => !VISIBLE.test(block.text))
  if (isBlank) return content.some(isThinking) ? 'thinking-only' : 'blank'
  return null
}

function textProblem(
  text: string,
  { limitTokens, spanTokens, countTokens }: GateLimits,
): RefusalReason | null {
  if (REFUSAL.test(text)) return 'refusal'
  if (holdsCallMarkup(text)) return 'markup'
  const tokens = countTokens(text)
  if (tokens >= spanTokens) return 'not-smaller'
  if (tokens > limitTokens) return 'too-long'
  return null
}

/** A letter or a digit: spaces, zero-width characters and bare punctuation say nothing. */
const VISIBLE = /[\p{L}\p{N}]/u

/** How a model that declines begins when its stop reason does not say so. */
const REFUSAL =
  /^(?:(?:i['’]m|i am) (?:(?:really|very|truly) )?(?:sorry|afraid)\b|i apologi[sz]e\b|sorry[,.]|(?:i|we)(?: can['’]t| can ?not| won['’]t| will not|(?:['’](?:m|re)| am| are) (?:unable|not able) to) (?:help|assist|comply|continue|proceed|summari[sz]e|provide|create|generate|produce|fulfil|engage|do (?:that|this)))/i
