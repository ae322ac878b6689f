import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { createProgram } from '../../src/cli/program.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import { policyInputSchema } from '../../src/shared/compaction/policy-input.ts'
import { PRESETS } from '../../src/shared/compaction/presets.ts'
import { COMPACTION_ERROR_CODES, ERROR_NAMES } from '../../src/shared/errors.ts'
import { LIMITS } from '../../src/shared/limits.ts'
import { eventDataSchemas } from '../../src/shared/session/events.ts'

// What the documentation says of files, tests, settings, limits and commands is there, by these names and numbers.

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const readme = read('README.md')
const pages = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'examples/README.md',
  ...markdownIn('docs'),
  ...markdownIn('docs/decisions'),
]

for (const page of pages) {
  test(`docs: every link of ${page} leads to a file and, where it names one, a heading`, () => {
    const missing = linksOf(read(page)).filter((link) => !leadsSomewhere(page, link))
    assert.deepEqual(missing, [])
  })

  // CONTRIBUTING also says where new files go.
  if (page === 'CONTRIBUTING.md') continue
  test(`docs: every file of the repository that ${page} names exists`, () => {
    const named = [
      ...read(page).matchAll(/`((?:src|test|docs|scripts|examples|demo|bench|docker)\/[\w./-]+)`/g),
    ]
    const missing = named.flatMap(([, path = '']) => (existsSync(join(root, path)) ? [] : [path]))
    assert.deepEqual(missing, [])
  })
}

test('docs: README has fewer than 250 lines', () => {
  assert.ok(readme.split('\n').length < 250)
})

test('docs: every test that the guarantees of README name exists, by file and title', () => {
  const rows = tableUnder(readme, 'Guarantees')
  assert.ok(rows.length >= 15)
  for (const [guarantee = '', shown = ''] of rows) {
    const tests = [...shown.matchAll(/\[[\w-]+\]\((test\/[\w/.-]+)\) ((?:“[^”]+”(?:, )?)+)/g)]
    assert.ok(tests.length > 0, guarantee)
    for (const [, path = '', titles = ''] of tests)
      for (const [, title = ''] of titles.matchAll(/“([^”]+)”/g))
        assert.ok(read(path).includes(title), `${path} has no test “${title}”`)
  }
})

test('docs: the settings of README are those of a policy, all of them', () => {
  const named = settings().flatMap(({ names }) => names)
  assert.deepEqual(named.toSorted(), Object.keys(policyInputSchema.shape).sort())
  for (const preset of Object.keys(PRESETS)) assert.ok(readme.includes(`\`${preset}\``), preset)
})

/** A window so large that no share of it is below a fixed number. */
const LARGE = { provider: 'p', model: 'm', contextWindow: 10_000_000, maxOutputTokens: null }

test('docs: the defaults of README are those of the code', () => {
  const policy = resolvePolicy({}, LARGE)
  const { prune, micro, breaker } = policy
  const code: Record<string, readonly unknown[]> = {
    auto: [policy.auto],
    thresholdRatio: [(policy.pressureTokens ?? 0) / LARGE.contextWindow],
    retainRatio: [0.16, policy.retainTokens],
    toolResultMaxTokens: [policy.toolResultMaxTokens, 0.15],
    summaryFallback: [policy.summaryFallback],
    summaryMaxTokens: [policy.summaryMaxTokens],
    compactionRetries: [policy.compactionRetries],
    maxOverflowRetries: [policy.maxOverflowRetries],
    prune: [prune?.thresholdChars, prune?.headChars, prune?.tailChars],
    micro: [micro?.keepLast, micro?.minReclaimTokens, ...(micro?.preserve ?? [])],
    compactTool: [policy.compactTool],
    historyTool: [policy.historyTool],
    checkpointTokens: [policy.checkpointTokens],
    userTextTokens: [policy.userTextTokens],
    replyMaxTokens: [policy.replyMaxTokens],
    minGainRatio: [policy.minGainRatio],
    breaker: [breaker.maxIneffectivePasses, ...breaker.skipSteps, breaker.holdMs],
    compactionBudget: [policy.compactionBudget ?? false],
    archive: [policy.archive ?? false],
    idleTimeout: [`${(policy.idleTimeoutMs ?? 0) / 3_600_000}h`],
  }
  const WITHOUT_NUMBERS = ['summarizer', 'pins', 'framePrefix', 'models']
  for (const { names, value } of settings()) {
    const [name = ''] = names
    if (WITHOUT_NUMBERS.includes(name)) continue
    for (const part of code[name] ?? [`(no default of ${name} is checked)`])
      assert.ok(
        wordsOf(value).includes(shown(part)),
        `${name}: README says “${value}”, the code ${shown(part)}`,
      )
  }
  const small = resolvePolicy({}, { ...LARGE, contextWindow: 20_000 })
  assert.deepEqual(
    [small.retainTokens, small.toolResultMaxTokens, small.replyMaxTokens],
    [0.16 * 20_000, 0.15 * 20_000, 20_000 / 4],
  )
})

