import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Tiktoken } from 'js-tiktoken/lite'
import o200k from 'js-tiktoken/ranks/o200k_base'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { pieceEnd } from '../../src/shared/tokens/pieces.ts'

const reference = new Tiktoken(o200k)

const SAMPLES = {
  nothing: '',
  'special tokens as plain text': 'before <|endoftext|> after <|endofprompt|>',
  'special tokens of other models': '<|im_start|>system<|im_sep|>',
  'lone surrogates': '\ud83d and \ude00, \ud800\ud800\udc00\udc00',
  'byte order marks': '\ufeffa \ufeff\ufeff b\ufeff',
  'zero-width characters': 'a\u200bb\u200d\u200dc',
  'every kind of line end': 'a\r\n\r\nb\n\n\n c\r \u2028 \u0085 \n/ //\n/',
  contractions: "I'LL don't we'Ve x's 'd ''s y're'S é'm 中't \u0301'll 12'd",
  'upper case before lower': 'HTMLElement ABCdef ÀÉî XⅧ',
  'marks at the edges': ' \u0301\u0301A !\u0301B \u0301\u0301',
  'numbers by threes': '1234567 ١٢٣٤ ½²Ⅷ 3.14159',
  'leading and trailing space': '   a   \t\t b   ',
  emoji: '👩‍👩‍👧‍👦 👍🏽🏴‍☠️ 🇩🇪🇫🇷',
  CJK: '東京都は日本の首都である。你好，世界！가나다라 마바사',
  base64: Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 7919) % 256)).toString('base64'),
  controls: '\0\u0001\u001b[31mred\u001b[0m\u007f',
  'a class of its own': 'ǅabc ʰʰ ªª _snake_case__ $a',
}

for (const [name, text] of Object.entries(SAMPLES)) {
  test(`counts what js-tiktoken counts: ${name}`, () => {
    assert.equal(countTokens(text), reference.encode(text, [], []).length)
  })
}

test('cuts every code point of Unicode as the pattern does, alone and beside others', () => {
  const block = 0x400
  // Planes 4 to 13 hold nothing, and the last two are for private use: their beginnings stand for them.
  const planes = Array.from({ length: 17 }, (_, plane) => plane * 0x10000)
  const blocks = planes.flatMap((plane) =>
    plane < 0x40000 ? Array.from({ length: 0x10000 / block }, (_, index) => plane + index * block) : [plane],
  )
  for (const first of blocks) {
    const points = Array.from({ length: block }, (_, index) => String.fromCodePoint(first + index))
    const text = [points.join(''), points.join(' '), points.join('a'), points.join('!A')].join('\n')
    const expected = text.match(new RegExp(o200k.pat_str, 'gu')) ?? []
    let start = 0
    for (const piece of expected) {
      const end = pieceEnd(text, start)
      if (end !== start + piece.length)
        assert.equal(JSON.stringify(text.slice(start, end)), JSON.stringify(piece))
      start = end
    }
    assert.equal(start, text.length)
  }
})

/** A generator of its own, so that the runs are the same each time. */
function letters(count: number, alphabet: string): string {
  let state = 7
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return alphabet.charAt(Math.floor((state / 2 ** 32) * alphabet.length))
  }).join('')
}

const MILLION = 1_000_000
const UNBROKEN: Record<string, () => string> = {
  'a letter': () => 'a'.repeat(MILLION),
  spaces: () => ' '.repeat(MILLION),
  'equals signs': () => '='.repeat(MILLION),
  'a Chinese character': () => '中'.repeat(MILLION),
  'zero-width spaces': () => '\u200b'.repeat(MILLION),
  'lone surrogates': () => '\ud800'.repeat(MILLION),
  'random a to z': () => letters(MILLION, 'abcdefghijklmnopqrstuvwxyz'),
  'random Chinese characters': () =>
    letters(MILLION, '的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生'),
}

for (const [name, make] of Object.entries(UNBROKEN)) {
  // js-tiktoken takes hours for these. Processor time, since other tests run beside this; the benchmark measures.
  test(`fault G09 a million unbroken characters are counted in seconds: ${name}`, () => {
    const text = make()
    const started = process.cpuUsage()
    const tokens = countTokens(text)
    const { user, system } = process.cpuUsage(started)
    assert.ok(tokens > 0 && tokens <= 3 * MILLION)
    const seconds = (user + system) / 1e6
    assert.ok(seconds < 5, `took ${seconds} s`)
  })
}

test('a run on which the pattern exhausts the stack of V8 is cut', () => {
  const count = 6_000_000
  assert.equal(pieceEnd('中'.repeat(count), 0), count)
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes by which the heap grows, garbage aside. */
function growth(work: (round: number) => void, rounds: number): number {
  work(0)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let round = 1; round <= rounds; round++) work(round)
  collect()
  return process.memoryUsage().heapUsed - before
}

test('the cache does not keep the texts alive whose pieces it holds', () => {
  const textBytes = 300_000
  // Each text has a piece of its own, of several tokens; V8 makes it a slice, which holds on to the text.
  const grownBytes = growth((round) => {
    countTokens(
      `${'word '.repeat(textBytes / 5)} qzxjkvwp${'abcdefghij'.charAt(round % 10).repeat(5 + round)}`,
    )
  }, 20)
  assert.ok(grownBytes < 5 * textBytes, `the heap grew by ${grownBytes} bytes`)
})

test('the cache holds a limited number of pieces, and no long ones', () => {
  const many = growth((round) => {
    countTokens(
      Array.from(
        { length: 5000 },
        (_, index) => ` qzx${letterCode(round)}jkv${letterCode(index)}wpqzxjkvwpqzx`,
      ).join(''),
    )
  }, 12)
  assert.ok(many < 3_500_000, `the heap grew by ${many} bytes`)
  const long = growth((round) => {
    countTokens(
      Array.from({ length: 25 }, (_, index) => ` ${letterCode(25 * round + index).repeat(250)}`).join(''),
    )
  }, 40)
  assert.ok(long < 600_000, `the heap grew by ${long} bytes`)
})

/** Four letters that are different for every number. */
const letterCode = (number: number): string =>
  [0, 1, 2, 3].map((place) => 'бвгджзклмн'.charAt(Math.floor(number / 10 ** place) % 10)).join('')
