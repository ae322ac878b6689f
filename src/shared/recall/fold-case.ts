/**
 * Texts that differ in letter case, in how a letter is composed, or in the slashes of a path (a checkpoint writes `C:/a`, the log may hold
 * `C:\\a`, also escaped) become one. Each letter is folded for itself, so that one found in the fold is found again in the text
 * ({@link unfoldedIndex}). Linear.
 */
export const foldCase = (text: string): string =>
  composed(text).replace(BACKSLASHES, '/').replace(BEYOND_ASCII, folded).toLowerCase()

/** The text whose places {@link unfoldedIndex} counts: with composed letters, otherwise as it is. */
export const composed = (text: string): string => text.normalize('NFC')

/** Where in the composed text the place of its fold is. Always between two code points. */
export function unfoldedIndex(text: string, index: number): number {
  let at = 0
  for (let left = index; at < text.length; ) {
    const letter = String.fromCodePoint(text.codePointAt(at) ?? 0)
    if (letter !== '\\' || text[at - 1] !== '\\') left -= folded(letter).length
    if (left < 0) break
    at += letter.length
  }
  return at
}

const BACKSLASHES = /\\+/g
const BEYOND_ASCII = /[^\0-\x7f]/gu

/** By way of the capital, so that the two small sigmas are one. */
const folded = (letter: string): string => letter.toUpperCase().toLowerCase()
