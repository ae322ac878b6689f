import { LETTER } from './characters.ts'

const ESCAPE = '\u001b'
const BELL = '\u0007'
/** Colours and cursor moves, window titles, two-character codes. */
const ANSI = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)?|[@-Z\\\\-_])`,
  'g',
)
const WRITTEN_ESCAPE = /\\[ntr"]/g
/** Backslashes after a drive letter separate folders; in JSON text each of them is doubled. */
const WINDOWS_PATH = new RegExp(
  `(?<![A-Za-z])[A-Za-z]:(?:(?:\\\\\\\\[${LETTER}@.+~-]+)+|(?:\\\\[${LETTER}@.+~-]+)+)`,
  'g',
)

/**
 * Prepares a text for matching: drops ANSI codes, turns `C:\a\b` into `C:/a/b`, and written-out escapes (`\n`, `\t`,
 * `\r`, `\"`) into a blank. Drive paths come first, because `C:\new` is no line break.
 */
export function cleanForMatching(text: string): string {
  let clean = text.includes(ESCAPE) ? text.replace(ANSI, '') : text
  if (!clean.includes('\\')) return clean
  clean = clean.replace(WINDOWS_PATH, (path) => path.replaceAll(/\\+/g, '/'))
  return clean.replace(WRITTEN_ESCAPE, ' ')
}
