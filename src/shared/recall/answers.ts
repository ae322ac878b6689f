import { headOf } from '../session/well-formed.ts'
import { contentText, eventTitle, type Recalled } from './event-text.ts'
import { composed, foldCase, unfoldedIndex } from './fold-case.ts'
import { HISTORY_TOOL } from './history-tool.ts'

export interface AnswerLimit {
  readonly maxTokens: number
  readonly count: (text: string) => number
}

/** More than text has, unless it is mostly blanks: so much is counted at first. */
const MAX_CHARS_PER_TOKEN = 16

/**
 * An event word for word from this character (UTF-16 unit) on, as much as fits, and how to ask for what follows. Undefined when there is
 * nothing from there on.
 */
export function renderPart(event: Recalled, from: number, limit: AnswerLimit): string | undefined {
  const text = contentText(event.data.content)
  if (from > 0 && from >= text.length) return undefined
  const start = headOf(text, from).length
  const least = Math.min(text.length, start + 2)
  let end = headOf(text, start + limit.maxTokens * MAX_CHARS_PER_TOKEN).length
  for (;;) {
    // Counted as it will be: a shorter text may have more tokens, when its end cuts a run of blanks.
    const page = partPage(event, text, start, lineEnd(text, start, end))
    const tokens = limit.count(page)
    if (tokens <= limit.maxTokens || end <= least) return page
    const chars = Math.floor((end - start) * (limit.maxTokens / tokens) * 0.97) - 1
    end = Math.max(least, headOf(text, start + chars).length)
  }
}

/** The end of the last whole line, unless that gives much away. */
function lineEnd(text: string, start: number, end: number): number {
  const line = text.lastIndexOf('\n', end - 1) + 1
  return end === text.length || line < start + (end - start) * 0.75 ? end : line
}

function partPage(event: Recalled, text: string, start: number, end: number): string {
  const title = `[#${event.seq}] ${eventTitle(event)}`
  if (start === 0 && end === text.length) return `${title}:\n${text === '' ? '(no words)' : text}`
  const place = `${title}, characters ${start} to ${end} of ${text.length}:\n${text.slice(start, end)}`
  if (end === text.length) return `${place}\n[That is its end.]`
  return `${place}\n[Next part: ${HISTORY_TOOL.name} {"seq": ${event.seq}, "from": ${end}}]`
}

/** At most so many hits in one answer. */
export const HITS_PER_ANSWER = 10
/** Characters in front of a hit, and from its beginning on. */
const BEFORE_CHARS = 120
const AFTER_CHARS = 280
/** A text up to this is named without the place of the hit: it is read as a whole anyway. */
const SHORT_CHARS = 2_000

/**
 * Where a text stands, each hit with its citation and surroundings.
 *
 * @param hits newest first; one more than {@link HITS_PER_ANSWER} when there are others
 * @param from how many hits went before these
 */
export function renderHits(
  hits: readonly Recalled[],
  query: string,
  from: number,
  limit: AnswerLimit,
): string {
  const share = Math.floor((limit.maxTokens * 0.8) / HITS_PER_ANSWER)
  const shown = hits
    .slice(0, HITS_PER_ANSWER)
    .map((hit) => snippet(hit, query, { ...limit, maxTokens: share }))
  for (let count = shown.length; ; count--) {
    const page = hitsPage(shown.slice(0, count), from, hits.length > count)
    if (count <= 1 || limit.count(page) <= limit.maxTokens) return page
  }
}

function hitsPage(snippets: readonly string[], from: number, isMore: boolean): string {
  const next = from + snippets.length
  return [
    `Hits ${from + 1} to ${next}${isMore ? ', there are more' : ', all of them'}:`,
    ...snippets,
    `[{"seq": number} reads one whole, with "from": character from there on.${isMore ? ` More hits: the same query with "from": ${next}.` : ''}]`,
  ].join('\n\n')
}

function snippet(event: Recalled, query: string, limit: AnswerLimit): string {
  const text = composed(contentText(event.data.content))
  const folded = foldCase(text)
  const at = unfoldedIndex(text, folded.indexOf(foldCase(query)))
  const place = text.length > SHORT_CHARS ? `, at character ${at} of ${text.length}` : ''
  const title = `[#${event.seq}] ${eventTitle(event)}${place}:`
  for (let share = 1; ; share /= 2) {
    const page = `${title}\n${around(text, at, BEFORE_CHARS * share, AFTER_CHARS * share)}`
    if (share < 0.05 || limit.count(page) <= limit.maxTokens) return page
  }
}

function around(text: string, at: number, before: number, after: number): string {
  const start = headOf(text, Math.max(0, Math.floor(at - before))).length
  const end = headOf(text, Math.ceil(at + after)).length
  return `${start === 0 ? '' : '…'}${text.slice(start, end)}${end === text.length ? '' : '…'}`
}

/** Nothing stands there: what was searched, and what may help. */
export const NOTHING_FOUND =
  'Nothing found. Searched for this text as it is written (case does not matter): all messages, tool calls, results and whole outputs of this session ' +
  'that are no longer in your context. What still stands there was not searched. Try a shorter or rarer part of it.'
