import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rowsWithoutPass, shows } from '../../scripts/acceptance-tables.ts'
import { fillTable } from '../../scripts/coverage-table.ts'
import { idsOfTitle, titlesOf } from '../../scripts/title-ids.ts'

const titles: Record<string, string[]> = {
  'C6 recovery off': ['C6'],
  'C6, C7: two rows': ['C6', 'C7'],
  'D10 B12 rows of two digits': ['D10', 'B12'],
  'fault B07 the gauge': ['fault B07'],
  'B2 takes the oldest (faults D03, G07 and B14)': ['fault D03', 'fault G07', 'fault B14', 'B2'],
  'G03 a leading zero is a fault': ['fault G03'],
  'fault B10 is no row': ['fault B10'],
  'B64 no such row': ['B64'],
  'O6 I8 are listed nowhere': [],
  'V8, U+FFFD, SHA256, t3.s2 and R2 are no ids': [],
}

for (const [title, ids] of Object.entries(titles))
  test(`acceptance: ids in “${title}”`, () => assert.deepEqual(idsOfTitle(title), ids))

test('acceptance: titles are the first arguments of tests and groups, and the keys of a contract', () => {
  const source = [
    "test('one', () => {})",
    "describe('two', { concurrency: true }, () => { it(`three $" + '{1} four`, () => {}) })',
    "test.skip('five', () => {})",
    "const text = \"test('no', () => {})\" // test('no either')",
    'test(computed, () => {})',
  ].join('\n')
  assert.deepEqual(titlesOf('test/pure/x.test.ts', source), ['one', 'two', 'three … four', 'five'])
  const contract = "export const tests = { 'six': async () => {}, seven: 'eight' }"
  assert.deepEqual(titlesOf('src/store/contract/x-tests.ts', contract), ['six'])
  assert.deepEqual(titlesOf('test/pure/x.test.ts', contract), [])
})

const page = [
  '| A1 | one | open |',
  '| A2 | two | `pure/old` |',
  '| A3 | three | cannot occur: no threads |',
].join('\n')

test('acceptance: a row gets the files that name it; open rows and reasons stay; a row that lost its tests is a problem', () => {
  const filled = fillTable(page, '', new Map([['A1', ['pure/x', 'workflow/y']]]))
  assert.equal(filled.page, page.replace('open', '`pure/x`, `workflow/y`'))
  assert.deepEqual([filled.open, filled.problems.length], [[], 1])
  assert.match(filled.problems[0] ?? '', /^A2: no test names it any more; it was shown by `pure\/old`$/)
  assert.deepEqual(fillTable(page, '', new Map([['A2', ['pure/old']]])), { page, open: ['A1'], problems: [] })
})

test('acceptance: a row is of no use without a test that passed', () => {
  const all = rowsWithoutPass(new Set())
  assert.ok(all.length > 50)
  const [, id = ''] = /no test of (\S+) passed/.exec(all[0] ?? '') ?? []
  assert.equal(rowsWithoutPass(new Set([id])).length, all.length - 1)
})

test('acceptance: tests over scripted activities or scripted ports of the workflow show no row', () => {
  const scripted = [
    'test/workflow/compactions.test.ts',
    'test/workflow/prompts.test.ts',
    'test/pure/workflow-turn-steps.test.ts',
  ]
  for (const path of scripted) assert.equal(shows(path, 'A1'), false, path)
  const real = ['test/workflow/real-path.test.ts', 'test/pure/span.test.ts', 'src/store/contract/harness.ts']
  for (const path of real) assert.equal(shows(path, 'A1'), true, path)
})

test('acceptance: the rows B to E need a test on the real workflow', () => {
  for (const id of ['B1', 'C9', 'D15', 'E2']) {
    assert.equal(shows('test/pure/span.test.ts', id), false)
    assert.equal(shows('test/workflow/real-path.test.ts', id), true)
  }
  for (const id of ['G5', 'fault B07']) assert.equal(shows('test/pure/span.test.ts', id), true)
})
