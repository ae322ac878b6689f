import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { issuedProblems } from '../support/anthropic/issued-replies.ts'
import type { Json } from '../support/anthropic/valid-blocks.ts'
import { headerProblems, requestBodyProblems } from '../support/anthropic/valid-request.ts'
import { png as pngOf } from '../support/png.ts'

// The judge of every request of the live agent: one wrong request for each of its rules, so that a silent judge is not taken for a good client.

const text = (words: string) => ({ type: 'text', text: words })
const user = (...content: unknown[]) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [text('seen')] }
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'sig' }
const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
const png = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
const picture = (width: number, height: number) => pngOf(width, height, 64)
const pictures = (count: number) => Array.from({ length: count }, () => picture(2_000, 2_000))
const tool = { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: { at: {} } } }
const mark = { cache_control: { type: 'ephemeral' } }
const marked = (words: string, ttl?: string) => ({
  ...text(words),
  cache_control: { type: 'ephemeral', ...(ttl === undefined ? {} : { ttl }) },
})

const VALID: Json = {
  model: 'm',
  max_tokens: 2_000,
  stream: true,
  system: [{ ...text('Be brief.'), ...mark }],
  tools: [tool],
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  messages: [
    user(text('Look.'), { type: 'image', source: png }),
    assistant(thought, text('I look.'), search, found, call),
    user(result, text('And?')),
    assistant(text('So.')),
    user(marked('Go on.')),
  ],
}
const talk = (...messages: unknown[]) => ({ messages })
const asks = user(text('Look.'))

const WRONG: readonly (readonly [what: string, change: object, problem: RegExp])[] = [
  ['an unknown key', { betas: ['x'] }, /betas: Extra inputs/],
  ['no model', { model: '' }, /model: Field required/],
  ['no room for a reply', { max_tokens: 0 }, /max_tokens/],
  ['a reply longer than the model gives', { max_tokens: 64_001 }, /max_tokens: 64001 > 64000/],
  [
    'a reply longer than a large model gives',
    { model: 'claude-opus-5-5', max_tokens: 128_001 },
    /max_tokens: 128001 > 128000/,
  ],
  ['a fraction of a token', { max_tokens: 1.5 }, /max_tokens/],
  ['a temperature beside reasoning', { temperature: 0.5 }, /temperature may only be 1/],
  ['a stop sequence of spaces', { stop_sequences: [' '] }, /stop_sequences/],
  ['a budget above the reply', { max_tokens: 1_024 }, /budget_tokens/],
  ['a forced call beside reasoning', { tool_choice: { type: 'any' } }, /may not force a tool/],
  ['an empty system prompt', { system: [text('')] }, /system: text must be non-empty/],
  ['two tools of one name', { tools: [tool, tool] }, /names must be unique/],
  ['a tool with a bad name', { tools: [{ ...tool, name: 'a b' }] }, /tools: name/],
  ['a tool without a schema of an object', { tools: [{ ...tool, input_schema: {} }] }, /must be object/],
  [
    'a schema of alternatives',
    { tools: [{ ...tool, input_schema: { type: 'object', anyOf: [] } }] },
    /anyOf at the top level/,
  ],
  [
    'a property with a space',
    { tools: [{ ...tool, input_schema: { type: 'object', properties: { 'a b': {} } } }] },
    /property key/,
  ],
  ['calls without tools', { tools: [] }, /required when messages hold calls/],
  ['no message', talk(), /at least one message/],
  ['an empty message', talk(user()), /at least one block/],
  ['an unknown role', talk({ role: 'system', content: [text('a')] }), /role "system"/],
  [
    'a first message of the assistant',
    talk(assistant(text('a')), asks),
    /first message must be from the user/,
  ],
  ['two messages of the user', talk(asks, asks), /roles must alternate/],
  ['a prefill', talk(asks, assistant(text('So'))), /must end with a user message/],
  ['a blank text', talk(user(text(' \n'))), /more than whitespace/],
  ['an unknown block', talk(user({ type: 'hologram' })), /Input tag 'hologram'/],
  ['an unknown field', talk(user({ ...text('a'), mood: 1 })), /mood: Extra inputs/],
  ['a call of the user', talk(user(call)), /may not stand in a message of the user/],
  [
    'reasoning without a signature',
    talk(asks, assistant({ ...thought, signature: '' }, text('a')), asks),
    /signature is no text/,
  ],
  [
    'reasoning with a mark',
    talk(asks, assistant({ ...thought, ...mark }, text('a')), asks),
    /cache_control: Extra inputs/,
  ],
  [
    'reasoning at the end',
    talk(asks, assistant(text('a'), thought), asks),
    /final block .* cannot be thinking/,
  ],
  ['a call without a result', talk(asks, assistant(call), asks), /0 tool_result blocks/],
  ['a call with two results', talk(asks, assistant(call), user(result, result)), /2 tool_result blocks/],
  ['a result without a call', talk(user(result)), /unexpected tool_use_id/],
  ['a result behind a text', talk(asks, assistant(call), user(text('a'), result)), /must come first/],
  [
    'two calls of one id',
    talk(asks, assistant(call), user(result), assistant(call), user(result)),
    /must be unique/,
  ],
  [
    'an input that is no object',
    talk(asks, assistant({ ...call, input: '{}' }), user(result)),
    /input is no object/,
  ],
  [
    'an error with a picture',
    talk(
      asks,
      assistant(call),
      user({ ...result, is_error: true, content: [{ type: 'image', source: png }] }),
    ),
    /an error has only text/,
  ],
  [
    'a provider’s call that nobody answered',
    talk(asks, assistant(search, text('a')), asks, assistant(text('b')), asks),
    /srvtoolu_1 has no result/,
  ],
  [
    'a provider’s result without its call',
    talk(asks, assistant(found, text('a')), asks),
    /which nothing called/,
  ],
  [
    'a picture of an unknown type',
    talk(user({ type: 'image', source: { ...png, media_type: 'image/bmp' } })),
    /media_type image\/bmp/,
  ],
  [
    'a picture that is another',
    talk(user({ type: 'image', source: { ...png, media_type: 'image/jpeg' } })),
    /does not begin as image\/jpeg/,
  ],
  [
    'a document that is none',
    talk(
      user({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: png.data } }),
    ),
    /does not begin as application\/pdf/,
  ],
  [
    'a picture that is cut in a byte',
    talk(user({ type: 'image', source: { ...png, data: 'iVBORw0KGgo' } })),
    /no base64/,
  ],
  [
    'a picture that is too wide',
    talk(user(picture(8_001, 8))),
    /messages\.0\.content\.0\.image.*: 8000 pixels/,
  ],
  ['a picture that is too high', talk(user(text('a'), picture(8, 8_001))), /messages\.0\.content\.1\.image/],
  [
    'among many pictures one that is too wide, in a result',
    talk(
      asks,
      assistant(call),
      user({ ...result, content: [text('a'), picture(2_001, 8)] }, ...pictures(20)),
    ),
    /messages\.2\.content\.0\.tool_result\.content\.1\.image.* for many-image requests: 2000 pixels/,
  ],
  ['a picture that is no base64', talk(user({ type: 'image', source: { ...png, data: '%' } })), /no base64/],
  [
    'five marks',
    talk(user(marked('a'), marked('b'), marked('c'), marked('d'))),
    /maximum of 4 blocks .* found 5/,
  ],
  ['an hour behind five minutes', talk(user(marked('a', '1h'))), /1h must stand before 5m/],
  ['half a character', talk(user(text('a\ud83d'))), /lone surrogate/],
]

