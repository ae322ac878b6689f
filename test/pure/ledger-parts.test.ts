import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clip, oneLine, withCutMark } from '../../src/shared/compaction/ledger/clip.ts'
import { inputText, readEntries } from '../../src/shared/compaction/ledger/entries.ts'
import { isRejection, splitInjected, wordsInResult } from '../../src/shared/compaction/ledger/injected.ts'
import { dashedKind, isName } from '../../src/shared/compaction/ledger/patterns.ts'
import type { LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { count, found, ofKind } from './ledger-fixtures.ts'

describe('ledger: values', () => {
  for (const [text, values] of [
    ['localhost:4000 localhost:4 localhost:123456', ['localhost:4000']],
    ['1.2.3 v1.2.3-beta.1 1.2 v1.2 v12345.1 1.2.3.4', ['1.2.3', 'v1.2.3-beta.1', 'v1.2', '1.2.3.4']],
    ['7TB, 12.5 KB. 12345678 KB, 12 M', ['7TB', '12.5 KB']],
    ['2026-01-17T10:00 2026-1-17 x2026-01-17', ['2026-01-17']],
    ['123 1234 123456789 1234567890', ['1234', '123456789']],
    ['1900 2099 2100 1000 100000 12000', ['2100', '12000']],
    ['port 80; "port": 8080; port=1; port: 99999; report 80', ['port 80', 'port 8080', 'port 99999']],
    ['count 12345; the 12345; from 12345', ['count 12345', '12345', '12345']],
    [
      'k=12345 k => 12345 f(12345) "k": 12345 $a_b-c = 12345',
      ['12345', '12345', '12345', '12345', '$a_b-c 12345'],
    ],
    ['retries=12345 retries => 12346 "retries": 12347', ['retries 12345', 'retries 12346', 'retries 12347']],
    ['12345→x 12345\tx', []],
    ['12345:x\n 12345: y\n', []],
    ['12345. 12346, 12347-', ['12345', '12346', '12347']],
    ['.12345 $12345 #12345 -12345 a12345', []],
  ] as const)
    test(JSON.stringify(text), () => assert.deepEqual(ofKind('value', text), values))
})

describe('ledger: words with dashes and humps', () => {
  for (const [word, plain, marked] of [
    ['a-b', undefined, undefined],
    ['retry-policy', undefined, 'name'],
    ['in-the-middle', 'name', 'name'],
    ['claude-3.5-sonnet', 'name', 'name'],
    ['up-7f3', 'id', 'id'],
    ['up-7f3456', 'id', 'id'],
    ['up-7f34567', undefined, 'name'],
    ['up-7f', undefined, undefined],
    ['up-abc', undefined, 'name'],
    ['x-7f3', undefined, undefined],
    ['spot-4te.1', 'id', 'id'],
    ['AB-1', 'id', 'id'],
    ['A-1', undefined, undefined],
    ['AB-123456', 'id', 'id'],
    ['AB-1234567', undefined, 'name'],
    ['UTF-8', undefined, undefined],
    ['SHA-256', undefined, 'name'],
    ['3cfce0ff-0725-47be-a572-f8af8122b71e', 'id', 'id'],
    [`a-b-${'x'.repeat(60)}`, undefined, undefined],
  ] as const)
    test(word, () => assert.deepEqual([dashedKind(word, false), dashedKind(word, true)], [plain, marked]))

  test('names have a hump or an underscore inside, and 6 to 59 characters', () => {
    for (const name of ['ab_cde', 'sendCh', 'SEND_X', '__x_y__', 'ABCdef', 'x1_y2zz', `${'x'.repeat(58)}Y`])
      assert.ok(isName(name), name)
    for (const name of ['a_b', 'sendC', 'Abcdef', 'abcdef', 'aBcde', '_abcdef_', `${'x'.repeat(59)}Y`])
      assert.ok(!isName(name), name)
  })

  test('a word is marked by quotes of one kind, or as a selector', () => {
    for (const text of [
      '"retry-policy"',
      "'retry-policy'",
      '`retry-policy`',
      ' .retry-policy',
      ' #retry-policy',
    ])
      assert.deepEqual(found(text), ['name retry-policy'], text)
    for (const text of [
      '"retry-policy\'',
      '(retry-policy)',
      'x.retry-policy',
      '"retry-policy',
      '"retry-policy-"',
    ])
      assert.ok(!found(text).includes('name retry-policy'), text)
  })
})

describe('ledger: what programs put into a message', () => {
  for (const [text, own, injected] of [
    ['', '', ''],
    [' \n', '', ''],
    [' x ', 'x', ''],
    ['<b>x</b>', '<b>x</b>', ''],
    ['  Caveat: The messages below were generated', '', '  Caveat: The messages below were generated'],
    ['x Caveat: The messages below were generated', 'x Caveat: The messages below were generated', ''],
    ['plugin Stop hook feedback', '', 'plugin Stop hook feedback'],
    ['SessionStart:resume hook success', '', 'SessionStart:resume hook success'],
    ['Stop hooks', 'Stop hooks', ''],
    [
      'a <skill name="x">r</skill> b <skill>s</skill>',
      'a   b',
      '<skill name="x">r</skill>\n<skill>s</skill>',
    ],
    ['a <skill>never closed </b>', 'a', '<skill>never closed </b>'],
    ['<skills>x</skills> <skill>y</skill>', '<skills>x</skills>', '<skill>y</skill>'],
    ['pre <command-name>do</command-name> post', '/do', ''],
    ['<command-name>/do</command-name><command-args> a b </command-args>', '/do a b', ''],
    ['<command-name>x', '<command-name>x', ''],
    [
      '<task-notification>n</task-notification>\nRead the output file to retrieve the result: /tmp/x and more',
      'and more',
      '<task-notification>n</task-notification>',
    ],
    [
      '<i>Read the output file to retrieve the result: /tmp/x',
      '<i>Read the output file to retrieve the result: /tmp/x',
      '',
    ],
  ] as const)
    test(JSON.stringify(text), () => assert.deepEqual(splitInjected(text), { own, injected }))

  const REASON = 'reason for the rejection:'
  for (const [tool, text, isError, words] of [
    ['ask_user', ' yes ', false, { text: 'yes', note: 'answer' }],
    ['ask_user', 'yes', true, undefined],
    ['AskFollowupQuestion', 'a', false, { text: 'a', note: 'answer' }],
    ['request_user_input', 'b', false, { text: 'b', note: 'answer' }],
    ['my_question', 'c', false, { text: 'c', note: 'answer' }],
    ['questions', 'c', false, undefined],
    ['Bash', `The user rejected it. ${REASON} no`, false, { text: 'no', note: 'rejection' }],
    ['Bash', `x ${REASON}   no `, true, { text: 'no', note: 'rejection' }],
    ['Bash', `x ${REASON} no`, false, undefined],
    ['Bash', `x ${REASON} `, true, undefined],
    [
      'Bash',
      'Error: Tool use was rejected. To tell you how to proceed, the user said: use b',
      false,
      { text: 'use b', note: 'rejection' },
    ],
    ['Bash', `${'z'.repeat(990)} ${REASON} no`, true, undefined],
  ] as const)
    test(`${tool}: ${text.slice(-60)}`, () => assert.deepEqual(wordsInResult(tool, text, isError), words))

  test('a rejection is told by its beginning, or by its reason near it', () => {
    for (const text of [
      'The user denied it',
      'Error: The user declined',
      "The user doesn't want",
      'Tool use rejected',
      `no, ${REASON} x`,
    ])
      assert.ok(isRejection(text), text)
    for (const text of ['x The user denied', 'no', `${'z'.repeat(1001)}${REASON} x`])
      assert.ok(!isRejection(text), text)
  })
})

describe('ledger: what a block says', () => {
  const read = (block: object, role: LedgerMessage['role'] = 'user', source?: string, skip = false) =>
    readEntries(
      [{ role, blocks: [block as { type: string }], ...(source === undefined ? {} : { source }) }],
      skip,
    )
  const text = (value: string) => ({ type: 'text', text: value })

  test('text is of its author; an earlier checkpoint counts only when its ledger is not carried', () => {
    assert.deepEqual(read(text('x')), [{ kind: 'user', message: 0, text: 'x' }])
    assert.deepEqual(read(text('x'), 'user', 'import'), [{ kind: 'user', message: 0, text: 'x' }])
    assert.deepEqual(read(text('x'), 'assistant'), [{ kind: 'assistant', message: 0, text: 'x' }])
    for (const source of ['context', 'notice', 'durable-compaction/checkpoint'])
      assert.deepEqual(read(text('x'), 'user', source), [{ kind: 'injected', message: 0, text: 'x' }])
    assert.deepEqual(read(text('x'), 'user', 'durable-compaction/checkpoint', true), [])
    assert.deepEqual(read(text('x'), 'user', 'notice', true).length, 1)
    for (const blank of [text(' '), { type: 'text' }, { type: 'thinking', thinking: 'x' }, { type: 'image' }])
      assert.deepEqual([...read(blank), ...read(blank, 'assistant')], [])
  })

  test('calls, results and documents, of our tools and of the provider', () => {
    assert.deepEqual(read({ type: 'server_tool_use', id: 'a', name: 'n', input: 7 }, 'assistant'), [
      { kind: 'call', message: 0, callId: 'a', tool: 'n', input: 7 },
    ])
    assert.deepEqual(read({ type: 'tool_use' }, 'assistant'), [
      { kind: 'call', message: 0, callId: '', tool: '', input: undefined },
    ])
    const content = [
      text('one'),
      { type: 'image', source: { type: 'base64', data: 'AAAA' } },
      { type: 'search_result', title: 'T', url: 'U', content: [text('two')] },
      7,
      null,
      { type: 'code', stdout: 'out', stderr: 'err', error_code: 'E' },
    ]
    assert.deepEqual(read({ type: 'web_search_tool_result', tool_use_id: 'a', content, is_error: true }), [
      { kind: 'result', message: 0, callId: 'a', text: 'one\nT\nU\ntwo\nE\nout\nerr', isError: true },
    ])
    assert.deepEqual(read({ type: 'document', source: { type: 'text', data: 'doc' } }), [
      { kind: 'injected', message: 0, text: 'doc' },
    ])
    assert.deepEqual(read({ type: 'document', source: { type: 'base64', data: 'AAAA' } }), [])
  })

  test('an answer belongs to the tool that its call named', () => {
    const entries = readEntries(
      [
        { role: 'assistant', blocks: [{ type: 'tool_use', id: 'a', name: 'ask_user' } as { type: string }] },
        {
          role: 'user',
          blocks: [{ type: 'tool_result', tool_use_id: 'a', content: 'yes' } as { type: string }],
        },
      ],
      false,
    )
    assert.deepEqual(entries.at(-1), { kind: 'user', message: 1, text: 'yes', note: 'answer' })
  })

  test('an input is its texts, short words in quotes, without what only positions a read', () => {
    const input = {
      a: 'x y',
      b: ['z', { offset: '1', timeout_ms: '2', line: '3', max_x: '4', deep: { q: 'w' } }],
      n: 7,
      t: null,
      e: '',
    }
    assert.equal(inputText(input), 'x y\n"z"\n"w"\n')
    assert.equal(
      inputText({ a: 'x'.repeat(60), b: 'x'.repeat(61) }),
      `"${'x'.repeat(60)}"\n${'x'.repeat(61)}`,
    )
    assert.equal(inputText({ offsets: 'a', online: 'b' }), '"a"\n"b"')
    assert.equal(inputText('word'), '"word"')
    assert.equal(inputText(null), '')
    const nested = (depth: number): unknown => (depth === 0 ? 'deep' : { a: nested(depth - 1) })
    assert.equal(inputText(nested(8)), '"deep"')
    assert.equal(inputText(nested(9)), '')
    assert.equal(inputText({ a: 'x'.repeat(119_999), b: 'yyy', c: 'z' }), `${'x'.repeat(119_999)}\n"y"`)
  })
})

describe('ledger: texts that are cut', () => {
  test('one line, with a mark where it ends early, and no half character', () => {
    assert.deepEqual(
      [oneLine(' a \n b ', 10), oneLine('abcdef', 6), oneLine('abcdef', 5)],
      ['a b', 'abcdef', 'abcd…'],
    )
    assert.deepEqual([oneLine('ab😀cd', 4), oneLine('ab😀cd', 5)], ['ab…', 'ab😀…'])
  })

  test('65 parts of the head, 35 of the tail, and what was cut before is counted', () => {
    assert.deepEqual(clip({ text: 'abcd' }, 1, count), { text: 'abcd' })
    const cut = clip({ text: 'a'.repeat(100) }, 20, count)
    assert.deepEqual(cut, { text: 'a'.repeat(59), cut: { at: 38, tokens: 10 } })
    assert.equal(withCutMark(cut), `${'a'.repeat(38)} [… 10 tokens cut …] ${'a'.repeat(21)}`)
    assert.deepEqual(clip({ text: 'a'.repeat(100) }, 1, count), { text: '', cut: { at: 0, tokens: 0 } })
    const twice = clip({ text: 'a'.repeat(40) + 'b'.repeat(40), cut: { at: 40, tokens: 10 } }, 16, count)
    assert.deepEqual(twice, { text: 'a'.repeat(27) + 'b'.repeat(15), cut: { at: 27, tokens: 20 } })
    assert.equal(withCutMark({ text: 'x' }), 'x')
  })
})
