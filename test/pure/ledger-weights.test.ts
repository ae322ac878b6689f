import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  renderAssistantTexts,
  renderEarlierSummary,
} from '../../src/shared/compaction/ledger/assistant-text.ts'
import { buildLedger } from '../../src/shared/compaction/ledger/build-ledger.ts'
import { cleanForMatching } from '../../src/shared/compaction/ledger/clean.ts'
import { pathRoot, targetPath } from '../../src/shared/compaction/ledger/paths.ts'
import { rankItems } from '../../src/shared/compaction/ledger/rank.ts'
import type { Item, LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { addWords, selectUserWords } from '../../src/shared/compaction/ledger/user-words.ts'
import { bash, call, count, found, user, wide } from './ledger-fixtures.ts'

const item = (kind: Item['kind'], value: string, rest: Partial<Item> = {}): Item => ({
  kind,
  value,
  n: 1,
  last: 0,
  ...rest,
})
const ledgerOf = (span: LedgerMessage[], tail: LedgerMessage[] = []) =>
  buildLedger({ span, tail, budget: wide, count })

describe('ledger: what is a path, and what only looks like one', () => {
  for (const [text, items] of [
    [
      '/dev/null /bin/sh /proc /usr/bin /usr/binary/x /devices/x',
      ['directory /usr/binary/x', 'directory /devices/x'],
    ],
    ['map/2 x/12 a.b/2-3 12/05/2024', []],
    ['v/1/2', ['directory v/1/2']],
    ['Read/Write Read/Write/Edit', []],
    ['Ab/Cd_e Read/write/Edit', ['directory Ab/Cd_e', 'directory Read/write/Edit']],
    ['/abc /ab ~/a ./a a_/b', ['directory /abc', 'directory a_/b']],
    ['x/y a/b/c and/or', ['directory a/b/c']],
    ['/a/ /abc/', ['directory /abc']],
    ['a/b.@ a/b/c.. ././x/y.ts', ['directory a/b/c', 'path x/y.ts']],
    ['src/a.ts... src/b/..', ['path src/a.ts', 'directory src/b/..']],
    ['[x]/a.ts x[y/z', ['path [x]/a.ts']],
    ['$a/b/c }a/b/c <a/b/c </a/b/c>', ['directory a/b/c']],
    ['D:/x/Y.ts', ['path D:/x/Y.ts']],
    ['https://a.example/b.?!: http:// https://', ['link https://a.example/b']],
  ] as const)
    test(text, () => assert.deepEqual(found(text), items))

  test('a target is taken whole, unless it cannot be a file', () => {
    for (const [value, root, path] of [
      [' a.ts ', '', 'a.ts'],
      ['/r/a b.ts', '/r/', 'a b.ts'],
      ['/rx/a', '/r/', '/rx/a'],
      ['C:\\a\\b', 'c:/a/', 'b'],
      ['x:/c:/a/b', 'c:/a/', 'x:/c:/a/b'],
      ['././x', '', 'x'],
      ['x'.repeat(250), '', 'x'.repeat(250)],
      ['x'.repeat(251), '', undefined],
      ['', '', undefined],
      ['/r/', '/r/', undefined],
      ['a/', '', undefined],
      ['a\nb', '', undefined],
      ['a*', '', undefined],
      ['a"b', '', undefined],
    ] as const)
      assert.equal(targetPath(value, root), path, value.slice(0, 20))
  })

  test('a working directory ends with one slash, and the root of all is none', () => {
    assert.deepEqual(
      [pathRoot('/a//'), pathRoot('C:\\x'), pathRoot('/'), pathRoot(''), pathRoot(undefined)],
      ['/a/', 'C:/x/', '', '', ''],
    )
  })
})

describe('ledger: encoded data', () => {
  for (const [text, clean] of [
    ['aB1'.repeat(10), ' '],
    ['aB1'.repeat(7), 'aB1'.repeat(7)],
    // Of the four marks of random text each is needed: small letters, digits, capitals, and changes between them.
    ['AbCdEfGhIjKlMnOpQrStUvWx', 'AbCdEfGhIjKlMnOpQrStUvWx'],
    ['a1'.repeat(15), 'a1'.repeat(15)],
    ['A1'.repeat(15), 'A1'.repeat(15)],
    ['abcdefgh12345678ABCDEFGH'.repeat(2), 'abcdefgh12345678ABCDEFGH'.repeat(2)],
    ['C:\\new\\x.ts a\\nb\\"c', 'C:/new/x.ts a b c'],
    ['a\\b c\\d', 'a\\b c\\d'],
  ] as const)
    test(text.slice(0, 30), () => assert.equal(cleanForMatching(text), clean))
})

describe('ledger: weights', () => {
  const first = (a: Item, b: Item, cut = 0) => rankItems([a, b], cut)[0]?.value

  test('a digit costs as much as two letters, a value four characters more', () => {
    assert.equal(first(item('name', 'abcdefgh'), item('name', 'abcde123')), 'abcdefgh')
    assert.equal(first(item('name', 'abcdefghij'), item('name', 'abcde123')), 'abcdefghij')
    assert.equal(first(item('name', 'abcdefghijkl'), item('name', 'abcde123')), 'abcde123')
    assert.equal(first(item('directory', 'abcdefgh'), item('value', 'abcde')), 'abcdefgh')
    assert.equal(first(item('directory', 'abcdefghij'), item('value', 'abcde')), 'abcde')
  })

  test('of equal scores the newest, then the first by its letters', () => {
    assert.equal(first(item('line', 'bbbbbb'), item('name', 'aaaaaa', { last: -40 })), 'bbbbbb')
    const names = ['cccccc', 'aaaaaa', 'bbbbbb'].map((value) => item('name', value))
    assert.deepEqual(
      rankItems(names, 5).map(({ value }) => value),
      ['aaaaaa', 'bbbbbb', 'cccccc'],
    )
  })
})

describe('ledger: mentions and their owners', () => {
  const items = (span: LedgerMessage[]) =>
    new Map(ledgerOf(span).state.items.map((each) => [`${each.kind} ${each.value}`, each]))

  test('a value has the newest label', () => {
    assert.equal(items([user('port: 8443')]).get('value 8443')?.label, 'port')
    assert.equal(items([user('port: 8443'), user('listen = 8443')]).get('value 8443')?.label, 'listen')
    assert.equal(items([user('port: 8443'), user('8443')]).get('value 8443')?.label, 'port')
  })

  test('words of a script without blanks are taken off a path in prose, unless the path is known so', () => {
    assert.ok(items([user('第1章/概要.md')]).has('path 1章/概要.md'))
    assert.ok(
      items([...call('Read', { file_path: '第1章/概要.md' }, 'ok'), user('第1章/概要.md')]).has(
        'path 第1章/概要.md',
      ),
    )
    assert.ok(
      !items([...call('Read', { file_path: '第1章/概要.md' }, 'ok'), user('第1章/概要.md')]).has(
        'path 1章/概要.md',
      ),
    )
    assert.ok(items([...call('list', {}, '第1章/概要.md')]).has('path 第1章/概要.md'))
  })

  test('a name belongs to the one file of an edit, not to one of several, and to no file of a shell that names two', () => {
    const edit = (file: string, text: string) => call('Edit', { file_path: file, new_string: text }, 'ok')
    const owner = (span: LedgerMessage[]) => items(span).get('name someName')?.owner
    assert.equal(owner(edit('a.ts', 'someName')), 'a.ts')
    assert.equal(
      owner([...edit('a.ts', 'someName'), ...call('Read', { file_path: 'b.ts' }, 'someName')]),
      'a.ts',
    )
    assert.equal(owner([...edit('a.ts', 'someName'), ...edit('b.ts', 'someName')]), 'b.ts')
    assert.equal(owner(call('Edit', { file_path: 'a.ts', new_string: 'x' }, 'someName')), 'a.ts')
    assert.equal(owner(bash('cat a.ts', 'someName')), 'a.ts')
    assert.equal(owner(bash('cat src/a.ts x.log', 'someName')), undefined)
    assert.equal(owner(bash('echo 12345 src/a.ts', 'someName')), 'src/a.ts')
    assert.equal(owner([user('someName')]), undefined)
    const patch = '*** Update File: a.ts\n+someName\n*** Update File: b.ts\n+x'
    assert.equal(owner(call('apply_patch', { input: patch }, 'ok')), undefined)
  })

  test('a result counts a quarter for what it says, and nothing for what its call says', () => {
    const both = items(bash('gh pr view 3', 'otherName gh pr view 3'))
    assert.equal(both.get('command gh pr')?.n, 1)
    assert.equal(both.get('name otherName')?.n, 0.25)
  })
})

describe('ledger: the user, to the token', () => {
  const words = (text: string, seq?: number) => ({ text, seq })
  const select = (
    start: string[],
    newest: string[],
    leftOut: number,
    budgetTokens: number,
    startTokens = budgetTokens,
  ) =>
    selectUserWords({
      said: { start: start.map((text) => words(text)), newest: newest.map((text) => words(text)), leftOut },
      budgetTokens,
      startTokens,
      count,
    })

  test('nothing is no section', () => {
    assert.deepEqual(select([], [], 3, 100), {
      text: '',
      tokens: 0,
      said: { start: [], newest: [], leftOut: 3 },
    })
  })

  test('what was left out is counted, one in the singular; an event is cited', () => {
    assert.match(select(['a'], [], 1, 100).text, /\n> a\n\[1 message left out\]$/)
    assert.match(select(['a'], ['b'], 2, 100).text, /\n> a\n\[2 messages left out\]\n> b$/)
    const cited = selectUserWords({
      said: { start: [words('a', 7), words('b\nc', 0)], newest: [], leftOut: 0 },
      budgetTokens: 100,
      startTokens: 100,
      count,
    })
    assert.match(cited.text, /\n\[#7\]\n> a\n\[#0\]\n> b\n> c$/)
  })

  test('all of it when it fits exactly, and not with a token less', () => {
    const all = select(['x'.repeat(100), 'y'.repeat(100)], [], 0, 1000)
    assert.deepEqual(select(['x'.repeat(100), 'y'.repeat(100)], [], 0, all.tokens).text, all.text)
    assert.notEqual(select(['x'.repeat(100), 'y'.repeat(100)], [], 0, all.tokens - 1).text, all.text)
  })

  test('new words go to the start until something was left out', () => {
    const said = { start: [words('a')], newest: [words('b')], leftOut: 0 }
    assert.deepEqual(addWords(said, [words('c')]), {
      start: [words('a'), words('b'), words('c')],
      newest: [],
      leftOut: 0,
    })
    assert.deepEqual(addWords({ ...said, leftOut: 1 }, [words('c')]), {
      ...said,
      newest: [words('b'), words('c')],
      leftOut: 1,
    })
  })

  test('a message of which fewer than 24 tokens would stay is left out', () => {
    const long = Array.from({ length: 200 }, (_, at) => `w${at}`).join(' ')
    assert.match(select([long], [], 0, 48).text, /tokens cut/)
    assert.equal(select([long], [], 0, 44).text, '')
  })
})

describe('ledger: the assistant, to the token', () => {
  const title = count('## The assistant said last') + 1

  test('a text that fits exactly is there, trimmed', () => {
    const cost = count('- abc') + 1
    assert.equal(
      renderAssistantTexts([' abc '], title + cost, count).text,
      '## The assistant said last\n- abc',
    )
    assert.deepEqual(renderAssistantTexts([' abc '], title + cost - 1, count), {
      text: '',
      tokens: 0,
      shown: [],
    })
  })

  test('an earlier summary needs room for 40 tokens, and is cut to what there is', () => {
    const least = count('## Earlier summary') + 2 + 40
    assert.equal(renderEarlierSummary(' it went well ', least, count), '## Earlier summary\n- it went well')
    assert.equal(renderEarlierSummary('it went well', least - 1, count), '')
    assert.equal(renderEarlierSummary(' \n', 1000, count), '')
    const cut = renderEarlierSummary(Array.from({ length: 500 }, (_, at) => `w${at}`).join(' '), 100, count)
    assert.match(cut, /tokens cut/)
    assert.ok(count(cut) <= 100 && count(cut) > 80, `${count(cut)}`)
  })
})