describe('the judge of requests', () => {
  test('a valid request has no problem', () => {
    assert.deepEqual(requestBodyProblems(JSON.stringify(VALID)), [])
  })

  test('twenty large pictures and many small ones are valid', () => {
    const large = Array.from({ length: 20 }, () => picture(8_000, 8_000))
    for (const content of [large, pictures(60)])
      assert.deepEqual(requestBodyProblems(JSON.stringify({ ...VALID, ...talk(user(...content)) })), [])
  })

  test('reads the sides of a JPEG and a GIF', () => {
    const jpeg = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0xff, 0xc2, 0, 11, 8, 0x20, 0, 0, 9, 1]
    const gif = [0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 9, 0, 0, 0x20]
    for (const [type, bytes] of [
      ['image/jpeg', jpeg],
      ['image/gif', gif],
    ] as const) {
      const data = Buffer.from(bytes).toString('base64')
      const content = user({ type: 'image', source: { type: 'base64', media_type: type, data } })
      assert.match(requestBodyProblems(JSON.stringify({ ...VALID, ...talk(content) })).join(), /8000 pixels/)
    }
  })

  for (const [what, change, problem] of WRONG)
    test(`finds ${what}`, () => {
      assert.match(requestBodyProblems(JSON.stringify({ ...VALID, ...change })).join('\n'), problem)
    })

  test('finds reasoning that nobody issued, that was changed, and that was parted from what it stood before', () => {
    const issued = [{ content: [thought, text('I look.'), call] }]
    const found = (...content: unknown[]) => issuedProblems(talk(asks, assistant(...content)), issued).join()
    assert.equal(found(thought, text('I look.'), call), '')
    assert.match(found({ ...thought, thinking: 'Ha.' }, text('I look.')), /Invalid signature/)
    assert.match(found(thought, call), /cannot be parted/)
  })

  test('finds headers that are missing, and retries of the SDK', () => {
    const headers = {
      'x-api-key': 'k',
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
    }
    assert.deepEqual(headerProblems(headers), [])
    assert.match(headerProblems({ ...headers, 'x-api-key': undefined }).join(), /no x-api-key/)
    assert.match(
      headerProblems({ ...headers, 'anthropic-version': undefined }).join(),
      /no anthropic-version/,
    )
    assert.match(headerProblems({ ...headers, 'anthropic-beta': 'a b' }).join(), /anthropic-beta/)
    assert.match(headerProblems({ ...headers, 'x-stainless-retry-count': '1' }).join(), /the SDK retries/)
  })
})
