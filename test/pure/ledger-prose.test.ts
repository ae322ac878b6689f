import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { renderAssistantTexts } from '../../src/shared/compaction/ledger/assistant-text.ts'
import { buildLedger } from '../../src/shared/compaction/ledger/build-ledger.ts'
import type { LedgerBudget, LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { assistant, bash, call, count, user, wide } from './ledger-fixtures.ts'

const ledgerOf = (span: LedgerMessage[], budget: Partial<LedgerBudget> = {}) =>
  buildLedger({ span, tail: [], budget: { ...wide, ...budget }, count })
const said = (span: LedgerMessage[], budget: Partial<LedgerBudget> = {}) => ledgerOf(span, budget).userText
const TITLE = '## The user said (verbatim)\n'

describe('ledger: the user', () => {
  it('is quoted word for word, line by line', () => {
    assert.equal(
      said([user('Add retry.\n## Plan\nNo deps.'), assistant('ok'), user('  go  on ')]),
      `${TITLE}> Add retry.\n> ## Plan\n> No deps.\n> go  on`,
    )
  })
  it('is what prompts and imports hold, and nothing that a program put in', () => {
    const reminder = '<system-reminder>\nUse `pnpm`\n</system-reminder>'
    const span = [
      user(`${reminder}real words${reminder}`, 'prompt'),
      user('imported', 'import'),
      user('from a hook', 'context'),
      user('a notice', 'notice'),
      user('an old checkpoint', 'durable-compaction/checkpoint'),
      user(
        '<task-notification>x</task-notification>\nRead the output file to retrieve the result: /tmp/a.output',
      ),
      user('Base directory for this skill: /x\n\nuse yarn'),
      user('Stop hook feedback:\ntests fail'),
      user('This session is being continued from a previous conversation that ran out of context.'),
      user('[Request interrupted by user]'),
      user('<local-command-stdout>never closed'),
      user('<system-reminders>these are mine</system-reminders>'),
    ]
    assert.equal(
      said(span),
      `${TITLE}> real words\n> imported\n> <system-reminders>these are mine</system-reminders>`,
    )
  })
  it('is read out of a slash command', () => {
    const command =
      '<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>src only</command-args>'
    assert.equal(said([user(command)]), `${TITLE}> /review src only`)
  })
  it('is read out of answers and of the reasons of a rejection', () => {
    const rejected =
      "The user doesn't want to proceed with this tool use. The tool use was rejected. The user provided the following reason for the rejection:  use pnpm"
    const span = [
      ...call('AskUserQuestion', { questions: [] }, 'Which? → the second'),
      ...call('Bash', { command: 'npm i' }, rejected, true),
      ...call('Bash', { command: 'npm i' }, "The user doesn't want to proceed with this tool use.", true),
      ...call('Read', { file_path: 'a.md' }, 'the text says: reason for the rejection: none'),
    ]
    assert.equal(said(span), `${TITLE}> (answer) Which? → the second\n> (rejection) use pnpm`)
  })
  it('keeps the first message and the newest ones, and counts what is left out', () => {
    const span = ['first', ...Array.from({ length: 50 }, (_, i) => `message number ${i}`)].map((text) =>
      user(text),
    )
    const text = said(span, { userTokens: 80, userStartTokens: 8 })
    assert.match(
      text,
      /^## The user said \(verbatim\)\n> first\n\[\d+ messages left out\]\n> message number \d+\n/,
    )
    assert.match(text, /message number 49$/)
    const [, left] = /\[(\d+) messages/.exec(text) ?? []
    assert.equal(text.split('\n').length - 2 + Number(left), 51)
    assert.ok(count(text) <= 80)
  })
  it('keeps several messages from the start within the share for the start', () => {
    const span = Array.from({ length: 60 }, (_, i) => user(`message number ${i} ${'.'.repeat(40)}`))
    const text = said(span, { userTokens: 400, userStartTokens: 100 })
    const numbers = [...text.matchAll(/number (\d+)/g)].map((match) => Number(match[1]))
    assert.deepEqual(numbers.slice(0, 5), [0, 1, 2, 3, 4])
    assert.ok(numbers.length > 15 && numbers.at(-1) === 59 && numbers.at(-10) === 50, text)
  })
  it('shortens a long message around a mark that says how much is gone', () => {
    const long = Array.from({ length: 4_000 }, (_, i) => `w${i}`).join(' ')
    const text = said([user(long)], { userTokens: 1_000, userStartTokens: 400 })
    const [, head = '', tokens, tail = ''] = /> (.*) \[… (\d+) tokens cut …\] (.*)$/s.exec(text) ?? []
    assert.ok(long.startsWith(head) && long.endsWith(tail))
    assert.ok(count(text) <= 420 && count(text) > 300, String(count(text)))
    assert.ok(Math.abs(head.length / (head.length + tail.length) - 0.65) < 0.02)
    assert.ok(Math.abs(Number(tokens) - count(long.slice(head.length, -tail.length))) < 20)
  })
  it('lets one message take at most half, so that the one before it is there too', () => {
    const [older, newer] = ['older', 'newer'].map((word) =>
      Array.from({ length: 900 }, (_, i) => `${word}${i}`).join(' '),
    )
    const text = said([user('first'), user(older ?? ''), user(newer ?? '')], {
      userTokens: 1_000,
      userStartTokens: 100,
    })
    const tokens = (word: string) => count((text.match(new RegExp(`${word}\\d+`, 'g')) ?? []).join(' '))
    assert.ok(tokens('newer') <= 500 && tokens('newer') > 400 && tokens('older') > 300, text)
  })
  it('never splits a character', () => {
    const text = said([user('🚀'.repeat(3_000))], { userTokens: 200, userStartTokens: 100 })
    assert.doesNotMatch(text, /[\ud800-\udfff]/u)
  })
})

describe('ledger: the plan', () => {
  const todo = (status: string, content: string) => ({ content, status })
  it('is the last list with a status: open items word for word, of the done ones count and last', () => {
    const span = [
      ...call('TodoWrite', { todos: [todo('pending', 'old')] }, 'ok'),
      ...call(
        'TodoWrite',
        {
          todos: [
            todo('completed', 'a'),
            todo('completed', 'b'),
            todo('in_progress', 'c `x`'),
            todo('pending', 'd'),
          ],
        },
        'ok',
      ),
      ...call('Other', { list: [{ status: 'pending' }], rows: [] }, 'ok'),
    ]
    assert.equal(ledgerOf(span).plan, '## Plan\n[~] c `x`\n[ ] d\n[x] 2 done, last: b')
  })
  it('is read in the form of other tools', () => {
    const span = call(
      'update_plan',
      {
        plan: [
          { step: 'one', status: 'completed' },
          { step: 'two', status: 'in_progress' },
        ],
      },
      'ok',
    )
    assert.equal(ledgerOf(span).plan, '## Plan\n[~] two\n[x] 1 done, last: one')
  })
  it('counts the items that do not fit', () => {
    const todos = Array.from({ length: 40 }, (_, i) => todo('pending', `task number ${i}`))
    const { plan } = ledgerOf(call('TodoWrite', { todos }, 'ok'), { planTokens: 40 })
    assert.ok(count(plan) <= 40)
    const shown = plan.split('\n').length - 2
    assert.ok(shown > 2 && plan.endsWith(`[ ] ${40 - shown} more`), plan)
  })
})

describe('ledger: open errors', () => {
  const fail = (command: string, result: string) => bash(command, result, true)
  it('are closed by a later success of the same commands, tool and target, or script', () => {
    const span = [
      ...fail('pnpm test a.test.ts', 'x'),
      ...bash('cd app && pnpm test b.test.ts'),
      ...fail('git push origin main', 'rejected'),
      ...bash('git push origin main'),
      ...call('Edit', { file_path: 'a.ts', new_string: '' }, 'not found', true),
      ...call('Edit', { file_path: 'a.ts', new_string: '' }, 'ok'),
      ...call('Edit', { file_path: 'b.ts', new_string: '' }, 'String not found in file', true),
    ]
    assert.equal(
      ledgerOf(span).errors,
      '## Failed and not yet repeated with success\n- Edit b.ts → String not found in file',
    )
  })
  it('show the first line and the last telling one', () => {
    const output =
      'Exit code 1\nrunning\nTypeError: x is not a function\n  at a\nTests: 1 failing error\ntime 3s'
    assert.match(
      ledgerOf(fail('pnpm test', output)).errors,
      /- pnpm test → Exit code 1 … Tests: 1 failing error$/,
    )
  })
  it('are the newest three of the last 60 messages', () => {
    const span = [
      ...fail('old one', 'x'),
      ...fail('old two', 'x'),
      ...Array.from({ length: 55 }, () => assistant('.')),
      ...fail('p a', 'x'),
      ...fail('p b', 'x'),
    ]
    assert.match(ledgerOf(span).errors, /- old two.*\n- p a.*\n- p b/)
    assert.doesNotMatch(ledgerOf(span).errors, /old one/)
    assert.equal(ledgerOf([...span, ...Array.from({ length: 60 }, () => assistant('.'))]).errors, '')
  })
  it('are no rejections, and no calls that never ran', () => {
    const span = [
      ...fail('rm x', "The user doesn't want to proceed with this tool use."),
      ...fail('mix a', '<tool_use_error>Sibling tool call errored</tool_use_error>'),
    ]
    assert.equal(ledgerOf(span).errors, '')
  })
})

describe('ledger: the assistant', () => {
  it('is quoted from the newest backwards, whole, and printed oldest first', () => {
    const texts = Array.from({ length: 20 }, (_, i) => `text ${i}\nwith a second line`)
    const { text, tokens } = renderAssistantTexts(texts, 40, count)
    const lines = [17, 18, 19].map((i) => `- text ${i}\n  with a second line`)
    assert.equal(text, ['## The assistant said last', ...lines].join('\n'))
    assert.ok(count(text) <= tokens && tokens <= 40)
  })
  it('has at most 400 tokens a text', () => {
    const { text } = renderAssistantTexts(['x'.repeat(9_000)], 5_000, count)
    assert.ok(count(text) < 420 && text.includes('tokens cut'))
  })
  it('gets what the lists leave', () => {
    const span = Array.from({ length: 100 }, (_, i) => assistant(`plain words ${i}`))
    const { assistantText } = ledgerOf(span, {
      assistantTokens: 20,
      listTokens: 200,
      planTokens: 0,
      errorTokens: 0,
    })
    assert.ok(count(assistantText) > 150 && count(assistantText) <= 220, assistantText)
    assert.equal(ledgerOf(span, { assistantTokens: 0 }).assistantText, '')
  })
})

describe('ledger: budget', () => {
  it('gives the lists what the prose leaves', () => {
    const span = [assistant(Array.from({ length: 400 }, (_, i) => `some_name_${i}`).join(' '))]
    const budget = { listTokens: 300, planTokens: 100, errorTokens: 100, assistantTokens: 0 }
    const tokens = count(ledgerOf(span, budget).lists)
    assert.ok(tokens > 480 && tokens <= 500, String(tokens))
    const shared = count(ledgerOf(span, { ...budget, userTokens: 200, userSharesTotal: true }).lists)
    assert.ok(shared > 680 && shared <= 700, String(shared))
  })
})
