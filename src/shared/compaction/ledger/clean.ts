import { DRIVE, LETTER } from './characters.ts'

const ESCAPE = '\u001b'
const BELL = '\u0007'
/** Colours and cursor moves, window titles, two-character codes. */
const ANSI = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)?|[@-Z\\\\-_])`,
  'g',
)
const WRITTEN_ESCAPE = /\\[ntr"]/g
const FOLDER = `[${LETTER}@.+~-]+`
/** Backslashes after a drive letter or a leading dot separate folders; in JSON text each of them is doubled. */
const WINDOWS_PATH = new RegExp(
  `(?:(?<![A-Za-z])${DRIVE}:|(?<=^|\\s)\\.{1,2})(?:(?:\\\\\\\\${FOLDER})+|(?:\\\\${FOLDER})+)`,
  'g',
)
const LONG_RUN = /[A-Za-z0-9+/_-]{24,}/g
/** Of the characters of random text, 0.4 are capitals and 0.6 are followed by another class; of camelCase 0.15 and 0.25. */
const RANDOM_CAPITALS = 0.2
const RANDOM_CHANGES = 0.4
const CHANGE = /[A-Z](?=[^A-Z])|[a-z](?=[^a-z])|\d(?=\D)/g

/**
 * Prepares a text for matching: drops ANSI codes, turns `C:\a\b` into `C:/a/b`, and written-out escapes (`\n`, `\t`,
 * `\r`, `\"`) into a blank. Drive paths come first, because `C:\new` is no line break. Keys, tokens and other encoded data
 * become blanks: their pieces look like names, and would carry a secret on.
 */
export function cleanForMatching(text: string): string {
  let clean = text.includes(ESCAPE) ? text.replace(ANSI, '') : text
  if (clean.includes('\\')) {
    clean = clean.replace(WINDOWS_PATH, (path) => path.replaceAll(/\\+/g, '/')).replace(WRITTEN_ESCAPE, ' ')
  }
  return clean.replace(LONG_RUN, (run) => (isRandom(run) ? ' ' : run))
}

function isRandom(run: string): boolean {
  const share = (pattern: RegExp) => (run.match(pattern)?.length ?? 0) / run.length
  return (
    /[a-z]/.test(run) &&
    /\d/.test(run) &&
    share(/[A-Z]/g) >= RANDOM_CAPITALS &&
    share(CHANGE) >= RANDOM_CHANGES
  )
}
