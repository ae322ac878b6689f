import { clip, withCutMark } from './clip.ts'
import type { CountTokens } from './types.ts'

const TITLE = '## The assistant said last'
const EARLIER_TITLE = '## Earlier summary'
const TEXT_MAX_TOKENS = 400
const SMALLEST_CLIP_TOKENS = 40

export interface AssistantTexts {
  readonly text: string
  readonly tokens: number
  /** The texts that it shows, oldest first, as they are shown. */
  readonly shown: readonly string[]
}

/** The newest texts of the assistant, whole up to 400 tokens each, as many as fit, printed oldest first. */
export function renderAssistantTexts(
  texts: readonly string[],
  budgetTokens: number,
  count: CountTokens,
): AssistantTexts {
  const shown: string[] = []
  let tokens = count(TITLE) + 1
  for (const text of texts.toReversed()) {
    const clipped = withCutMark(clip({ text: text.trim() }, TEXT_MAX_TOKENS, count))
    const cost = count(bullet(clipped)) + 1
    if (tokens + cost > budgetTokens) break
    tokens += cost
    shown.unshift(clipped)
  }
  if (shown.length === 0) return { text: '', tokens: 0, shown }
  return { text: [TITLE, ...shown.map(bullet)].join('\n'), tokens, shown }
}

/** The indent keeps headings in the text from looking like those of the checkpoint. */
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
