import { cleanForMatching } from './clean.ts'
import { NOT_A_FILE } from './file-names.ts'
import { BEFORE_SLASH, FROM_SLASH, PATH_MAX_CHARS, type PathContext, pathsInToken } from './paths.ts'
import * as patterns from './patterns.ts'
import type { ItemKind } from './types.ts'
import { NUMBER, valueIn } from './values.ts'

export type Report = (kind: ItemKind, value: string, label?: string) => void

/**
 * Finds the identifiers of a text, in a fixed order: what one kind took is blanked out for the next, at the same length,
 * so that positions keep their meaning. Linear in the length of the text.
 */
export function recognise(text: string, context: PathContext, report: Report): void {
  const clean = cleanForMatching(text)
  let rest = takeLinks(clean, report)
  rest = takePaths(rest, context, report)
  rest = takeFiles(rest, report)
  rest = take(rest, patterns.ERROR_CODE, 'error', report)
  rest = take(rest, patterns.DOTTED, 'name', report, patterns.isHost)
  rest = takeDashed(rest, report)
  rest = take(rest, patterns.NUMBER_ID, 'id', report)
  rest = take(rest, patterns.HEX_ID, 'id', report, patterns.isHexId)
  rest = take(rest, patterns.IMPORTED, 'name', report, patterns.isNameLength)
  rest = take(rest, patterns.MODULE_NAME, 'name', report, patterns.isNameLength)
  rest = take(rest, patterns.WORD_NAME, 'name', report, patterns.isName)
  rest.replace(NUMBER, (match, index: number) => {
    const found = valueIn(clean, index, match)
    if (found) report('value', found.value, found.label)
    return match
  })
}

function takeLinks(text: string, report: Report): string {
  if (!text.includes('http')) return text
  return text.replace(patterns.LINK, (match) => {
    const link = match.replace(/[.,;:!?*]+$/, '')
    if (link.length > 'https://'.length && link.length < patterns.LINK_MAX_CHARS) report('link', link)
    return blank(match.length)
  })
}

function takePaths(text: string, context: PathContext, report: Report): string {
  return takeAround(text, FROM_SLASH, BEFORE_SLASH, (token, index) => {
    const paths = pathsInToken(token, text.charAt(index - 1), context)
    for (const { kind, value } of paths) report(kind, value)
    return paths.length > 0 || token.length > PATH_MAX_CHARS ? token.length : 0
  })
}

function takeFiles(text: string, report: Report): string {
  const rest = takeAround(text, patterns.FROM_DOT, patterns.BEFORE_DOT, (word) => {
    const file = word.startsWith('.') ? undefined : patterns.FILE_NAME.exec(word)?.[0]
    if (file === undefined || NOT_A_FILE.test(file)) return 0
    report('file', file)
    return file.length
  })
  return take(rest, patterns.WHOLE_FILE, 'file', report)
}

function takeDashed(text: string, report: Report): string {
  if (!text.includes('-')) return text
  return text.replace(patterns.DASHED, (word, index: number) => {
    const kind = patterns.dashedKind(word, isMarked(text, index, word.length))
    if (!kind) return word
    report(kind, word)
    return blank(word.length)
  })
}

/** In quotes or backticks, or a CSS selector. */
function isMarked(text: string, index: number, length: number): boolean {
  const before = text.charAt(index - 1)
  const quoted = /["'`]/.test(before) && text.charAt(index + length) === before
  return quoted || (/[.#]/.test(before) && !/\w/.test(text.charAt(index - 2)))
}

function take(
  text: string,
  pattern: RegExp,
  kind: ItemKind,
  report: Report,
  accept: (match: string) => boolean = () => true,
): string {
  return text.replace(pattern, (match) => {
    if (!accept(match)) return match
    report(kind, match)
    return blank(match.length)
  })
}

/**
 * Like `take` for a token that is found by a rare character in its middle: `before` (sticky, a look-behind with one
 * group) tells what of it stands in front of the match. Much faster than to try the token's beginning at each word.
 * `accept` returns how many characters of the token it took.
 */
function takeAround(
  text: string,
  pattern: RegExp,
  before: RegExp,
  accept: (token: string, index: number) => number,
): string {
  const pieces: string[] = []
  let done = 0
  for (const match of text.matchAll(pattern)) {
    before.lastIndex = match.index
    const lead = before.exec(text)?.[1] ?? ''
    const index = Math.max(done, match.index - lead.length)
    const taken = accept(text.slice(index, match.index + match[0].length), index)
    if (taken === 0) continue
    pieces.push(text.slice(done, index), blank(taken))
    done = index + taken
  }
  return done === 0 ? text : pieces.join('') + text.slice(done)
}

function blank(length: number): string {
  return ' '.repeat(length)
}
