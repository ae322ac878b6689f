/** A cell: text, or a recall that is printed with three digits. */
export type Cell = string | number

export function printTable(title: string, head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const lines = [
    head,
    ...rows.map((row) => row.map((cell) => (typeof cell === 'number' ? cell.toFixed(3) : cell))),
  ]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  console.log(`\n${title}`)
  for (const line of lines) {
    const cells = line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    )
    console.log(cells.join('  '))
  }
}

export interface Goal {
  readonly name: string
  readonly value: number
  readonly atLeast?: number
  readonly atMost?: number
}

/** Whether all goals are reached. */
export function printGoals(goals: readonly Goal[]): boolean {
  const results = goals.map(
    ({ name, value, atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY }) => {
      const reached = value >= atLeast && value <= atMost
      const limit = Number.isFinite(atMost) ? `at most ${atMost}` : `at least ${atLeast}`
      console.log(`${reached ? 'reached' : 'MISSED '}  ${name}: ${value.toFixed(3)}, goal ${limit}`)
      return reached
    },
  )
  return results.every(Boolean)
}
