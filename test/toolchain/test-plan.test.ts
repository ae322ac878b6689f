import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countProblems, countsByKind, filesToRepeat, planTests, TEST_KINDS } from '../../scripts/test-plan.ts'

const filesOf = (kind: string) => [`${kind}-a.test.ts`, `${kind}-b.test.ts`]
const names = (args: string[]) => planTests(args, filesOf).kinds.map(({ name }) => name)

test('test plan: no argument → every kind in order of cost, but not those that run only when named', () => {
  const plan = planTests([], filesOf)
  assert.deepEqual(
    plan.kinds.map(({ name }) => name),
    TEST_KINDS.filter(({ onlyWhenNamed }) => !onlyWhenNamed).map(({ name }) => name),
  )
  assert.deepEqual(plan.files.slice(0, 3), [
    'test/toolchain/toolchain-a.test.ts',
    'test/toolchain/toolchain-b.test.ts',
    'test/pure/pure-a.test.ts',
  ])
  assert.deepEqual([plan.needsServer, plan.needsBundle, plan.whole, plan.strict], [true, true, true, false])
  assert.equal(plan.everything, true)
  for (const args of [['--fast'], ['pure'], ['--name', 'C12']])
    assert.equal(planTests(args, filesOf).everything, false)
})

test('test plan: --fast leaves out what needs a server', () => {
  const plan = planTests(['--fast'], filesOf)
  assert.equal(plan.needsServer, false)
  assert.ok(plan.kinds.every(({ needs }) => needs !== 'server'))
  assert.ok(names(['--fast']).includes('replay'))
})

test('test plan: kinds and files by name; a server only when one of them needs it', () => {
  assert.deepEqual(names(['store', 'pure']), ['pure', 'store'])
  assert.deepEqual(names(['package']), ['package'])
  const one = planTests(['test/pure/fold.test.ts'], filesOf)
  assert.deepEqual(one.files, ['test/pure/fold.test.ts'])
  assert.deepEqual([one.needsServer, one.needsBundle, one.whole], [false, false, false])
  assert.equal(planTests(['test/process/kill.test.ts'], filesOf).needsServer, true)
  const named = planTests(['--name', 'C12', 'pure', '--strict'], filesOf)
  assert.deepEqual([named.namePatterns, named.whole, named.strict], [['C12'], false, true])
})

test('test plan: an argument that names nothing is refused, and says what there is', () => {
  for (const arg of ['test/pure', 'purr', '--fats', 'test/pure/deep/fold.test.ts', 'test/pure/fold.ts']) {
    assert.throws(() => planTests([arg], filesOf), {
      name: 'RangeError',
      message: /no test file .* no kind \(toolchain, .*--strict/,
    })
  }
})

test('test plan: fewer tests than the minimum fail a whole run, skipped ones count', () => {
  const [kind] = TEST_KINDS
  assert.ok(kind)
  const counts = (passed: number, skipped: number) => new Map([[kind.name, { passed, failed: 0, skipped }]])
  const plan = planTests([kind.name], filesOf)
  assert.deepEqual(countProblems(plan, counts(kind.minimum - 1, 1)), [])
  assert.deepEqual(countProblems(plan, counts(kind.minimum - 1, 0)), [
    `${kind.name}: ${kind.minimum - 1} tests ran, at least ${kind.minimum} must (scripts/test-plan.ts)`,
  ])
  assert.equal(countProblems(plan, new Map()).length, 1)
  assert.deepEqual(countProblems(planTests([`test/${kind.name}/x.test.ts`], filesOf), counts(1, 0)), [])
})

test('test plan: --strict allows no skipped test', () => {
  const skipped = new Map([['pure', { passed: 5_000, failed: 0, skipped: 2 }]])
  assert.deepEqual(countProblems(planTests(['pure', '--strict'], filesOf), skipped), [
    'pure: 2 tests were skipped, --strict allows none',
  ])
  assert.deepEqual(countProblems(planTests(['pure'], filesOf), skipped), [])
})

test('test plan: every kind has a minimum', () => {
  for (const { name, minimum } of TEST_KINDS) assert.ok(minimum >= 1, name)
})

test('test plan: --repeat runs again what failed on a real server, when it is little and nothing else failed', () => {
  const plan = planTests(['--repeat'], filesOf)
  const result = (failed: number) => ({ passed: 5, failed, skipped: 0 })
  const of = (...failed: string[]) =>
    new Map(
      [...plan.files, 'src/store/contract/log-tests.ts', ''].map((file) => [
        file,
        result(failed.includes(file) ? 1 : 0),
      ]),
    )
  const [workflow, cli, third] = [
    'test/workflow/workflow-a.test.ts',
    'test/cli/cli-b.test.ts',
    'test/process/process-a.test.ts',
  ]
  assert.deepEqual(filesToRepeat(plan, of()), [])
  assert.deepEqual(filesToRepeat(plan, of(workflow, cli)), [workflow, cli])
  assert.deepEqual(filesToRepeat(plan, of(workflow, cli, third)), [])
  for (const other of ['test/pure/pure-a.test.ts', 'src/store/contract/log-tests.ts', ''])
    assert.deepEqual(filesToRepeat(plan, of(workflow, other)), [])
  assert.deepEqual(filesToRepeat(planTests([], filesOf), of(workflow)), [])
})

test('test plan: counts of files add up by kind', () => {
  const counts = { passed: 2, failed: 1, skipped: 3 }
  const byKind = countsByKind(
    new Map([
      ['test/pure/a.test.ts', counts],
      ['test/pure/b.test.ts', counts],
      ['test/cli/a.test.ts', counts],
    ]),
  )
  assert.deepEqual(
    [...byKind],
    [
      ['pure', { passed: 4, failed: 2, skipped: 6 }],
      ['cli', counts],
    ],
  )
})
