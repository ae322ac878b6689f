import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildLedger } from '../../src/shared/compaction/ledger/build-ledger.ts'
import { cleanForMatching } from '../../src/shared/compaction/ledger/clean.ts'
import { splitInjected } from '../../src/shared/compaction/ledger/injected.ts'
import { recognise } from '../../src/shared/compaction/ledger/recognise.ts'
import { assistant, call, count, user, wide } from './ledger-fixtures.ts'

const CHARS = 400_000
/** Of processor time, so that a busy machine does not fail the test. Quadratic work would take minutes. */
const MOST_MS = 500

const UNITS = [
  'a/',
  'a.b/',
  '0',
  '[',
  '\\',
  'a',
  'A',
  '_',
  '-',
  'a-',
  'aB',
  '[a]',
  '[a]/',
  '[a',
  '/',
  '.',
  '../',
  'a.ts',
  '.ts',
  'a.ts ',
  '#1 ',
  '1.',
  '1234 ',
  'a=1234 ',
  '中a/',
  '中.ts',
  '中.ts中',
  'é/',
  'A.',
  'AError',
  'deadbeef',
  '1-a',
  'a1-',
  '\u001b[',
  '\u001b]',
  'C:\\',
  'C:\\a',
  'C:\\\\a',
  '<system-reminder>',
  '<system-reminder',
  '<command-name>',
  'http://',
  'https://a.b/c ',
  "'a-b'",
  'port ',
  '\\n',
  '\n',
  ' ',
  '\ud83d',
  '🚀',
  '$(',
  '`',
  '"',
  '<<A\n',
  '> ',
  '&',
]
const repeated = (unit: string) => unit.repeat(Math.ceil(CHARS / unit.length)).slice(0, CHARS)

function noise(alphabet: string): string {
  let seed = 12_345
  let text = ''
  while (text.length < CHARS) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    text += alphabet.charAt((seed >> 16) % alphabet.length)
  }
  return text
}
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const TEXTS: [string, string][] = [
  ...UNITS.map((unit): [string, string] => [JSON.stringify(unit), repeated(unit)]),
  ['base64', noise(BASE64)],
  ['hexadecimal', noise('0123456789abcdef')],
  ['path characters', noise('ab./[]@-_~:$}')],
]

function processorMs(work: () => void): number {
  const start = process.cpuUsage()
  work()
  const { user: own, system } = process.cpuUsage(start)
  return (own + system) / 1_000
}

describe('ledger: 400,000 characters of', () => {
  const context = { root: '', prose: true, known: () => false }
  for (const [name, text] of TEXTS) {
    it(`${name}: each matcher takes at most ${MOST_MS} ms`, () => {
      const ms = processorMs(() => recognise(text, context, () => undefined))
      assert.ok(ms < MOST_MS, `recognise: ${ms} ms`)
      const cleaned = processorMs(() => cleanForMatching(text))
      assert.ok(cleaned < MOST_MS, `clean: ${cleaned} ms`)
      const split = processorMs(() => splitInjected(text))
      assert.ok(split < MOST_MS, `split: ${split} ms`)
    })
  }
  it('any of them in every place of a conversation', () => {
    for (const [name, text] of TEXTS.filter((_, i) => i % 4 === 0)) {
      const span = [
        user(text),
        assistant(text),
        ...call('bash', { command: text }, text, true),
        ...call('Write', { file_path: text.slice(0, 300), content: text }, text),
        ...call('ask_user', { question: text }, text),
      ]
      const ms = processorMs(() =>
        buildLedger({ span, tail: span, budget: { ...wide, listTokens: 5_000 }, count }),
      )
      assert.ok(ms < 14 * MOST_MS, `${name}: ${ms} ms`)
    }
  })
})
