import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readCalls } from '../../src/shared/compaction/ledger/calls.ts'
import { holdsPlan, readPlan, renderPlan } from '../../src/shared/compaction/ledger/plan.ts'
import { count } from './ledger-fixtures.ts'

describe('ledger: task lists', () => {
  const call = (input: unknown) => [{ kind: 'call', message: 0, callId: 'a', tool: 't', input }] as const

  for (const status of [
    'completed',
    'complete',
    'Done',
    'finished',
    'closed',
    'cancelled',
    'canceled',
    'skipped',
  ])
    test(`${status} is done`, () =>
      assert.deepEqual(readPlan(call([{ status, text: 'x' }]), undefined), {
        open: [],
        done: 1,
        lastDone: 'x',
      }))
  for (const [status, active] of [
    ['in_progress', true],
    ['In Progress', true],
    ['in-progress', true],
    ['inprogress', true],
    ['active', true],
    ['doing', true],
    ['started', true],
    ['current', true],
    ['pending', false],
    ['undone', false],
    ['done?', false],
    ['inactive', false],
    ['active?', false],
  ] as const)
    test(`${status} is open${active ? ' and at work' : ''}`, () =>
      assert.deepEqual(readPlan(call({ list: [{ status, text: 'x' }] }), undefined), {
        open: [{ text: 'x', active }],
        done: 0,
        lastDone: undefined,
      }))

  test('a list of objects with a status and a text, up to four levels deep', () => {
    const list = [{ status: 'x', text: 'a' }]
    assert.ok(holdsPlan(list) && holdsPlan({ a: { b: { c: { d: list } } } }))
    assert.ok(!holdsPlan({ a: { b: { c: { d: { e: list } } } } }))
    for (const key of ['content', 'step', 'title', 'text', 'task', 'subject', 'description', 'name'])
      assert.ok(holdsPlan([{ status: 'x', [key]: 'a' }]), key)
    for (const other of [
      [],
      [1],
      [{ status: 'x' }],
      [{ text: 'x' }],
      [{ status: 'x', label: 'a' }],
      [{ status: 7, text: 'a' }],
      [...list, null],
      'x',
      null,
    ])
      assert.ok(!holdsPlan(other), JSON.stringify(other))
  })

  test('an earlier one holds until there is another', () => {
    const earlier = { open: [{ text: 'a', active: true }], done: 2, lastDone: 'z' }
    assert.equal(readPlan(call({ x: 1 }), earlier), earlier)
    assert.equal(renderPlan(earlier, 100, count), '## Plan\n[~] a\n[x] 2 done, last: z')
    assert.equal(renderPlan({ ...earlier, lastDone: undefined }, 100, count), '## Plan\n[~] a\n[x] 2 done')
    assert.equal(renderPlan({ open: [], done: 1, lastDone: 'z' }, 100, count), '## Plan\n[x] 1 done, last: z')
    assert.equal(renderPlan({ open: [], done: 0, lastDone: undefined }, 100, count), '')
    assert.equal(renderPlan(undefined, 100, count), '')
    assert.equal(renderPlan(earlier, 1, count), '')
    const exact = count('## Plan\n[~] a\n[x] 2 done, last: z')
    assert.equal(renderPlan(earlier, exact, count), '## Plan\n[~] a\n[x] 2 done, last: z')
    assert.equal(renderPlan(earlier, exact - 1, count), '')
    assert.equal(
      renderPlan(
        { ...earlier, open: [...earlier.open, { text: 'a longer task than that', active: false }] },
        11,
        count,
      ),
      '## Plan\n[~] a\n[ ] 1 more\n[x] 2 done, last: z',
    )
  })
})

