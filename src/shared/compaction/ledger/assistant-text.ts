import { clip, withCutMark } from './clip.ts'
import type { CountTokens } from './types.ts'

const TITLE = '## The assistant said last'
const EARLIER_TITLE = '## Earlier summary'
const TEXT_MAX_TOKENS = 400
const SMALLEST_CLIP_TOKENS = 40

export interface AssistantText {
  readonly text: string
  readonly tokens: number
  /** How many of the newest texts are shown. */
  readonly shown: number
}

/** The newest texts of the assistant, whole up to 400 tokens each, as many as fit, printed oldest first. */
export function renderAssistantTexts(
  texts: readonly string[],
  budgetTokens: number,
  count: CountTokens,
): AssistantText {
  let best: AssistantText = { text: '', tokens: 0, shown: 0 }
  const lines: string[] = []
  let used = count(TITLE) + 1
  for (let i = texts.length - 1; i >= 0; i--) {
    const item = bullet(withCutMark(clip({ text: (texts[i] ?? '').trim() }, TEXT_MAX_TOKENS, count)))
    used += count(item) + 1
    if (used > budgetTokens) break
    lines.unshift(item)
    best = { text: '', tokens: used, shown: lines.length }
  }
  return lines.length === 0 ? best : { ...best, text: [TITLE, ...lines].join('\n') }
}

function bullet(text: string): string {
  return `- ${text.replaceAll('\n', '\n  ')}`
}

/** The summary that a model wrote for an earlier checkpoint, for one that has no model. */
export function renderEarlierSummary(summary: string, budgetTokens: number, count: CountTokens): string {
  const room = budgetTokens - count(EARLIER_TITLE) - 2
  if (summary.trim() === '' || room < SMALLEST_CLIP_TOKENS) return ''
  const clipped = clip({ text: summary.trim() }, room, (text) => count(bullet(text)))
  return clipped.text === '' ? '' : `${EARLIER_TITLE}\n${bullet(withCutMark(clipped))}`
}
