import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { importProblems } from '../../scripts/import-rules.ts'

// The table as the design states it, written out again: the checker's own data must agree with every cell.
const COLUMNS = ['shared', 'workflows', 'activities', 'store', 'formats', 'client', 'worker', 'cli']
const TABLE: Record<string, string[]> = {
  shared: ['yes', 'no', 'no', 'no', 'no', 'no', 'no', 'no'],
  workflows: ['yes', 'yes', 'types', 'no', 'no', 'no', 'no', 'no'],
  activities: ['yes', 'no', 'yes', 'no', 'yes', 'no', 'no', 'no'],
  store: ['yes', 'no', 'no', 'yes', 'no', 'no', 'no', 'no'],
  formats: ['yes', 'no', 'no', 'no', 'yes', 'no', 'no', 'no'],
  client: ['yes', 'types', 'no', 'no', 'no', 'yes', 'no', 'no'],
  worker: ['yes', 'no', 'yes', 'no', 'no', 'no', 'yes', 'no'],
  cli: ['yes', 'no', 'no', 'yes', 'yes', 'yes', 'yes', 'yes'],
}
const PACKAGES: Record<string, { yes: string[]; no: string[] }> = {
  shared: { yes: ['zod'], no: ['node:fs', 'node:fs/promises', '@temporalio/common', 'js-tiktoken/ranks'] },
  'shared/tokens': { yes: ['js-tiktoken/ranks/o200k_base'], no: ['node:buffer', '@temporalio/common'] },
  formats: { yes: ['zod'], no: ['node:path', '@temporalio/common'] },
  workflows: {
    yes: ['@temporalio/workflow'],
    no: ['node:fs', '@temporalio/worker', '@temporalio/client', '@temporalio/activity'],
  },
  activities: {
    yes: ['node:fs', '@temporalio/activity'],
    no: ['@temporalio/worker', '@temporalio/workflow', 'pg', 'libsql'],
  },
  store: { yes: ['node:fs', 'libsql', 'pg'], no: ['@temporalio/worker', '@temporalio/client', 'pino'] },
  client: { yes: ['@temporalio/client'], no: ['@temporalio/worker', 'libsql', 'pg', 'commander'] },
  worker: { yes: ['@temporalio/worker', 'pino'], no: ['libsql', 'pg', 'commander'] },
  cli: { yes: ['commander', 'picocolors'], no: ['libsql', 'pg', '@temporalio/workflow'] },
}

const VALUE_FORMS = [
  (target: string) => `import { it } from '${target}'`,
  (target: string) => `import '${target}'`,
  (target: string) => `import { type It } from '${target}'`,
  (target: string) => `export { it } from '${target}'`,
  (target: string) => `export * from '${target}'`,
  (target: string) => `const it = await import('${target}')`,
]
const TYPE_FORMS = [
  (target: string) => `import type { It } from '${target}'`,
  (target: string) => `export type { It } from '${target}'`,
  (target: string) => `type It = import('${target}').It`,
]

for (const [from, row] of Object.entries(TABLE)) {
  for (const [column, to] of COLUMNS.entries()) {
    const expected = row[column]
    test(`imports: ${from} → ${to}: ${expected}`, () => {
      const path = `src/${from}/deep/file.ts`
      const target = `../../${to}/other.ts`
      for (const form of VALUE_FORMS) assertProblem(path, form(target), expected !== 'yes')
      for (const form of TYPE_FORMS) assertProblem(path, form(target), expected === 'no')
    })
  }
}

for (const [from, { yes, no }] of Object.entries(PACKAGES)) {
  test(`imports: packages of ${from}`, () => {
    for (const name of yes) assertProblem(`src/${from}/file.ts`, `import { it } from '${name}'`, false)
    for (const name of no) {
      for (const form of [...VALUE_FORMS, ...TYPE_FORMS])
        assertProblem(`src/${from}/file.ts`, form(name), true)
    }
  })
}

test('imports: the token ranks stay out of shared and of workflows, but for their types', () => {
  for (const path of ['src/shared/session/fold.ts', 'src/workflows/deep/agent.ts', 'src/shared/index.ts']) {
    const up = path === 'src/shared/index.ts' ? './tokens/count.ts' : '../../shared/tokens/count.ts'
    assertProblem(path, `import { count } from '${up}'`, true)
    assertProblem(path, `import type { Count } from '${up}'`, false)
  }
  assertProblem('src/activities/measure.ts', "import { count } from '../shared/tokens/count.ts'", false)
})

test('imports: a client may load the message definitions, and of the other workflow files only types', () => {
  assertProblem('src/client/session.ts', "import { promptSignal } from '../workflows/messages.ts'", false)
  assertProblem('src/client/session.ts', "import { agentSession } from '../workflows/agent-session.ts'", true)
})

test('imports: checkpoint-source.ts imports nothing at all', () => {
  for (const target of ['./limits.ts', 'zod', 'node:fs']) {
    for (const form of [...VALUE_FORMS, ...TYPE_FORMS]) {
      assertProblem('src/shared/checkpoint-source.ts', form(target), true)
    }
  }
})

