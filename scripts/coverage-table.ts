import type { TitleId } from './title-ids.ts'

// Pages of docs/ whose tables have the columns id, what must hold, and tests.

const ROW = /^\| ([A-Z]\d{1,2}) \| (.+) \| (.+) \|$/

export interface CoverageRow {
  id: TitleId
  line: number
  cell: string
}

/** @param prefix - what a title puts in front of the ids of this page: `''` or `'fault '` */
export function rowsOf(page: string, prefix: string): CoverageRow[] {
  return page.split('\n').flatMap((text, line) => {
    const [, id = '', , cell = ''] = ROW.exec(text) ?? []
    return id === '' ? [] : [{ id: `${prefix}${id}`, line, cell }]
  })
}

const isOpen = (cell: string): boolean => cell === 'open'
const isReason = (cell: string): boolean => cell.startsWith('cannot occur: ')

/** True when the cell claims tests. */
export const namesTests = ({ cell }: CoverageRow): boolean => !isOpen(cell) && !isReason(cell)

export interface FilledTable {
  page: string
  open: TitleId[]
  /** One sentence for each row that had tests and has none any more. */
  problems: string[]
}

/**
 * Writes the column of tests. `open` and a reason stay until a test names the row; neither is ever written here, so
 * that a row whose tests are gone is a problem and not an open row.
 */
export function fillTable(
  page: string,
  prefix: string,
  filesOf: ReadonlyMap<TitleId, readonly string[]>,
): FilledTable {
  const lines = page.split('\n')
  const [open, problems]: [TitleId[], string[]] = [[], []]
  for (const row of rowsOf(page, prefix)) {
    const files = filesOf.get(row.id)
    if (files !== undefined) {
      const cell = files.map((file) => `\`${file}\``).join(', ')
      lines[row.line] = (lines[row.line] ?? '').replace(ROW, (_, id, text) => `| ${id} | ${text} | ${cell} |`)
    } else if (isOpen(row.cell)) open.push(row.id)
    else if (!isReason(row.cell))
      problems.push(`${row.id}: no test names it any more; it was shown by ${row.cell}`)
  }
  return { page: lines.join('\n'), open, problems }
}
