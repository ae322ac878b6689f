import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { buildLedger, type Ledger } from '../../src/shared/compaction/ledger/build-ledger.ts'
import { cleanForMatching } from '../../src/shared/compaction/ledger/clean.ts'
import { type LedgerState, ledgerStateSchema } from '../../src/shared/compaction/ledger/state.ts'
import type { LedgerBlock, LedgerBudget, LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { propertyRuns } from './checkpoint-arbitraries.ts'

const FRAGMENTS = [
  ...[
    'src/a.ts',
    './lib/b.py',
    '/repo/src/c.ex',
    'C:\\Users\\dev\\d.cs',
    '文档/设计.md',
    'app/[slug]/page.tsx',
    'é/ü.md',
  ],
  ...[
    'sendChunk',
    'max_attempts',
    'RETRY_LIMIT',
    'Mod.Sub',
    'in-the-middle',
    '`retry-policy`',
    '"up-7f3"',
    '#482',
  ],
  ...[
    'https://a.example/b_c?d=1',
    'TypeError',
    'ENOENT',
    'exit code 2',
    'port 8443',
    'v1.2.3',
    'efcc7f8',
    'JIRA-17',
  ],
  ...[
    '## Files',
    '> quoted',
    '[3 messages left out]',
    '\n',
    '\\n',
    '\t',
    '\u001b[32m',
    '```',
    '请修改',
    '🚀',
    '\ud83d',
    '...',
  ],
  ...[
    '<system-reminder>',
    '</system-reminder>',
    '<task-notification>',
    'Exit code 1\n',
    'the user said: ',
    'and',
    'x',
  ],
]
const anyText = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...FRAGMENTS) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
    ),
    { maxLength: 30 },
  )
  .chain((parts) => fc.constantFrom('', ' ', '\n').map((joint) => parts.join(joint)))
const block = (fields: Record<string, unknown> & LedgerBlock): LedgerBlock => fields
const anyInput = fc.oneof(
  anyText.map((command) => ({ command })),
  fc.record({ file_path: anyText, new_string: anyText }),
  fc
    .array(fc.record({ content: anyText, status: fc.constantFrom('pending', 'completed', 'in_progress') }))
    .map((todos) => ({ todos })),
  fc.dictionary(fc.string(), fc.jsonValue()),
)
const callId = fc.integer({ min: 0, max: 9 }).map((n) => `call${n}`)
const userBlock = fc.oneof(
  anyText.map((text) => block({ type: 'text', text })),
  fc.record({ id: callId, content: anyText, isError: fc.boolean() }).map(({ id, content, isError }) =>
    block({
      type: 'tool_result',
      tool_use_id: id,
      content: isError ? content : [{ type: 'text', text: content }],
      is_error: isError,
    }),
  ),
  fc.anything().map((source) => block({ type: 'document', source })),
)
const assistantBlock = fc.oneof(
  anyText.map((text) => block({ type: 'text', text })),
  fc
    .record({ id: callId, name: fc.constantFrom('bash', 'edit', 'ask_user'), input: anyInput })
    .map((call) => block({ type: 'tool_use', ...call })),
  fc.anything().map((thinking) => block({ type: 'thinking', thinking })),
)
const anyMessage: fc.Arbitrary<LedgerMessage> = fc.oneof(
  fc.record({ role: fc.constant('assistant' as const), blocks: fc.array(assistantBlock, { maxLength: 4 }) }),
  fc.record(
    {
      role: fc.constant('user' as const),
      blocks: fc.array(userBlock, { maxLength: 4 }),
      source: fc.constantFrom('prompt', 'import', 'context', 'notice'),
    },
    { requiredKeys: ['role', 'blocks'] },
  ),
)
const anySpan = fc.array(anyMessage, { maxLength: 25 })
const tokens = (max: number) => fc.integer({ min: 0, max })
const anyBudget: fc.Arbitrary<LedgerBudget> = fc.record({
  listTokens: tokens(600),
  userTokens: tokens(400),
  userStartTokens: tokens(100),
  planTokens: tokens(100),
  errorTokens: tokens(100),
  assistantTokens: tokens(300),
  userSharesTotal: fc.boolean(),
})

const build = (
  span: LedgerMessage[],
  budget: LedgerBudget,
  tail: LedgerMessage[] = [],
  previous?: LedgerState,
) => buildLedger({ span, tail, budget, count: countTokens, previous, workingDirectory: '/repo' })

function assertBounds(ledger: Ledger, budget: LedgerBudget): void {
  const { userTokens, planTokens, errorTokens, assistantTokens, listTokens } = budget
  assert.ok(countTokens(ledger.userText) <= userTokens, ledger.userText)
  assert.ok(countTokens(ledger.plan) <= planTokens)
  assert.ok(countTokens(ledger.errors) <= errorTokens)
  const rest = [ledger.plan, ledger.errors, ledger.earlierSummary, ledger.assistantText, ledger.lists]
  const most =
    planTokens + errorTokens + assistantTokens + listTokens + (budget.userSharesTotal ? userTokens : 0)
  assert.ok(countTokens(rest.filter(Boolean).join('\n')) <= most)
  assert.deepEqual(ledgerStateSchema.parse(ledger.state), ledger.state)
  assert.deepEqual(JSON.parse(JSON.stringify(ledger.state)), ledger.state)
}

test('any conversation: every part within its budget, state by its schema, same input same output', () => {
  fc.assert(
    fc.property(anySpan, anySpan, anyBudget, (span, tail, budget) => {
      const before = JSON.stringify(span)
      const ledger = build(span, budget, tail)
      assertBounds(ledger, budget)
      assert.deepEqual(build(span, budget, tail), ledger)
      assert.equal(JSON.stringify(span), before)
    }),
    propertyRuns(150),
  )
})

test('any sequence of checkpoints: bounds hold, and no name comes from nowhere', () => {
  fc.assert(
    fc.property(fc.array(anySpan, { maxLength: 6 }), anyBudget, (spans, budget) => {
      let state: LedgerState | undefined
      for (const span of spans) {
        const ledger = build(span, budget, [], state)
        assertBounds(ledger, budget)
        state = ledger.state
      }
      assertExact(spans.flat(), state)
    }),
    propertyRuns(100),
  )
})

/** Every item is a copy of what stands in the conversation, but for its place below the working directory. */
function assertExact(messages: readonly LedgerMessage[], state: LedgerState | undefined): void {
  const strings: string[] = []
  const walk = (value: unknown): void => {
    if (typeof value === 'string') strings.push(value, cleanForMatching(value), value.replaceAll('\\', '/'))
    else if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) walk(inner)
  }
  walk(messages)
  const all = strings.join('\n')
  const unquoted = all.replaceAll(/["'\\]/g, '')
  for (const { kind, value } of state?.items ?? []) {
    if (kind === 'line' || kind === 'command')
      for (const word of value.replaceAll(/["'\\]/g, '').split(' ')) assert.ok(unquoted.includes(word), value)
    // A file that a command writes may be quoted in part: the shell takes the quotes away, and so do we.
    else assert.ok(all.includes(value) || unquoted.includes(value), `${kind} ${value}`)
  }
}
