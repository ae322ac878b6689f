import type { CountTokens } from './types.ts'

const HEAD_SHARE = 0.65
const CHARS_PER_TOKEN_MAX = 8

/** Head and tail of a text around a place where `cut` tokens were taken out. */
export interface Clipped {
  readonly text: string
  readonly cut?: { readonly at: number; readonly tokens: number } | undefined
}

/** The text with `[… n tokens cut …]` where something was taken out. */
export function withCutMark({ text, cut }: Clipped): string {
  return cut ? `${text.slice(0, cut.at)} [… ${cut.tokens} tokens cut …] ${text.slice(cut.at)}` : text
}

/**
 * Shortens a text to at most `limitTokens`, mark included: 65 % of what is left from its head, 35 % from its tail. A text that was
 * shortened before keeps one mark, with the sum. The number of cut tokens is an estimate by length.
 */
export function clip(clipped: Clipped, limitTokens: number, count: CountTokens): Clipped {
  const { text, cut } = clipped
  const mayFit = text.length <= limitTokens * CHARS_PER_TOKEN_MAX
  if (mayFit && count(withCutMark(clipped)) <= limitTokens) return clipped
  let keep = Math.min(text.length - 1, limitTokens * CHARS_PER_TOKEN_MAX)
  for (;;) {
    if (keep <= 0) return { text: '', cut: { at: 0, tokens: cut?.tokens ?? 0 } }
    const shorter = takeOut(text, cut, keep, count)
    const tokens = count(withCutMark(shorter))
    if (tokens <= limitTokens) return shorter
    keep = Math.min(keep - 1, Math.floor((keep * limitTokens * 0.97) / tokens))
  }
}

function takeOut(text: string, cut: Clipped['cut'], keepChars: number, count: CountTokens): Clipped {
  const at = cut?.at ?? text.length
  const afterCut = cut ? text.length - cut.at : text.length
  const head = wholeCharacters(text, Math.min(at, Math.round(keepChars * HEAD_SHARE)))
  const from = Math.max(head, text.length - Math.min(afterCut, keepChars - head))
  const tail = wholeCharacters(text, from)
  const kept = text.slice(0, head) + text.slice(tail)
  const charsPerToken = Math.max(0.2, kept.length / Math.max(1, count(kept)))
  const tokens = Math.round((text.length - kept.length) / charsPerToken) + (cut?.tokens ?? 0)
  return { text: kept, cut: { at: head, tokens } }
}

/** Moves a position that would split a surrogate pair. */
function wholeCharacters(text: string, position: number): number {
  const low = text.charCodeAt(position)
  return low >= 0xdc00 && low <= 0xdfff ? position - 1 : position
}

/** One line of at most `maxChars` characters. */
export function oneLine(text: string, maxChars: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= maxChars ? line : `${line.slice(0, wholeCharacters(line, maxChars - 1))}…`
}