describe('ledger: what a call did', () => {
  const facts = (input: unknown, result = 'ok', isError = false) =>
    readCalls(
      [
        { kind: 'call', message: 0, callId: 'a', tool: 'T', input },
        { kind: 'result', message: 1, callId: 'a', text: result, isError },
      ],
      '/r/',
    )[0]

  for (const [input, target, edits] of [
    [{ file_path: '/r/a.ts' }, 'a.ts', []],
    [{ path: '/r/a.ts' }, 'a.ts', []],
    [{ path: '/r/src' }, undefined, []],
    [{ filename: 'dir' }, 'dir', []],
    [{ file: 'b.py', content: 'x' }, 'b.py', ['b.py']],
    [{ notebook_path: 'n.ipynb', new_source: '' }, 'n.ipynb', ['n.ipynb']],
    [{ path: 'a.ts', edits: [] }, 'a.ts', ['a.ts']],
    [{ path: 'a.ts', NewString: '' }, 'a.ts', ['a.ts']],
    [{ path: 'a.ts', contented: '' }, 'a.ts', []],
    [{ relative_path: 'x/y.ts', insert_text: '' }, 'x/y.ts', ['x/y.ts']],
    [{ command: 'cd lib && echo > a.ts' }, undefined, ['lib/a.ts']],
    [{ command: 'cd lib/ && echo > ./b.ts' }, undefined, ['lib/b.ts']],
    [{ command: 'cd $X && echo > a.ts' }, undefined, ['a.ts']],
    [{ command: 'cd lib && echo > /r/c.ts; echo > ~/d; echo > C:/e' }, undefined, ['c.ts', '~/d', 'C:/e']],
    [{ command: 'make && cd lib && echo > a.ts' }, undefined, ['a.ts']],
    [
      { command: 'apply_patch <<E\n*** Update File: p.ts\n*** Add File: q.ts\n*** Delete File: z.ts\nE' },
      undefined,
      ['p.ts', 'q.ts'],
    ],
    [{ patch: '*** Update File: p.ts', n: 7 }, undefined, ['p.ts']],
    ['*** Add File: s.ts', undefined, ['s.ts']],
    [null, undefined, []],
    [7, undefined, []],
  ] as const)
    test(JSON.stringify(input), () =>
      assert.deepEqual([facts(input)?.target, facts(input)?.edits], [target, edits]),
    )

  for (const [result, outcome] of [
    ['Exit code 1', 'failed'],
    ['Error: Exit code 12', 'failed'],
    ['Exit code 0', 'ok'],
    ['<returncode>2', 'failed'],
    ['exited with code 3', 'failed'],
    ['exit_code: 1', 'failed'],
    ['exit status 4', 'failed'],
    ['"exit_code": -1', 'failed'],
    ['returned 5', 'failed'],
    ['returned 0', 'ok'],
    [`${'z'.repeat(180)} returned 5 ${'z'.repeat(300)}`, 'failed'],
    [`${'z'.repeat(200)} returned 5 ${'z'.repeat(300)}`, 'ok'],
    [`${'z'.repeat(300)} returned 5`, 'failed'],
  ] as const)
    test(`a result with ${result.replaceAll(/z+/g, '…')}: ${outcome}`, () =>
      assert.equal(facts({ command: 'make' }, result)?.outcome, outcome))

  test('each call has the first result behind it with its id', () => {
    const call = (message: number) => ({ kind: 'call', message, callId: 'a', tool: 'T', input: {} }) as const
    const result = (message: number, text: string, isError = false) =>
      ({ kind: 'result', message, callId: 'a', text, isError }) as const
    const outcomes = (entries: Parameters<typeof readCalls>[0]) =>
      readCalls(entries, '').map(({ outcome, result: found }) => [outcome, found?.text])
    assert.deepEqual(
      outcomes([result(0, 'early'), call(1), result(2, 'x', true), result(3, 'late'), call(4)]),
      [
        ['failed', 'x'],
        ['unanswered', undefined],
      ],
    )
    assert.deepEqual(outcomes([call(0), result(1, 'The user denied it', true)]), [
      ['rejected', 'The user denied it'],
    ])
  })

  test('its key is its tool and target, or its commands', () => {
    assert.equal(facts({ path: 'a.ts' })?.key, 'T a.ts')
    assert.equal(facts({})?.key, 'T ')
    assert.equal(facts({ command: 'cd x && make all' })?.key, 'make all')
    assert.equal(facts({ command: 'git add . && git commit -m x' })?.commits, true)
    assert.equal(facts({ command: 'git log' })?.commits, false)
  })
})
