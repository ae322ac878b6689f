import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { budgetWithoutSummary } from '../../src/shared/compaction/ledger/budget.ts'
import { buildLedger, type Ledger } from '../../src/shared/compaction/ledger/build-ledger.ts'
import { joinSections } from '../../src/shared/compaction/ledger/checkpoint-body.ts'
import { type LedgerState, ledgerStateSchema } from '../../src/shared/compaction/ledger/state.ts'
import type { LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { assistant, bash, call, count, user, wide } from './ledger-fixtures.ts'

const CHECKPOINT = 'durable-compaction/checkpoint'
const after = (previous: LedgerState | undefined, span: LedgerMessage[], budget = wide): Ledger =>
  buildLedger({ span, tail: [], budget, count, previous })
const item = (ledger: Ledger, value: string) => ledger.state.items.find((each) => each.value === value)

describe('ledger: carried state', () => {
  it('goes on counting mentions, edits and runs, and ages what is not mentioned again', () => {
    const line = 'mix test test/a.exs --trace'
    const edit = call('Edit', { file_path: 'src/a.ts', new_string: 'oneName' }, 'ok')
    const first = after(undefined, [
      user('fix oneName'),
      ...edit,
      ...bash(line, 'x', true),
      assistant('twoName'),
    ])
    const second = after(first.state, [...edit, assistant('so'), ...bash(line, 'ok')])
    assert.deepEqual(
      [item(first, 'oneName')?.n, item(second, 'oneName')?.n, item(second, 'twoName')?.n],
      [2, 3, 1],
    )
    assert.deepEqual([item(first, 'twoName')?.last, item(second, 'twoName')?.last], [1, 6])
    assert.deepEqual([item(second, 'src/a.ts')?.edits, item(second, 'src/a.ts')?.uncommitted], [2, true])
    assert.deepEqual([item(second, line)?.runs, item(second, line)?.failed], [2, false])
    const third = after(second.state, bash('git commit -m x'))
    assert.equal(item(third, 'src/a.ts')?.uncommitted, false)
    assert.match(third.lists, /oneName/)
  })
  it('says the same as one ledger over both spans', () => {
    const spans = [
      [user('use sendChunk in src/a.ts'), ...call('Read', { file_path: 'src/a.ts' }, 'sendChunk keepAlive')],
      [assistant('a.ts has keepAlive'), ...bash('gh pr view 3'), user('merge #17')],
    ]
    const carried = after(after(undefined, spans[0] ?? []).state, spans[1] ?? [])
    const whole = after(undefined, spans.flat())
    assert.equal(joinSections(carried), joinSections(whole))
  })
  it('is all that is read of an earlier checkpoint', () => {
    const first = after(undefined, [user('use sendChunk')])
    const page: LedgerMessage = user('inventedName src/invented.ts', CHECKPOINT)
    const second = after(first.state, [page, assistant('go')])
    assert.equal(item(second, 'inventedName'), undefined)
    assert.doesNotMatch(joinSections(second), /invented/)
    assert.equal(item(second, 'sendChunk')?.n, 1)
  })
  it('is at most 800 items, the best ones', () => {
    const names = Array.from({ length: 1_000 }, (_, i) => `some_name_${i}`)
    const span = [assistant(names.join(' ')), assistant(names.slice(-100).join(' '))]
    const { state } = after(undefined, span)
    assert.equal(state.items.length, 800)
    const kept = new Set(state.items.map(({ value }) => value))
    assert.ok(names.slice(-100).every((name) => kept.has(name)))
  })
  it('is plain JSON that its schema takes as it is', () => {
    const span = [user('x'.repeat(5_000)), ...bash('mix test', 'Exit code 1', true), assistant('port 8443')]
    const { state } = after(undefined, span, { ...wide, userTokens: 300, userStartTokens: 100 })
    const json = JSON.parse(JSON.stringify(state))
    assert.deepEqual(json, state)
    assert.deepEqual(ledgerStateSchema.parse(json), state)
    assert.equal(ledgerStateSchema.safeParse({ ...json, v: 2 }).success, false)
  })
  it('keeps plan, errors and words until something newer comes', () => {
    const todos = [{ content: 'open task', status: 'pending' }]
    const first = after(undefined, [
      user('do it'),
      ...call('TodoWrite', { todos }, 'ok'),
      ...bash('mix test', 'boom', true),
    ])
    const second = after(first.state, [assistant('hm'), user('and that')])
    assert.match(second.plan, /open task/)
    assert.match(second.errors, /mix test → boom/)
    assert.match(second.userText, /> do it\n> and that$/)
    const third = after(second.state, [
      ...bash('mix test'),
      ...call('TodoWrite', { todos: [{ content: 'new', status: 'pending' }] }, 'ok'),
    ])
    assert.equal(third.errors, '')
    assert.doesNotMatch(third.plan, /open task/)
    const old = after(
      second.state,
      Array.from({ length: 61 }, () => assistant('.')),
    )
    assert.equal(old.errors, '')
  })
})

describe('ledger: the words of the user over many checkpoints', () => {
  it('keep their start, and count what was left out once', () => {
    let state: LedgerState | undefined
    let page = ''
    for (let round = 0; round < 20; round++) {
      const span = Array.from({ length: 10 }, (_, i) => user(`message ${round * 10 + i} ${'.'.repeat(30)}`))
      const ledger = after(state, span, { ...wide, userTokens: 300, userStartTokens: 60 })
      state = ledger.state
      page = ledger.userText
    }
    const numbers = [...page.matchAll(/message (\d+) /g)].map((match) => Number(match[1]))
    assert.equal(numbers[0], 0)
    assert.equal(numbers.at(-1), 199)
    const [, left] = /\[(\d+) messages left out\]/.exec(page) ?? []
    assert.equal(Number(left) + numbers.length, 200)
    assert.ok(count(page) <= 300)
  })
  it('keep one mark when they are shortened again, with the sum of what is gone', () => {
    const text = Array.from({ length: 3_000 }, (_, i) => `w${i}`).join(' ')
    const first = after(undefined, [user(text)], { ...wide, userTokens: 1_000, userStartTokens: 500 })
    const second = after(first.state, [], { ...wide, userTokens: 400, userStartTokens: 200 })
    const marks = [...second.userText.matchAll(/\[… (\d+) tokens cut …\]/g)]
    assert.equal(marks.length, 1)
    const shown = count(second.userText.replace(/ \[….*…\] /, ''))
    assert.ok(Math.abs(Number(marks[0]?.[1]) + shown - count(text)) < 60, second.userText)
    assert.ok(second.userText.includes('w0 w1') && second.userText.includes('w2998 w2999'))
    const third = after(first.state, [], { ...wide, userTokens: 1_000, userStartTokens: 500 })
    assert.equal(third.userText, first.userText)
  })
})

describe('ledger: after a model’s summary', () => {
  const summary = Array.from({ length: 400 }, (_, i) => `Decision ${i} stands.`).join('\n')
  const budget = (earlierSummary: boolean) =>
    budgetWithoutSummary({
      checkpointTokens: 5_000,
      userTextTokens: 1_000,
      spanTokens: 50_000,
      earlierSummary,
    })
  it('a checkpoint without a model keeps most of the summary, also the one after it', () => {
    const first = after(undefined, [user('go'), assistant('done')], { ...wide, assistantTokens: 0 })
    assert.equal(first.state.earlierSummary, undefined)
    const second = after({ ...first.state, earlierSummary: summary }, [assistant('more')], budget(true))
    assert.match(second.earlierSummary, /^## Earlier summary\n- Decision 0 stands\.\n {2}Decision 1/)
    assert.ok(count(second.earlierSummary) > 1_900)
    const third = after(second.state, [assistant('and more')], budget(true))
    assert.equal(third.earlierSummary, second.earlierSummary)
  })
  it('all parts stay within the checkpoint', () => {
    const noise = Array.from({ length: 3_000 }, (_, i) => `some_name_${i}`).join(' ')
    const previous = { ...after(undefined, []).state, earlierSummary: summary }
    for (const given of [undefined, previous]) {
      const span = [
        user('go'),
        assistant(noise),
        ...Array.from({ length: 300 }, (_, i) => assistant(`I did step ${i} of it.`)),
      ]
      const ledger = after(given, span, budget(given !== undefined))
      const beside = count(joinSections(ledger)) - count(ledger.userText)
      assert.ok(beside <= 5_000 && beside > 4_500, String(beside))
    }
  })
})

describe('ledger: budget without a model', () => {
  const listTokens = (checkpointTokens: number, spanTokens: number) =>
    budgetWithoutSummary({ checkpointTokens, userTextTokens: 8_000, spanTokens }).listTokens
  it('gives the lists half, three quarters of a small total, and more of a very long span', () => {
    assert.deepEqual(
      [listTokens(5_000, 100_000), listTokens(2_000, 100_000), listTokens(1_000, 100_000)],
      [2_500, 1_500, 750],
    )
    assert.deepEqual(
      [listTokens(5_000, 151_000), listTokens(2_000, 151_000), listTokens(1_000, 151_000)],
      [3_000, 1_500, 750],
    )
  })
})
