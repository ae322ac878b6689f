import { InvalidArgumentError } from 'commander'

// What stands behind an option, checked before a command begins.

/** A whole number from `least` to `most`. */
export const wholeNumber =
  (least: number, most: number = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    const allowed = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`
    throw new InvalidArgumentError(`It must be a whole number ${allowed}.`)
  }

export const port = wholeNumber(1, 65_535)

/** A text of at most so many characters. */
export const textUpTo =
  (most: number) =>
  (text: string): string => {
    if (text.length <= most) return text
    throw new InvalidArgumentError(`It may have ${most} characters, it has ${text.length}.`)
  }

/** Two seqs: `12:40`. */
export function span(text: string): { start: number; end: number } {
  const match = /^(\d+):(\d+)$/.exec(text)
  if (match === null) throw new InvalidArgumentError('It must be two seqs with a colon, for example 12:40.')
  return { start: Number(match[1]), end: Number(match[2]) }
}

/** `read_file,list_files` */
export const names = (text: string): string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/** An option that may be given several times. */
export const repeated = (text: string, given: readonly string[] | undefined): string[] => [
  ...(given ?? []),
  text,
]

export const MODEL_HELP =
  'a model of the worker, "none" for a session without one; default of a new session: that of the running dev, else Claude when ANTHROPIC_API_KEY is set, else scripted/echo'
