import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fillTable, namesTests, rowsOf } from './coverage-table.ts'
import { idsOfTitle, relativeImports, type TitleId, titlesOf } from './title-ids.ts'

// The acceptance rows and the faults, and the tests of this repository that name them.

const PAGES = [
  { path: 'docs/acceptance.md', prefix: '' },
  { path: 'docs/faults.md', prefix: 'fault ' },
]

const STORE_CONTRACT = 'src/store/contract'

/** Rows whose rule is one of the running session: pure tests alone do not show them. */
const NEEDS_WORKFLOW = /^[B-E]\d+$/
const ON_WORKFLOW = /^test\/(workflow|process|cli)\//

export interface AcceptanceTables {
  pages: { path: string; page: string; stale: boolean }[]
  open: TitleId[]
  /** One sentence each: rows that lost their tests, titles that name what is no row. */
  problems: string[]
}

export function acceptanceTables(): AcceptanceTables {
  const known = new Set(PAGES.flatMap(({ path, prefix }) => rowsOf(read(path), prefix).map(({ id }) => id)))
  const filesOf = new Map<TitleId, string[]>()
  const tables: AcceptanceTables = { pages: [], open: [], problems: [] }
  for (const path of testFiles()) {
    for (const title of titlesOf(path, read(path)))
      for (const id of idsOfTitle(title)) {
        if (!known.has(id)) tables.problems.push(unknownId(path, title, id))
        else if (shows(path, id)) filesOf.set(id, [...(filesOf.get(id) ?? []), shortName(path)])
      }
  }
  for (const [id, files] of filesOf) filesOf.set(id, [...new Set(files)].sort())
  for (const { path, prefix } of PAGES) {
    const before = read(path)
    const { page, open, problems } = fillTable(before, prefix, filesOf)
    tables.pages.push({ path, page, stale: page !== before })
    tables.open.push(...open)
    tables.problems.push(...problems)
  }
  return tables
}

/**
 * One sentence for each row that claims tests of which none passed.
 *
 * @param passed - ids of the titles of the tests that passed
 */
export function rowsWithoutPass(passed: ReadonlySet<TitleId>): string[] {
  return PAGES.flatMap(({ path, prefix }) =>
    rowsOf(read(path), prefix)
      .filter((row) => namesTests(row) && !passed.has(row.id))
      .map(({ id, cell }) => `${path}: no test of ${id} passed, of ${cell}`),
  )
}

/** True when a test of this file, named after the row, is enough for it. */
export function shows(path: string, id: TitleId): boolean {
  return !isScripted(path) && (!NEEDS_WORKFLOW.test(id) || ON_WORKFLOW.test(path))
}

/** A test that stands on scripted activities, or on a workflow's parts with scripted ports: it shows no row. */
function isScripted(path: string, seen: readonly string[] = []): boolean {
  if (posix.basename(path).startsWith('fake-')) return true
  if (!path.startsWith('test/') || seen.includes(path)) return false
  const targets = relativeImports(path, read(path)).map((name) => posix.join(posix.dirname(path), name))
  if (path.startsWith('test/pure/') && targets.some((target) => target.startsWith('src/workflows/')))
    return true
  return targets.some((target) => target.startsWith('test/support/') && isScripted(target, [...seen, path]))
}

function unknownId(path: string, title: string, id: TitleId): string {
  const hint = /^[A-Z]\d\d$/.test(id) ? `, and no row; a fault is written \`fault ${id}\`` : ''
  return `${path}: “${title}” names ${id}, which is in none of ${PAGES.map((page) => page.path).join(', ')}${hint}`
}

function testFiles(): string[] {
  const tests = readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => posix.join('test', name))
  const contract = readdirSync(STORE_CONTRACT).map((name) => join(STORE_CONTRACT, name))
  return [...tests, ...contract].sort()
}

const shortName = (path: string): string =>
  path.startsWith('test/')
    ? path.slice('test/'.length, -'.test.ts'.length)
    : `contract/${posix.basename(path).replace(/(-tests)?\.ts$/, '')}`

const read = (path: string): string => readFileSync(path, 'utf8')
