import { posix } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { type Access, type Area, IMPORT_TABLE } from './import-table.ts'

interface Import {
  /** What stands between the quotes; null when it is computed. */
  target: string | null
  access: Access
  line: number
}

/**
 * Checks the imports of one file of `src` against {@link IMPORT_TABLE}.
 *
 * @param path - from the root of the repository, with `/`
 * @returns one sentence a violation: file, line, what it imports, what its area may import
 */
export function importProblems(path: string, source: string): string[] {
  const area = areaOf(path)
  if (area === undefined) return [`${path}: belongs to no area of the import table (scripts/import-table.ts)`]
  return importsOf(path, source)
    .map((found) => ({ found, problem: importProblem(area, path, found) }))
    .filter(({ problem }) => problem !== undefined)
    .map(({ found, problem }) => `${path}:${found.line}: ${problem}`)
}

function importProblem(area: Area, path: string, { target, access }: Import): string | undefined {
  if (target === null) {
    return area.packages['node:'] ? undefined : `${area.name} must not import a computed name`
  }
  const inside = target.startsWith('.')
  const file = inside ? posix.join(posix.dirname(path), target) : undefined
  const name = file === undefined ? packageOf(target) : areaOf(file)?.name
  const rules = inside ? area.areas : area.packages
  const allowed = name === undefined ? undefined : rules[name]
  if (allowed === 'yes' || (allowed === 'types' && access === 'types')) return undefined
  const what = file ?? target
  if (allowed === 'types') return `${area.name} may import only types of ${what}: write \`import type\``
  return `${area.name} must not import ${what}, only ${Object.keys(rules).join(', ') || 'nothing'}`
}

function areaOf(path: string): Area | undefined {
  return IMPORT_TABLE.find((area) =>
    area.path.endsWith('/') ? path.startsWith(area.path) : path === area.path,
  )
}

function packageOf(target: string): string {
  if (target.startsWith('node:')) return 'node:'
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')
}

function importsOf(path: string, source: string): Import[] {
  const { program, errors } = parseSync(path, source)
  if (errors[0]) throw new SyntaxError(`${path}: ${errors[0].message}`)
  const imports: Import[] = []
  const add = (at: { start: number }, target: unknown, typesOnly: boolean) => {
    const line = source.slice(0, at.start).split('\n').length
    imports.push({
      target: typeof target === 'string' ? target : null,
      access: typesOnly ? 'types' : 'yes',
      line,
    })
  }
  new Visitor({
    // `import { type A }` is not types only: under verbatimModuleSyntax it still loads the module.
    ImportDeclaration: (node) => add(node, node.source.value, node.importKind === 'type'),
    ExportNamedDeclaration: (node) => {
      if (node.source) add(node, node.source.value, node.exportKind === 'type')
    },
    ExportAllDeclaration: (node) => add(node, node.source.value, node.exportKind === 'type'),
    ImportExpression: (node) => add(node, 'value' in node.source ? node.source.value : null, false),
    TSImportType: (node) => add(node, node.source.value, true),
  }).visit(program)
  return imports
}
