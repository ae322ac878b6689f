import { parseSync, Visitor } from 'oxc-parser'

// Titles of tests, and the ids of acceptance rows (`C6`) and faults (`fault B07`) in them.

/** `C6` of docs/acceptance.md, or `fault B07` of docs/faults.md. */
export type TitleId = string

/** Rows of the invariants and of crash and concurrency, which other tests name and no table lists. */
const UNLISTED = /^(O([1-9]|1[0-8])|I([1-9]|10))$/

const FAULTS = /\bfaults? ([A-Z]\d{2}(?:(?:, and |, | and | )[A-Z]\d{2})*)\b/g

/**
 * The ids that a title names. Two digits behind the word *fault* are faults, and so are those with a leading zero
 * anywhere, since no row has one.
 */
export function idsOfTitle(title: string): TitleId[] {
  const faults = [...title.matchAll(FAULTS)].flatMap(([, list = '']) => list.match(/[A-Z]\d{2}/g) ?? [])
  const rest = title.replaceAll(FAULTS, ' ').match(/\b(?:[A-Z]0\d|[A-IO][1-9]\d?)\b/g) ?? []
  const ids = [
    ...faults.map((id) => `fault ${id}`),
    ...rest.map((id) => (id[1] === '0' ? `fault ${id}` : id)),
  ]
  return [...new Set(ids)].filter((id) => !UNLISTED.test(id))
}

const REGISTERS = ['test', 'it', 'describe', 'suite']

/**
 * The titles that a file gives its tests and groups, as far as they stand in the source: `…` for what is computed. In
 * the contract of a store, tests are the string keys of objects.
 */
export function titlesOf(path: string, source: string): string[] {
  const { program, errors } = parseSync(path, source)
  if (errors[0]) throw new SyntaxError(`${path}: ${errors[0].message}`)
  const titles: string[] = []
  const isContract = path.startsWith('src/store/contract/')
  new Visitor({
    CallExpression: ({ callee, arguments: [first] }) => {
      const name = callee.type === 'MemberExpression' ? (callee.object as { name?: string }).name : undefined
      const called = callee.type === 'Identifier' ? callee.name : name
      if (called === undefined || !REGISTERS.includes(called)) return
      if (first?.type === 'Literal' && typeof first.value === 'string') titles.push(first.value)
      if (first?.type === 'TemplateLiteral')
        titles.push(first.quasis.map((part) => part.value.cooked).join('…'))
    },
    Property: ({ key }) => {
      if (isContract && key.type === 'Literal' && typeof key.value === 'string') titles.push(key.value)
    },
  }).visit(program)
  return titles
}

/** What a file imports with a relative path, as it stands. */
export function relativeImports(path: string, source: string): string[] {
  const { module } = parseSync(path, source)
  return module.staticImports.map((found) => found.moduleRequest.value).filter((name) => name.startsWith('.'))
}
