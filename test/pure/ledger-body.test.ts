import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { buildLedger } from '../../src/shared/compaction/ledger/build-ledger.ts'
import { joinSections, lostIdentifiers } from '../../src/shared/compaction/ledger/checkpoint-body.ts'
import { mergeDone, renderDone } from '../../src/shared/compaction/ledger/done-calls.ts'
import { recentErrors, renderErrors } from '../../src/shared/compaction/ledger/open-errors.ts'
import { ledgerStateSchema } from '../../src/shared/compaction/ledger/state.ts'
import type { LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { assistant, bash, call, count, user, wide } from './ledger-fixtures.ts'

const ledgerOf = (span: LedgerMessage[], tail: LedgerMessage[] = []) =>
  buildLedger({ span, tail, budget: wide, count })

describe('ledger: done calls and open errors, to the token', () => {
  const done = (name: string, times = 1, result = '') => ({ call: name, times, result })

  test('those of two checkpoints together, the newest 100', () => {
    assert.deepEqual(mergeDone([done('a', 2, 'x'), done('b')], [done('c'), done('a', 3, 'y')]), [
      done('b'),
      done('c'),
      done('a', 5, 'y'),
    ])
    const many = Array.from({ length: 80 }, (_, at) => done(`a${at}`))
    const more = Array.from({ length: 40 }, (_, at) => done(`b${at}`))
    const merged = mergeDone(many, more)
    assert.deepEqual([merged.length, merged[0]?.call, merged.at(-1)?.call], [100, 'a20', 'b39'])
  })

  test('lines that fit exactly stay, and without a result end with the call', () => {
    const text = '## Done (calls that succeeded)\n- a ×2\n- b → x'
    const calls = [done('a', 2), done('b', 1, 'x')]
    assert.equal(renderDone(calls, count(text), count), text)
    assert.equal(
      renderDone(calls, count(text) - 1, (value) => value.length),
      '',
    )
    assert.match(
      renderDone([done('a'.repeat(80)), done('b')], 20, count),
      /\[1 earlier ones left out\]\n- b$/,
    )
  })

  test('tools that only look, by their first word', () => {
    const told = (tool: string) => ledgerOf(call(tool, { q: 1 }, 'ok')).done !== ''
    for (const word of [
      'read',
      'get',
      'list',
      'search',
      'find',
      'grep',
      'glob',
      'view',
      'fetch',
      'lookup',
      'show',
      'describe',
      'history',
      'compact',
    ])
      for (const tool of [
        word,
        `${word[0]?.toUpperCase()}${word.slice(1)}`,
        `${word}_x`,
        `mcp__s__${word}`,
        `web_${word}`,
      ])
        assert.ok(!told(tool), tool)
    for (const tool of ['ls', 'LS', 'TaskOutput', 'bash_output']) assert.ok(!told(tool), tool)
    for (const tool of ['spread', 'reader', 'budget', 'TaskOutputs', 'output', 'unlist_x', 'book_view'])
      assert.ok(told(tool), tool)
  })

  test('errors: three at most, 60 messages at most, the oldest leave first', () => {
    const error = (command: string, last = 0) => ({ key: command, command, detail: 'no', last })
    const names = (errors: ReturnType<typeof error>[], cut: number) =>
      recentErrors(errors, cut).map(({ command }) => command)
    assert.deepEqual(
      names(
        ['a', 'b', 'c', 'd'].map((name) => error(name)),
        10,
      ),
      ['b', 'c', 'd'],
    )
    assert.deepEqual(names([error('a', 0), error('b', 1)], 61), ['b'])
    assert.deepEqual(names([error('a', 0)], 60), ['a'])
    const text = '## Failed and not yet repeated with success\n- b → no'
    assert.equal(renderErrors([error('a'.repeat(50)), error('b')], count(text), count), text)
    assert.equal(
      renderErrors([error('b')], count(text) - 1, (value) => count(value)),
      '',
    )
    assert.equal(
      renderErrors([{ ...error('b'), detail: '' }], 100, count),
      '## Failed and not yet repeated with success\n- b',
    )
  })

  test('of an error the first line, and the last that tells something else', () => {
    const detail = (result: string) => / → (.*)$/s.exec(ledgerOf(bash('make all', result, true)).errors)?.[1]
    assert.equal(detail('\n \nfirst\nTypeError: x\nlast'), 'first … TypeError: x')
    assert.equal(detail('Error: x\nok\nError: x'), 'Error: x')
    assert.equal(detail('Error: x\nok'), 'Error: x')
    assert.equal(detail('just this'), 'just this')
    assert.equal(detail(''), undefined)
    assert.equal(detail(`Sibling tool call errored`), undefined)
    assert.equal(detail(`no\n${'x'.repeat(400)} Sibling tool call errored`)?.slice(0, 4), 'no …')
  })
})

describe('ledger: the body of a checkpoint', () => {
  test('a summary stands in front of the lists, a blank one nowhere', () => {
    const ledger = ledgerOf([user('use someName'), assistant('ok')])
    assert.match(
      joinSections(ledger, ' It went well. '),
      /\n## Summary\nIt went well\.\n## The assistant said last\n/,
    )
    assert.equal(joinSections(ledger, ' \n'), joinSections(ledger))
    assert.doesNotMatch(joinSections(ledger), /## Summary|\n\n/)
  })

  test('what is lost is what the checkpoint does not say, 200 names of it at most', () => {
    const names = Array.from({ length: 300 }, (_, at) => `lost_name_${at}`)
    const budget = {
      ...wide,
      listTokens: 20,
      assistantTokens: 0,
      userTokens: 0,
      planTokens: 0,
      errorTokens: 0,
    }
    const span = [user(names.join(' ')), ...bash('gh pr view 3')]
    const ledger = buildLedger({ span, tail: [], budget, count })
    const { counts, identifiers } = lostIdentifiers(ledger, 'lost_name_1 only; gh pr view 3')
    assert.equal(identifiers.length, 200)
    assert.ok((counts.name ?? 0) > 290 && counts.line === undefined && counts.command === undefined)
    assert.ok(!identifiers.includes('lost_name_1'))
  })

  test('what is carried has the shape of its schema, the newest 20 errors and 40 texts', () => {
    const span = [
      ...Array.from({ length: 60 }, (_, at) => assistant(`text ${at}`)),
      ...Array.from({ length: 30 }, (_, at) => bash(`tool${at} run`, 'no', true)).flat(),
      ...call('ask_user', {}, 'yes'),
      ...call('send_email', { to: 'a' }, 'ok'),
      ...call('TodoWrite', { todos: [{ status: 'pending', content: 'x' }] }, 'ok'),
    ]
    const { state } = ledgerOf(span)
    assert.deepEqual(ledgerStateSchema.parse(state), state)
    assert.deepEqual([state.errors.length, state.errors[0]?.key], [20, 'tool10 run'])
    assert.deepEqual([state.assistantTexts.length, state.assistantTexts[0]], [40, 'text 20'])
    assert.equal(state.said.start[0]?.note, 'answer')
    assert.equal(ledgerOf([user('x')]).state.done, undefined)
    for (const bad of [
      { ...state, plan: { open: [{}], done: 0 } },
      { ...state, done: [{}] },
      { ...state, said: 7 },
    ])
      assert.ok(!ledgerStateSchema.safeParse(bad).success)
  })
})
