import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildLedger, type Ledger } from '../../src/shared/compaction/ledger/build-ledger.ts'
import type { LedgerState } from '../../src/shared/compaction/ledger/state.ts'
import type { LedgerBudget, LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { bash, call, count, user, wide } from './ledger-fixtures.ts'

const ledgerOf = (span: LedgerMessage[], previous?: LedgerState, budget: LedgerBudget = wide): Ledger =>
  buildLedger({ span, tail: [], budget, count, previous })
const send = (to: string, result = 'accepted as m-1', isError = false) =>
  call('send_email', { to }, result, isError)

describe('ledger: calls that were done', () => {
  it('fault T01 names each call whose effect nothing else tells, with its result, and counts repeats', () => {
    const { done } = ledgerOf([
      user('Write to them.'),
      ...send('a@b.c'),
      ...send('d@e.f'),
      ...send('a@b.c', 'm-3'),
    ])
    assert.equal(
      done,
      [
        '## Done (calls that succeeded)',
        '- send_email {"to":"d@e.f"} → accepted as m-1',
        '- send_email {"to":"a@b.c"} ×2 → m-3',
      ].join('\n'),
    )
  })

  it('what is listed elsewhere, what only looks, and what failed is left out', () => {
    const todo = { todos: [{ content: 'Write', status: 'pending' }] }
    const span = [
      ...bash('gh pr create --fill', 'ok'),
      ...call('Edit', { file_path: 'a.ts', new_string: 'x' }, 'ok'),
      ...call('TodoWrite', todo, 'ok'),
      ...[
        'get_user',
        'WebFetch',
        'web_search',
        'Grep',
        'mcp__crm__list_orders',
        'history',
        'TaskOutput',
      ].flatMap((tool) => call(tool, { q: 1 }, 'found')),
      ...send('a@b.c', 'no such address', true),
    ]
    assert.equal(ledgerOf(span).done, '')
    for (const tool of ['settle', 'getaway_book', 'reader_notify', 'showcase', 'mcp__crm__delete_order'])
      assert.match(ledgerOf(call(tool, { q: 1 }, 'ok')).done, new RegExp(`- ${tool} `), tool)
  })

  it('fault T01 carried from one checkpoint to the next, within its budget, the newest first to stay', () => {
    let state: LedgerState | undefined
    for (let n = 0; n < 150; n++) state = ledgerOf(send(`user-${n}@example.com`), state).state
    assert.equal(state?.done?.length, 100)
    const { done, lists } = ledgerOf([user('And now?')], state, { ...wide, listTokens: 800 })
    assert.ok(count(done) <= 200 && count(lists) <= 800 - count(done), `${count(done)} tokens`)
    assert.match(done, /\[\d+ earlier ones left out\]\n- send_email/)
    assert.match(done, /user-149@example\.com.*$/)
  })

  it('a long input and a long result take one short line', () => {
    const { done } = ledgerOf(call('post', { body: 'long\n'.repeat(100_000) }, 'answer\n'.repeat(100_000)))
    assert.equal(done.split('\n').length, 2)
    assert.ok(done.length < 320)
  })
})