test('docs: the limits of docs/operations.md are those of the code, all of them', () => {
  const rows = tableUnder(read('docs/operations.md'), 'Limits')
  const named = rows.flatMap(([names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
  assert.deepEqual(named.toSorted(), Object.keys(LIMITS).sort())
  for (const [names = '', value = ''] of rows)
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g)) {
      const limit = LIMITS[name as keyof typeof LIMITS]
      const forms = [grouped(limit), `${limit / 1024} KiB`, `${limit / 1024 / 1024} MiB`]
      assert.ok(
        forms.some((form) => new RegExp(`(?<![\\d,])${form}(?![\\d,])`).test(value)),
        `${name}: “${value}” has none of ${forms}`,
      )
    }
})

test('docs: every command that is named exists, and README names every command', () => {
  const scripts = Object.keys(JSON.parse(read('package.json')).scripts)
  for (const page of pages) {
    const named = [...read(page).matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(([, name = '']) => name)
    for (const name of named) assert.ok(scripts.includes(name), `${page}: npm run ${name}`)
  }
  const commands = createProgram('0').commands.map((command) => command.name())
  for (const [, name = ''] of readme.matchAll(/^\$ durable-compaction (\w+)/gm))
    assert.ok(commands.includes(name), `durable-compaction ${name}`)
  const listed = tableUnder(readme, 'Use it').flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  )
  assert.deepEqual(listed.toSorted(), commands.toSorted())
})

test('docs: what README calls not done yet is not there', () => {
  const rows = tableUnder(readme, 'What is not done yet')
  const [missing = ''] = rows.find(([cell = '']) => cell.startsWith('commands ')) ?? []
  const claimed = [...missing.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
  assert.ok(claimed.length > 0)
  const commands = createProgram('0').commands.map((command) => command.name())
  assert.deepEqual(
    claimed.filter((name) => commands.includes(name)),
    [],
  )
  for (const [file, names] of Object.entries({
    'src/store/index.ts': /\bpostgresStore\b/,
  }))
    assert.doesNotMatch(read(file), names, `${file}: README says that this is not there`)
})

test('docs: the snippets of README are compiled: each line of them is in its example', () => {
  const snippets = [...readme.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, snippet = '']) => snippet)
  const examples = ['readme-worker.ts', 'readme-application.ts'].map((name) => read(`examples/${name}`))
  assert.equal(snippets.length, examples.length)
  for (const [index, snippet] of snippets.entries()) {
    const lines = (examples[index] ?? '').replace(', type Watched', '').split('\n')
    assert.deepEqual(
      snippet.split('\n').filter((line) => !lines.includes(line)),
      [],
    )
  }
})

function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
}

/** Targets of the links of a page that stay in the repository. */
function linksOf(markdown: string): string[] {
  const text = markdown.replaceAll(/^```[\s\S]*?^```/gm, '')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^https?:/.test(target))
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(root, target))) return false
  return heading === undefined || headingsOf(read(target)).includes(heading)
}

/** As GitHub makes them. */
const headingsOf = (markdown: string): string[] =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )

/** The cells of the first table under a heading, without its head. */
function tableUnder(markdown: string, heading: string): string[][] {
  const [, section = ''] = markdown.split(`\n## ${heading}\n`)
  const [table = ''] = /(?:^\|.*\n?)+/m.exec(section) ?? []
  const rows = table.trim().split('\n').slice(2)
  return rows.map((row) => row.slice(2, -2).split(/ \| /))
}

const settings = () =>
  tableUnder(readme, 'Settings').map(([names = '', value = '']) => ({
    names: [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    value,
  }))

const wordsOf = (value: string): string[] => value.split(/[\s;/`]+/).map((word) => word.replace(/,$/, ''))

const grouped = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+$)/g, ',')

const shown = (value: unknown): string =>
  typeof value === 'number' && Number.isInteger(value) ? grouped(value) : String(value)

test('docs: docs/client.md names every type of event, every error and every code', () => {
  const page = read('docs/client.md')
  const namesUnder = (heading: string) =>
    tableUnder(page, heading).flatMap(([cell = '']) =>
      [...cell.matchAll(/`([\w/-]+)`/g)].map(([, name = '']) => name),
    )
  assert.deepEqual(namesUnder('Watch').toSorted(), Object.keys(eventDataSchemas).sort())
  assert.deepEqual(namesUnder('Errors').toSorted(), [...ERROR_NAMES].sort())
  for (const code of COMPACTION_ERROR_CODES)
    if (code !== 'interrupted') assert.match(page, new RegExp(`\`${code}\``), code)
})
