/** Columns of text, each as wide as its widest cell; numbers stand to the right. */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const cells = [header, ...rows.map((row) => row.map(String))]
  const widths = header.map((_, column) => Math.max(...cells.map((row) => width(row[column] ?? ''))))
  const numeric = header.map(
    (_, column) =>
      rows.length > 0 && rows.every((row) => typeof row[column] === 'number' || row[column] === ''),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0, numeric[column] === true))
      .join('  ')
      .trimEnd()
  return [line(header), widths.map((size) => '-'.repeat(size)).join('  '), ...cells.slice(1).map(line)].join(
    '\n',
  )
}

const width = (cell: string): number => [...cell].length

function pad(cell: string, size: number, toRight: boolean): string {
  const blanks = ' '.repeat(Math.max(0, size - width(cell)))
  return toRight ? blanks + cell : cell + blanks
}

/** 12345 → `12,345` */
export const formatCount = (value: number): string => value.toLocaleString('en-US')

/** 1234 → `1.2 s` */
export const formatMs = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
