import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand, type StartedCli, startCli } from '../support/run-cli.ts'

// pin, unpin, undo, configure and preview as a person has them, against one `dev`.

const home = mkdtempSync(join(tmpdir(), 'dc-adjust-'))
let dev: StartedCli
before(
  async () => {
    for (const name of ['DURABLE_COMPACTION_STORE', 'TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE'])
      delete process.env[name]
    process.env['DURABLE_COMPACTION_HOME'] = home
    dev = startCli(['dev', '--root', home])
    await dev.says(/Ctrl-C ends it/)
    await ok('start', 'long', '--model', 'scripted/echo')
    for (const letter of ['a', 'b', 'c']) await ok('prompt', 'long', many(letter))
  },
  { timeout: 120_000 },
)
after(async () => {
  dev.interrupt()
  const late = sleep(20_000, undefined, { ref: false }).then(() => dev.kill())
  await Promise.race([dev.done, late])
  rmSync(home, { recursive: true, force: true })
})

const LIMIT = { timeout: 120_000 }
const many = (letter: string) => Array.from({ length: 700 }, (_, i) => `${letter}${i}`).join(' ')

async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args)
  assert.equal(code, 0, `${args.join(' ')}\n${stdout}\n${stderr}`)
  return stdout
}
const json = async (...args: string[]) => JSON.parse(await ok(...args, '--json'))

async function fails(code: number, pattern: RegExp, ...args: string[]): Promise<void> {
  const failed = await runCommand(args)
  assert.equal(failed.code, code, `${args.join(' ')}\n${failed.stdout}\n${failed.stderr}`)
  assert.equal(failed.stdout, '')
  assert.match(failed.stderr, pattern)
}

describe('what a person changes of a session', () => {
  test('pin and unpin', LIMIT, async () => {
    assert.match(
      await ok('pin', 'long', 'Never on a Friday.', '--id', 'friday'),
      /^Pinned \(\d tokens\), in every checkpoint .* unpin long friday\n$/,
    )
    assert.equal((await json('pin', 'long', '--seq', '5')).sessionId, 'long')
    await fails(2, /^UsageError: pin needs either a text or --seq/, 'pin', 'long')
    await fails(
      2,
      /^InvalidInput: pin: event #0 is session\/start, only messages/,
      'pin',
      'long',
      '--seq',
      '0',
    )
    await fails(3, /^SessionNotFound: /, 'pin', 'nobody', 'x')
    assert.match(await ok('unpin', 'long', 'friday'), /^Pin friday is taken back; /)
    await fails(2, /^InvalidInput: unpin: no pin has the id "friday"/, 'unpin', 'long', 'friday')
  })

  test('preview, compact, undo', LIMIT, async () => {
    const events = (await json('state', 'long')).stored.events
    const said = await ok('preview', 'long')
    assert.match(
      said,
      /^span +#\d+ to #\d+: \d+ messages?, [\d,]+ tokens counted\nkept +\d+ messages? stays? .*\ncontext +about [\d,]+ → [\d,]+ tokens, .*\nprice +1 call of scripted\/echo, about .* do not know it; .*\nlost +.*\nNothing was written\.\n$/,
    )
    const prices = join(home, 'prices.json')
    const price = { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1 }
    writeFileSync(prices, JSON.stringify({ date: '2026-01-01', models: { 'scripted/echo': price } }))
    const priced = await json('preview', 'long', '--prices', prices)
    assert.ok(priced.usd > 0 && priced.usd < 1)
    assert.equal((await json('state', 'long')).stored.events, events)
    await fails(2, /^InvalidSpan: /, 'preview', 'long', '--span', '3:9999')

    const compacted = await json('compact', 'long')
    assert.deepEqual(compacted.shadowedRange, priced.span)
    assert.match(
      await ok('undo', 'long', compacted.compactionId),
      /^\d+ messages are back in the place of checkpoint #\d+: about [\d,]+ → [\d,]+ tokens\.\n$/,
    )
    await fails(2, /^InvalidInput: undo: .* was undone already/, 'undo', 'long', compacted.compactionId)
    for (const command of ['undo', 'explain'])
      await fails(3, /^NotFound: Session long has no compaction "x": /, command, 'long', 'x')
    assert.match(await ok('preview', 'long'), new RegExp(`^span +#${priced.span.start} `))
  })

  test('configure', LIMIT, async () => {
    await ok('start', 'other', '--model', 'scripted/echo')
    assert.match(
      await ok('configure', 'other', '--system', 'Be kind.'),
      /^Session other has other settings .*\n$/,
    )
    assert.match(await ok('configure', 'other', '--system', 'Be kind.'), /has these settings already/)
    assert.equal((await json('configure', 'other', '--model', 'scripted/slow')).changed, true)
    assert.equal((await json('state', 'other')).stored.model, 'scripted/slow')
    await fails(2, /^UsageError: configure needs at least one of/, 'configure', 'other')
    await fails(2, /^UnknownModel: .*"nobody"/, 'configure', 'other', '--model', 'nobody/x')
    await fails(2, /^UnknownTool: .*"hammer"/, 'configure', 'other', '--tools', 'hammer')
    const policy = join(home, 'bad.json')
    writeFileSync(policy, '{"thresholdTokens": 5000, "retainTokens": 6000}')
    await fails(2, /^InvalidPolicy: .*5000.*6000/, 'configure', 'other', '--policy', policy)
    assert.equal((await json('state', 'other')).stored.model, 'scripted/slow')
  })
})