test('imports: nothing in src reaches out of src, or hides what it loads from the sandbox', () => {
  assertProblem('src/client/session.ts', "import { fake } from '../../test/support/fake.ts'", true)
  assertProblem('src/elsewhere/file.ts', 'export const it = 1', true)
  assertProblem('src/workflows/agent-session.ts', 'const it = await import(name)', true)
  assertProblem('src/worker/load.ts', 'const it = await import(name)', false)
})

test('imports: a problem names the file, the line, what was imported and what may be', () => {
  assert.deepEqual(importProblems('src/store/read.ts', "\nimport { start } from '../client/index.ts'\n"), [
    'src/store/read.ts:2: store must not import src/client/index.ts, only checkpoint, shared, tokens, store',
  ])
})

// One file a rule, each with the violation that the rule exists for; the repository's own configuration over them.
const VIOLATIONS: { rule: string; path: string; source: string }[] = [
  { rule: 'plugin', path: 'src/shared/clock-now.ts', source: 'export const it = Date.now()\n' },
  { rule: 'plugin', path: 'src/shared/clock-new.ts', source: 'export const it = new Date()\n' },
  { rule: 'plugin', path: 'src/shared/deep/random.ts', source: 'export const it = Math.random()\n' },
  { rule: 'plugin', path: 'src/formats/clock.ts', source: 'export const it = Date.now\n' },
  ...['process', 'performance', 'crypto', 'console', 'fetch', 'Buffer', 'setTimeout'].map((name) => ({
    rule: 'lint/style/noRestrictedGlobals',
    path: `src/shared/global-${name.toLowerCase()}.ts`,
    source: `export const it = ${name}\n`,
  })),
  { rule: 'lint/nursery/noExtendNative', path: 'src/a.ts', source: 'Object.prototype.it = 1\n' },
  {
    rule: 'lint/suspicious/noProto',
    path: 'src/b.ts',
    source: 'export const it = (o: object) => o.__proto__\n',
  },
  {
    rule: 'lint/nursery/noFloatingPromises',
    path: 'src/c.ts',
    source: 'const run = async () => {}\nexport function it(): void {\n  run()\n}\n',
  },
  {
    rule: 'lint/nursery/noMisusedPromises',
    path: 'src/d.ts',
    source: 'const run = async () => true\nexport const it = () => {\n  if (run()) return 1\n  return 2\n}\n',
  },
  { rule: 'lint/suspicious/noImportCycles', path: 'src/e.ts', source: "export { it } from './f.ts'\n" },
  { rule: 'lint/suspicious/noImportCycles', path: 'src/f.ts', source: "export { it } from './e.ts'\n" },
  { rule: 'lint/style/noDefaultExport', path: 'src/g.ts', source: 'export default 1\n' },
  { rule: 'lint/style/useFilenamingConvention', path: 'src/camelCase.ts', source: 'export const it = 1\n' },
  { rule: 'lint/suspicious/noExplicitAny', path: 'src/h.ts', source: 'export const it = (a: any) => a\n' },
  { rule: 'lint/suspicious/noTsIgnore', path: 'src/i.ts', source: '// @ts-ignore\nexport const it: 1 = 2\n' },
  { rule: 'lint/performance/noReExportAll', path: 'src/j.ts', source: "export * from './a.ts'\n" },
  {
    rule: 'lint/style/noExcessiveLinesPerFile',
    path: 'src/k.ts',
    source: Array.from({ length: 401 }, (_, line) => `export const it${line} = 1\n`).join(''),
  },
  {
    rule: 'lint/complexity/noExcessiveLinesPerFunction',
    path: 'src/l.ts',
    source: `export function it(list: number[]): void {\n${'  list.push(1)\n'.repeat(71)}}\n`,
  },
]
const ALLOWED = [
  { path: 'src/shared/date.ts', source: "export const it = new Date('2020-01-01').getTime()\n" },
  { path: 'src/worker/date.ts', source: 'export const it = Date.now() + Math.random()\n' },
]

test('lint: each rule fires on its violation, and only there', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'lint-rules-'))
  t.after(() => rmSync(root, { recursive: true }))
  const repository = resolve(import.meta.dirname, '../..')
  for (const name of ['biome.json', '.gitignore', 'scripts/lint/pure.grit']) {
    write(root, name, readFileSync(join(repository, name), 'utf8'))
  }
  for (const { path, source } of [...VIOLATIONS, ...ALLOWED]) write(root, path, source)
  const found = biomeErrors(repository, root)
  const expected = new Set(VIOLATIONS.map(({ rule, path }) => `${path} ${rule}`))
  assert.deepEqual([...found].sort(), [...expected].sort())
})

function assertProblem(path: string, source: string, expected: boolean): void {
  const problems = importProblems(path, source)
  assert.equal(problems.length > 0, expected, `${path}: ${source}\n${problems.join('\n')}`)
}

function write(root: string, path: string, source: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), source)
}

function biomeErrors(repository: string, root: string): Set<string> {
  const biome = join(repository, 'node_modules/@biomejs/biome/bin/biome')
  const args = [biome, 'lint', '--reporter=json', '--max-diagnostics=none', 'src']
  let output: string
  try {
    output = execFileSync(process.execPath, args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  } catch (error) {
    output = (error as { stdout: string }).stdout
  }
  const { diagnostics } = JSON.parse(output) as {
    diagnostics: { severity: string; category: string; location: { path: string } }[]
  }
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  return new Set(errors.map(({ category, location }) => `${location.path} ${category}`))
}
