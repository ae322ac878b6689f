import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { formatUsd, pricesFrom } from '../../src/cli/prices.ts'
import { costUsd, PRICES, priceOf } from '../../src/shared/usage/prices.ts'
import { runCommand } from '../support/run-cli.ts'

// Money: the table that we bring, and one of the user's own.

const folder = mkdtempSync(join(tmpdir(), 'dc-prices-'))
process.env['DURABLE_COMPACTION_HOME'] = folder
after(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function file(value: unknown): string {
  const path = join(folder, `${files++}.json`)
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  return path
}

test('a cost is the sum of four kinds of tokens, each at its price for a million', () => {
  const price = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 2 }
  const tokens = {
    inputTokens: 3_000_000,
    outputTokens: 500_000,
    cacheReadTokens: 20_000_000,
    cacheWriteTokens: 250_000,
  }
  assert.equal(costUsd(price, tokens), 3 + 5 + 2 + 0.5)
  assert.deepEqual([0, 0.00594, 9.99999, 10, 1234.567].map(formatUsd), [
    '$0.0000',
    '$0.0059',
    '$10.0000',
    '$10.00',
    '$1234.57',
  ])
})

test('the table is dated, and every price of Anthropic follows its rule for the cache', () => {
  assert.match(PRICES.date, /^\d{4}-\d\d-\d\d$/)
  for (const [model, { input, output, cacheRead, cacheWrite }] of Object.entries(PRICES.models)) {
    assert.match(model, /^anthropic\//)
    assert.ok(
      [0.025, 0.05, 0.1].some((share) => cacheRead === input * share),
      model,
    )
    assert.equal(cacheWrite, input * 1.25, model)
    assert.equal(output, input * 5, model)
  }
})

test('a dated name has the price of the name without its date', () => {
  const opus = PRICES.models['anthropic/claude-opus-4-5']
  for (const name of ['claude-opus-4-5-20251101', 'claude-opus-4-5@20251101', 'claude-opus-4-5-latest'])
    assert.equal(priceOf(PRICES, `anthropic/${name}`), opus)
  for (const name of ['anthropic/claude-opus-9', 'anthropic/toString', 'claude-opus-4-5'])
    assert.equal(priceOf(PRICES, name), undefined)
})

test('a price that depends on the length of the prompt holds for the whole request', () => {
  const price = PRICES.models['anthropic/claude-haiku-5-5']
  assert.ok(price?.longPrompt !== undefined)
  const usage = { inputTokens: 1e6, outputTokens: 1e6, cacheReadTokens: 1e6, cacheWriteTokens: 1e6 }
  assert.equal(costUsd(price, usage), 0.1 + 0.5 + 0.01 + 0.125)
  assert.equal(costUsd(price, usage, 100_000), 0.5 + 2.5 + 0.05 + 0.625)
})

describe('--prices', () => {
  const price = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 }
  const conversation = file([
    { role: 'user', content: 'hello' },
    { role: 'assistant', content: 'Good morning.' },
  ])
  const simulate = (table: string, ...more: string[]) =>
    runCommand(['simulate', conversation, '--model', 'acme/large', '--prices', table, ...more])

  test('a table of the user’s own is used, and its date is said', async () => {
    const table = file({ date: '2027-01-01', models: { 'acme/large': price } })
    assert.deepEqual(pricesFrom(table).models['acme/large'], price)
    const run = await simulate(table, '--json')
    const { pricesOf, results } = JSON.parse(run.stdout)
    const { billed, usd } = results[0]
    assert.equal(pricesOf, '2027-01-01')
    assert.equal(
      usd,
      (billed.outputTokens * 2 + billed.cacheReadTokens * 3 + billed.cacheWriteTokens * 4) / 1e6,
    )
    assert.ok(usd > 0)
  })

  test('a model that it does not know has no cost, and a sentence says what it knows', async () => {
    const run = await simulate(file({ date: '2027-01-01', models: { 'acme/small': price } }))
    assert.equal(run.code, 0)
    assert.match(run.stdout, /do not know acme\/large, only acme\/small: give others with --prices/)
    assert.doesNotMatch(run.stdout, /\$|NaN/)
  })

  const wrong: readonly [string, unknown, RegExp][] = [
    ['no date', { models: {} }, /no price table at date/],
    [
      'a text as price',
      { date: 'd', models: { m: { ...price, input: '5' } } },
      /at models › m › input.*number/,
    ],
    ['a price too few', { date: 'd', models: { m: { input: 1, output: 2 } } }, /at models › m › cacheRead/],
    ['a negative price', { date: 'd', models: { m: { ...price, output: -1 } } }, /at models › m › output/],
    ['a name too many', { date: 'd', models: { m: { ...price, batch: 1 } } }, /batch/],
    ['a list', [price], /must hold a JSON object/],
    ['no JSON', '{"date": ', /is not JSON/],
  ]
  for (const [what, table, why] of wrong) {
    test(`${what}: exit code 2, and one sentence that names file and place`, async () => {
      const path = file(table)
      const run = await simulate(path)
      assert.equal(run.code, 2, run.stderr)
      assert.match(run.stderr, why)
      assert.ok(run.stderr.includes(path))
      assert.equal(run.stdout, '')
    })
  }

  test('a file that is not there', async () => {
    assert.match(
      (await simulate(join(folder, 'none.json'))).stderr,
      /Cannot read .*none\.json: there is no such file/,
    )
  })
})
