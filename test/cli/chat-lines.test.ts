import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { setImmediate as nextTick } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { Lines } from '../../src/cli/chat/lines.ts'

// What a person types at a terminal, as the bytes that terminals send.

function terminal(isTerminal = true) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  let written = ''
  output.on('data', (part: Buffer) => {
    written += part
  })
  const lines = new Lines({ input, output, isTerminal })
  return {
    lines,
    input,
    async type(keys: string) {
      input.write(keys)
      await nextTick()
      await nextTick()
    },
    shown: () => stripVTControlCharacters(written),
    raw: () => written,
  }
}

describe('lines of a terminal', () => {
  test('a paste is one message however many lines it has, and may be edited before it is sent', async () => {
    const { lines, type, raw } = terminal()
    const asked = lines.next()
    await type('\u001b[200~one\rtwo\rthree\u001b[201~')
    await type('!\r')
    assert.equal(await asked, 'one\ntwo\nthree!')
    lines.close()
    assert.match(raw(), /\[\?2004h[\s\S]*\[\?2004l$/, 'the terminal is left as it was')
  })

  test('what is typed while nobody asks is not echoed into the answer, and is there at the next question', async () => {
    const { lines, type, shown } = terminal()
    const asked = lines.next()
    await type('first\r')
    assert.equal(await asked, 'first')
    const before = shown()
    await type('second\rthi')
    assert.equal(shown(), before)
    assert.equal(await lines.next(), 'second')
    const third = lines.next()
    await type('rd\r')
    assert.equal(await third, 'third')
    assert.equal(shown().slice(before.length), '› second\n› third\r\n')
    lines.close()
  })

  test('room is made for a line that comes between, and what was typed stands behind it', async () => {
    const { lines, type, shown } = terminal()
    const asked = lines.next()
    await type('half')
    lines.hidePrompt()
    const before = shown()
    await type(' a')
    assert.equal(shown(), before)
    lines.showPrompt()
    assert.equal(shown().slice(before.length), '› half a')
    await type(' line\r')
    assert.equal(await asked, 'half a line')
    lines.close()
  })

  test('Ctrl-C is told, Ctrl-D ends', async () => {
    const { lines, type } = terminal()
    let interrupts = 0
    lines.onInterrupt(() => interrupts++)
    const asked = lines.next()
    await type('\u0003')
    assert.equal(interrupts, 1)
    await type('\u0004')
    assert.equal(await asked, undefined)
    assert.equal(await lines.next(), undefined)
  })
})

describe('lines of a pipe', () => {
  test('come in order, with the last one that has no end of line; nothing is echoed', async () => {
    const { lines, input, raw } = terminal(false)
    input.end('one\r\ntwo \\\nthree\n\nfour\\')
    const all: (string | undefined)[] = []
    for (let line = await lines.next(); line !== undefined; line = await lines.next()) all.push(line)
    assert.deepEqual(all, ['one', 'two \nthree', '', 'four'])
    assert.equal(raw(), '')
  })

  test('one that says how it is to be taken is taken before its turn, and only then', async () => {
    const { lines, input } = terminal(false)
    const asked = lines.next()
    input.write('first\n/steer left\nlast\n')
    assert.equal(await asked, 'first')
    assert.equal(
      lines.takeIf((line) => line === 'last'),
      undefined,
    )
    assert.equal(
      lines.takeIf((line) => line.startsWith('/steer')),
      '/steer left',
    )
    assert.equal(await lines.next(), 'last')
    lines.close()
  })

  test('one is found wherever it stands, and the last one before it', async () => {
    const { lines, input } = terminal(false)
    const asked = lines.next()
    input.write('first\none\n/cancel\ntwo\n')
    assert.equal(await asked, 'first')
    assert.equal(
      lines.takeFirst((line) => line === 'none'),
      undefined,
    )
    assert.deepEqual(
      lines.takeFirst((line) => line === '/cancel'),
      { line: '/cancel', at: 1 },
    )
    assert.equal(
      lines.takeLast(() => true, 1),
      'one',
    )
    assert.equal(
      lines.takeLast((line) => line === 'one'),
      undefined,
    )
    assert.equal(await lines.next(), 'two')
    lines.close()
  })
})
