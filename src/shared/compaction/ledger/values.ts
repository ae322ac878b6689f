/** A run that begins with a digit, with the unit behind it. `valueIn` decides. */
export const NUMBER = /(?<![\w.$#-])(?:localhost:|v)?\d[\w.,-]*(?: ?[KMGT]i?B\b)?/g

const VALUE_KINDS = [
  /^localhost:\d{2,5}$/,
  /^v?\d{1,6}\.\d{1,6}\.\d{1,6}(?:[.-]\w{1,16}){0,2}$/,
  /^v\d{1,4}\.\d{1,4}$/,
  /^\d{1,7}(?:\.\d{1,3})? ?[KMGT]i?B$/,
]
const DATE = /^\d{4}-\d\d-\d\d(?=$|T)/
const ROUND_OR_YEAR = /^(?:[1-9]0+|(?:19|20)\d\d)$/
const LABEL = /(?<![\w$])([A-Za-z_$][\w$-]{1,29})["'`]?(?: ?(?:=>|[:=(]) ?| )["'`]?$/
const NO_LABEL = new Set(
  'about after and are around at by for from in into is line lines of on or over than that the to until was with'.split(
    ' ',
  ),
)

export interface FoundValue {
  readonly value: string
  /** The word in front of it, such as `port` in `port: 8443`. */
  readonly label: string | undefined
}

/**
 * The value in a match of `NUMBER` at `index`, if it is worth a place: a version, an address, a date, a size, a port, or 4 to 9
 * digits that are no round number, no year and no line number of a listing.
 */
export function valueIn(text: string, index: number, match: string): FoundValue | undefined {
  const token = match.replace(/[.,-]+$/, '')
  const value = DATE.exec(token)?.[0] ?? token
  const known = value !== token || DATE.test(token) || VALUE_KINDS.some((kind) => kind.test(value))
  const worth = known || isTelling(text, index, value) || isPort(text, index, value)
  return worth ? { value, label: labelBefore(text, index) } : undefined
}

function isPort(text: string, index: number, value: string): boolean {
  return /^\d{2,5}$/.test(value) && /\bport["']?[ :=]{1,2}$/i.test(text.slice(Math.max(0, index - 9), index))
}

function isTelling(text: string, index: number, value: string): boolean {
  if (!/^\d{4,9}$/.test(value) || ROUND_OR_YEAR.test(value)) return false
  const after = text.charAt(index + value.length)
  if (after === '→' || after === '\t') return false
  return after !== ':' || !/(?:^|[\n:])\s*$/.test(text.slice(Math.max(0, index - 8), index))
}

function labelBefore(text: string, index: number): string | undefined {
  const label = LABEL.exec(text.slice(Math.max(0, index - 36), index))?.[1]
  return label && !NO_LABEL.has(label.toLowerCase()) ? label : undefined
}
