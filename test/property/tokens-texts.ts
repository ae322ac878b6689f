import fc from 'fast-check'

/** Length of `anyText` in UTF-16 units. */
export const MAX_UNITS = 300

/** Characters whose runs o200k_base merges far, or whose class is unusual. */
const RUN_CHARACTERS = [
  ...['a', 'A', 'z', '0', ' ', '\t', '\n', '\r', '\r\n', '=', '-', '#', '/', '.', '\0', '"', "'"],
  ...['中', '的', 'の', 'ー', '한', 'я', 'Я', 'é', 'ß', 'ǅ', 'ʰ', 'ª', '٣', '²', 'Ⅷ', '½'],
  ...['\u00a0', '\u0085', '\u2028', '\u3000', '\u200b', '\u200d', '\ufeff', '\ufffd', '\u0301', '\u20dd'],
  ...['😀', '👍🏽', '👩‍👩‍👧', '🇩🇪', '𝒳', '𝟗', '𐐀', '\u{20000}', '\ud83d', '\ude00', '\ud800', '\udfff'],
]
const WORDS = [
  ...['hello', ' World', 'iPhone', 'HTMLElement', ' getElementById', "don't", "WE'LL", "x'S", "'re", "y'Ve"],
  ...[
    '<|endoftext|>',
    '<|endofprompt|>',
    '<|im_start|>',
    ' 12345',
    '3.14159',
    '\n\n',
    '  \n ',
    ' //',
    '/*',
    '\r\n/',
  ],
  ...[
    '東京都',
    '你好，世界',
    '가나다',
    'Привет',
    'Größe',
    'naïve',
    'e\u0301',
    ' \u0301A',
    '!\u0301',
    '{"key":"value"}',
  ],
]

const cut = (text: string): string => text.slice(0, MAX_UNITS)

const run = fc
  .tuple(fc.constantFrom(...RUN_CHARACTERS), fc.nat(40))
  .map(([unit, times]) => unit.repeat(times))
const longRun = fc
  .constantFrom(...RUN_CHARACTERS)
  .chain((unit) =>
    fc.integer({ min: 0, max: Math.floor(MAX_UNITS / unit.length) }).map((times) => unit.repeat(times)),
  )
const base64 = fc.uint8Array({ maxLength: 120 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const hanzi = fc.array(fc.integer({ min: 0x4e00, max: 0x4fff }), { maxLength: 24 })
const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })

const part = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 3, arbitrary: run },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.stringMatching(/^[a-zA-Z]{1,30}$/) },
  { weight: 1, arbitrary: base64 },
  { weight: 1, arbitrary: hanzi.map((codes) => String.fromCodePoint(...codes)) },
  // Unpaired surrogates among them.
  { weight: 1, arbitrary: units.map((codes) => String.fromCharCode(...codes)) },
)

/** Texts of up to `MAX_UNITS`, most of them mixtures, some one long run. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 40, arbitrary: fc.array(part, { maxLength: 6 }).map((parts) => cut(parts.join(''))) },
  { weight: 1, arbitrary: longRun },
)

/** Bytes that the pattern would keep in one piece, and some that it would not: the merge must not care. */
export const unbrokenText = (maxUnits: number): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof(run, fc.stringMatching(/^[a-z]{1,40}$/), fc.stringMatching(/^[ab ]{1,40}$/), part), {
      minLength: 1,
      maxLength: 30,
    })
    .map((parts) => `a${parts.join('')}`.slice(0, maxUnits))
