import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildLedger } from '../../src/shared/compaction/ledger/build-ledger.ts'
import { lostIdentifiers } from '../../src/shared/compaction/ledger/checkpoint-body.ts'
import { renderLists } from '../../src/shared/compaction/ledger/layout.ts'
import { rankItems } from '../../src/shared/compaction/ledger/rank.ts'
import { selectLists } from '../../src/shared/compaction/ledger/select.ts'
import type { Item, LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { assistant, bash, call, count, user, wide } from './ledger-fixtures.ts'

const item = (kind: Item['kind'], value: string, rest: Partial<Item> = {}): Item => ({
  kind,
  value,
  n: 1,
  last: 0,
  ...rest,
})
const ledgerOf = (span: LedgerMessage[], tail: LedgerMessage[] = [], workingDirectory?: string) =>
  buildLedger({ span, tail, budget: wide, count, workingDirectory })
const itemOf = (span: LedgerMessage[], kind: Item['kind'], value: string, workingDirectory?: string) =>
  ledgerOf(span, [], workingDirectory).state.items.find((each) => each.kind === kind && each.value === value)

describe('ledger: mentions', () => {
  it('counts user, assistant and calls as one, results and injected text as a quarter, once a block', () => {
    const span = [
      user('use sendChunk, sendChunk!'),
      assistant('sendChunk it is'),
      ...call('grep', { pattern: 'sendChunk' }, 'a: sendChunk\nb: sendChunk'),
      user('sendChunk', 'notice'),
      user('<system-reminder>sendChunk</system-reminder>go on'),
    ]
    assert.equal(itemOf(span, 'name', 'sendChunk')?.n, 3 + 3 * 0.25)
  })
  it('ignores thinking, keys of an input, and numbers that only position a read', () => {
    const thinking = { type: 'thinking', thinking: 'hidden_name' } as { type: string }
    const span = [
      { role: 'assistant' as const, blocks: [thinking] },
      ...call('read', { some_long_key: 'x', offset: '48213', limit: '77123', timeout_ms: '66321' }, ''),
    ]
    assert.deepEqual(ledgerOf(span).state.items, [])
  })
  it('reads the first 120,000 characters of a block', () => {
    const span = [user(`first_name ${'x '.repeat(60_000)}late_name`)]
    assert.deepEqual(
      ledgerOf(span).state.items.map(({ value }) => value),
      ['first_name'],
    )
  })
  it('takes the target of a tool whole, also with blanks and letters of any script', () => {
    const span = call('Write', { file_path: '/repo/My Files/报告 🚀.md', content: 'x' }, 'ok')
    const { lists } = ledgerOf(span, [], '/repo')
    assert.ok(lists.includes('"My Files/": "报告 🚀.md"*1+'), lists)
  })
})

describe('ledger: rank', () => {
  it('is kind × ln(1 + n) × 40 / (40 + age) ÷ √characters', () => {
    const items = [
      item('name', 'abcdef', { last: 100 }),
      item('path', 'abcdef', { last: 100 }),
      item('value', 'abcdef', { last: 100 }),
      item('name', 'ghijkl', { n: 8, last: 20 }),
      item('name', 'm'.repeat(54), { last: 100 }),
    ]
    // 0.425 path, 0.283 name, 0.299 old but often, 0.141 value, 0.094 long
    assert.deepEqual(
      rankItems(items, 100).map(({ kind, value }) => `${kind} ${value.slice(0, 6)}`),
      ['path abcdef', 'name ghijkl', 'name abcdef', 'value abcdef', 'name mmmmmm'],
    )
  })
  it('lets a path inherit mentions and age of its bare name, which has no place of its own', () => {
    const [path, ...others] = rankItems(
      [item('path', 'src/a.ts', { n: 1, last: 3 }), item('file', 'a.ts', { n: 4, last: 9 })],
      10,
    )
    assert.deepEqual([path?.value, path?.n, path?.last, others.length], ['src/a.ts', 5, 9, 0])
  })
  it('does not depend on the order of items of equal score', () => {
    const items = ['cc_cccc', 'aa_aaaa', 'bb_bbbb'].map((value) => item('name', value))
    assert.deepEqual(rankItems(items, 1), rankItems(items.toReversed(), 1))
  })
})

describe('ledger: what the tail holds', () => {
  it('is left out of the lists, and stays in what is carried', () => {
    const span = [
      assistant('call sendChunk and keepAlive in src/a.ts with `mix test --trace now`'),
      ...bash('mix test --trace now'),
    ]
    const ledger = ledgerOf(span, [assistant('keepAlive in src/a.ts'), ...bash('mix test --trace now')])
    assert.equal(ledger.lists, '## Names\nother: sendChunk')
    assert.ok(ledger.state.items.some(({ value }) => value === 'keepAlive'))
  })
  it('is compared whole: a longer word or a path that only ends the same does not count', () => {
    const { lists } = ledgerOf(
      [assistant('sendChunk #48 src/a.ts')],
      [assistant('sendChunks #482 lib/src/a.ts.bak')],
    )
    assert.match(lists, /sendChunk/)
    assert.match(lists, /#48/)
    assert.match(lists, /src\/: a\.ts/)
  })
})

describe('ledger: layout', () => {
  it('prints every section in its place', () => {
    const items = [
      item('path', 'src/upload/uploader.ts', { edits: 6, uncommitted: true }),
      item('path', 'package.json'),
      item('path', 'src/upload/types.ts', { edits: 2, uncommitted: false }),
      item('file', 'notes.md'),
      item('directory', 'src/upload'),
      item('directory', 'test/data'),
      item('line', 'pnpm test test/upload.test.ts', { runs: 7, failed: true }),
      item('command', 'pnpm test'),
      item('command', 'pnpm lint'),
      item('command', 'gh pr'),
      item('name', 'sendChunk', { owner: 'src/upload/uploader.ts' }),
      item('name', 'maxAttempts', { owner: 'src/upload/uploader.ts' }),
      item('name', 'RETRY_LIMIT'),
      item('name', 'onlyOne', { owner: 'src/upload/types.ts' }),
      item('link', 'https://a.example/x'),
      item('id', '#482'),
      item('id', 'up-7f3'),
      item('error', 'TypeError'),
      item('error', 'exit code 2'),
      item('value', '8443', { label: 'port' }),
      item('value', 'v1.2'),
    ]
    assert.equal(
      renderLists(items),
      `## Files
src/upload/: uploader.ts*6+ types.ts*2
./: package.json
elsewhere: notes.md
directories: test/data
## Commands
pnpm test test/upload.test.ts ×7 (failed)
pnpm lint; gh pr
## Names
uploader.ts: sendChunk maxAttempts
other: RETRY_LIMIT onlyOne
## Links
https://a.example/x
## Ids
#482 up-7f3
## Error codes
TypeError; exit code 2
## Values
port 8443; v1.2`,
    )
    assert.equal(renderLists([]), '')
  })
  it('tells two files of the same name apart', () => {
    const names = ['a', 'b'].flatMap((folder) =>
      ['one', 'two'].map((name) => item('name', `${name}_in_${folder}`, { owner: `src/${folder}/index.ts` })),
    )
    assert.equal(renderLists(names), '## Names\na/index.ts: one_in_a two_in_a\nb/index.ts: one_in_b two_in_b')
  })
})

describe('ledger: names and their files', () => {
  it('gives a name to the file of the last edit that held it, else to the last file seen with it', () => {
    const span = [
      ...call('Read', { file_path: 'src/a.ts' }, 'function readOnly() { editedName() }'),
      ...call('Edit', { file_path: 'src/b.ts', old_string: 'x', new_string: 'editedName()' }, 'ok'),
      ...call('Read', { file_path: 'src/c.ts' }, 'editedName() shellName()'),
      ...bash('cat src/d.ts', 'shellName readOnly2'),
      ...bash('diff src/e.ts src/f.ts', 'shellName'),
    ]
    const owners = new Map(ledgerOf(span).state.items.map(({ value, owner }) => [value, owner]))
    assert.equal(owners.get('readOnly'), 'src/a.ts')
    assert.equal(owners.get('editedName'), 'src/b.ts')
    assert.equal(owners.get('shellName'), 'src/d.ts')
  })
})

describe('ledger: edits and runs', () => {
  it('counts edits that succeeded and marks those after the last successful commit', () => {
    const edit = (file: string, failed = false) =>
      call('Edit', { file_path: file, new_string: 'x' }, 'r', failed)
    const span = [
      ...edit('/r/a.ts'),
      ...edit('/r/a.ts', true),
      ...edit('/r/b.ts'),
      ...bash('git commit -m x'),
      ...edit('/r/b.ts'),
      ...bash('git commit -m y', 'nothing to commit', true),
    ]
    assert.deepEqual(
      [itemOf(span, 'path', 'a.ts', '/r')?.edits, itemOf(span, 'path', 'a.ts', '/r')?.uncommitted],
      [1, false],
    )
    assert.deepEqual(
      [itemOf(span, 'path', 'b.ts', '/r')?.edits, itemOf(span, 'path', 'b.ts', '/r')?.uncommitted],
      [2, true],
    )
  })
  it('sees edits by a patch and by the shell, below the folder that the script changes to', () => {
    const patch =
      '*** Begin Patch\n*** Update File: src/a.ts\n@@\n+x\n*** Add File: src/b.ts\n+y\n*** End Patch'
    const span = [
      ...call('apply_patch', { input: patch }, 'ok'),
      ...bash('cd /r/lib && cat > c.py <<EOF\nx\nEOF'),
    ]
    for (const file of ['src/a.ts', 'src/b.ts', 'lib/c.py'])
      assert.equal(itemOf(span, 'path', file, '/r')?.edits, 1, file)
  })
  it('counts runs and says whether the last one failed, by flag or by exit code', () => {
    const line = 'mix test test/a.exs --trace'
    const failing = [
      'Exit code 2\nx',
      '<returncode>1</returncode>',
      'x\nProcess exited with code 3',
      '{"exit_code": 1}',
    ]
    for (const result of failing) {
      assert.deepEqual(pick(itemOf([...bash(line), ...bash(line, result)], 'line', line)), [2, true], result)
    }
    assert.deepEqual(pick(itemOf([...bash(line, 'x', true), ...bash(line)], 'line', line)), [2, false])
    assert.deepEqual(pick(itemOf(bash(line, '<returncode>0</returncode>'), 'line', line)), [1, false])
    const rejected = "The user doesn't want to proceed with this tool use."
    assert.deepEqual(pick(itemOf(bash(line, rejected, true), 'line', line)), [undefined, undefined])
  })
  const pick = (found: { runs?: number | undefined; failed?: boolean | undefined } | undefined) => [
    found?.runs,
    found?.failed,
  ]
})

describe('ledger: selection', () => {
  const ranked = Array.from({ length: 300 }, (_, i) => item('name', `some_name_${i}`))
  it('takes the longest prefix whose text fits, in few counts', () => {
    for (const budget of [0, 5, 17, 60, 200, 10_000]) {
      let counts = 0
      const { text, tokens, taken } = selectLists(ranked, budget, (value) => {
        counts++
        return count(value)
      })
      assert.equal(text, renderLists(ranked.slice(0, taken)))
      assert.ok(tokens <= budget && counts <= 12)
      assert.ok(
        taken === ranked.length || taken >= budget || count(renderLists(ranked.slice(0, taken + 1))) > budget,
      )
    }
  })
})

describe('ledger: what is lost', () => {
  it('counts by kind what neither lists, tail nor any other part of the checkpoint holds', () => {
    const span = [assistant('keepMe dropMe inTail_x inSummary_x src/gone.ts'), ...bash('gh pr view 3')]
    const ledger = buildLedger({
      span,
      tail: [assistant('inTail_x')],
      budget: { ...wide, listTokens: 8, assistantTokens: 0, planTokens: 0, errorTokens: 0 },
      count,
    })
    assert.deepEqual(ledger.lists, '')
    const lost = lostIdentifiers(ledger, 'the summary says inSummary_x and keepMe and gh pr view 3')
    assert.deepEqual(lost.counts, { path: 1, name: 1 })
    assert.deepEqual([...lost.identifiers].sort(), ['dropMe', 'src/gone.ts'])
  })
})
