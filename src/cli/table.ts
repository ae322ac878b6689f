import { stripVTControlCharacters } from 'node:util'

/** Columns of text, each as wide as its widest cell; columns of numbers stand to the right. */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const cells = rows.map((row) => row.map(String))
  const widths = header.map((name, column) =>
    Math.max(displayWidth(name), ...cells.map((row) => displayWidth(row[column] ?? ''))),
  )
  const toRight = header.map((_, column) => isNumeric(cells.map((row) => row[column] ?? '')))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0, toRight[column] === true))
      .join('  ')
      .trimEnd()
  const rule = widths.map((size) => '-'.repeat(size)).join('  ')
  return [line(header), rule, ...cells.map(line)].join('\n')
}

const NUMBER = /^[-+]?\$?\d[\d,]*(\.\d+)?( ?(%|ms|s|KB|MB))?$/

const isNumeric = (column: readonly string[]): boolean =>
  column.some((cell) => cell !== '') && column.every((cell) => cell === '' || NUMBER.test(cell))

/** Scripts and symbols that take two columns of a terminal. Half-width forms do not. */
const WIDE =
  /^(?![\uff61-\uffdc])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Yi}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u
/** Controls and marks that take none. */
const ZERO = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u
/** An emoji that a selector asks for, or a flag. */
const EMOJI = /\ufe0f|^\p{Regional_Indicator}{2}/u

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Columns that a text takes in a terminal. */
export function displayWidth(text: string): number {
  let width = 0
  for (const { segment } of segmenter.segment(stripVTControlCharacters(text)))
    width += ZERO.test(segment) ? 0 : WIDE.test(segment) || EMOJI.test(segment) ? 2 : 1
  return width
}

function pad(cell: string, size: number, toRight: boolean): string {
  const blanks = ' '.repeat(Math.max(0, size - displayWidth(cell)))
  return toRight ? blanks + cell : cell + blanks
}

/** 12345 → `12,345` */
export const formatCount = (value: number): string => value.toLocaleString('en-US')

/** `1 turn`, `2 turns` */
export const counted = (value: number, one: string): string =>
  `${formatCount(value)} ${one}${value === 1 ? '' : 's'}`

/** 1234 → `1.2 s` */
export const formatMs = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
