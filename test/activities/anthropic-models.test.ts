import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { ModelCallError, type ModelRequest } from '../../src/shared/ports/model.ts'
import { type ContentBlock, text } from '../../src/shared/session/content.ts'
import type { Usage } from '../../src/shared/session/events.ts'
import { type AnthropicModelsOptions, anthropicModels } from '../../src/worker/index.ts'
import { type AnthropicServer, openAnthropicServer, reply, streamText } from '../support/anthropic/server.ts'
import { sse, streamEvents } from '../support/anthropic/stream-events.ts'

// The client of the Messages API over real HTTP: what is sent, what comes back, what each failure becomes.

let server: AnthropicServer
before(async () => {
  server = await openAnthropicServer({ future: ['hologram', 'mood'] })
})
afterEach(() => server.assertValid())
after(() => server.close())

const REQUEST: ModelRequest = {
  provider: 'anthropic',
  model: 'claude-test',
  system: 'Be brief.',
  tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }],
  messages: [{ role: 'user', content: [text('Look.')] }],
  maxTokens: 100,
  sampling: { temperature: 0 },
  purpose: 'turn',
  index: 0,
  sessionId: 's',
}

const models = (options?: AnthropicModelsOptions) => anthropicModels(server.client(), options)
const never = () => new AbortController().signal
const generate = (request: Partial<ModelRequest> = {}, options?: AnthropicModelsOptions) =>
  models(options).generate({ ...REQUEST, ...request }, { signal: never() })
const answered = (content: readonly ContentBlock[], more = {}) => {
  server.answer = (_request, response) => reply(response, { content, ...more })
}
const sent = () => server.received.at(-1)?.body ?? {}
const MARK = { cache_control: { type: 'ephemeral' } }

test('the live client streams text, and gives the reply with its calls, stop reason and tokens in all buckets', async () => {
  const usage = {
    input_tokens: 10,
    cache_read_input_tokens: 3,
    cache_creation_input_tokens: 4,
    output_tokens: 20,
  }
  const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'it', deep: [1, { a: null }] } }
  answered([text('I look.'), call], { usage, model: 'claude-test-1' })
  let streamed = ''
  const usages: Usage[] = []
  const given = await models().generate(REQUEST, {
    signal: never(),
    onDelta: (delta) => {
      streamed += delta.text
    },
    onUsage: (told) => usages.push(told),
  })
  assert.equal(streamed, 'I look.')
  const counted = { inputTokens: 10, outputTokens: 20, cacheReadTokens: 3, cacheWriteTokens: 4 }
  assert.deepEqual(given, {
    content: [text('I look.'), call],
    stopReason: 'tool_use',
    usage: counted,
    model: 'claude-test-1',
  })
  assert.deepEqual(usages, [{ ...counted, outputTokens: 1 }, counted])
})

test('the live client sends what the request says: sampling, system, tools, betas as a header, tools of the provider', async () => {
  answered([text('Done.')])
  const search = { type: 'web_search_20260318', name: 'web_search' }
  await generate({
    sampling: {
      temperature: 0,
      betas: ['context-1m-2025-08-07'],
      tools: [search],
      metadata: { user_id: 'u' },
    },
  })
  const { messages, ...head } = sent()
  assert.deepEqual(head, {
    temperature: 0,
    metadata: { user_id: 'u' },
    model: 'claude-test',
    max_tokens: 100,
    stream: true,
    system: [{ ...text('Be brief.'), ...MARK }],
    tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' } }, search],
  })
  assert.deepEqual(messages, [{ role: 'user', content: [{ ...text('Look.'), ...MARK }] }])
  assert.equal(server.received.at(-1)?.headers['anthropic-beta'], 'context-1m-2025-08-07')
})

test('a model that takes no images gets labels in their place, by its capacity alone', async () => {
  const image = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
  }
  const messages = [{ role: 'user', content: [text('See.'), image] }] as const
  const sentTypes = () =>
    (sent()['messages'] as [{ content: { type: string }[] }])[0].content.map(({ type }) => type)
  answered([text('Done.')])
  await generate({ messages }, { capacities: { 'claude-test': { acceptsMedia: false } } })
  assert.deepEqual(sentTypes(), ['text', 'text'])
  await generate({ messages })
  assert.deepEqual(sentTypes(), ['text', 'image'])
})

test('fault F07: headers and betas of the client go with every request, and join those of the session', async () => {
  answered([text('Done.')])
  const api = server.client({ defaultHeaders: { 'x-tenant': 'seven', 'anthropic-beta': 'one-2025-01-01' } })
  for (const purpose of ['turn', 'summary'] as const) {
    const request = { ...REQUEST, purpose, sampling: { betas: ['two-2025-01-01', 'one-2025-01-01'] } }
    await anthropicModels(api).generate(request, { signal: never() })
    const headers = server.received.at(-1)?.headers
    assert.deepEqual(
      [headers?.['x-tenant'], headers?.['anthropic-beta']],
      ['seven', 'one-2025-01-01,two-2025-01-01'],
    )
  }
})

test('E05 blocks of every kind come out of the stream as they were, also of kinds and fields that nobody knows', async () => {
  const citation = {
    type: 'char_location',
    cited_text: 'blue',
    document_index: 0,
    start_char_index: 0,
    end_char_index: 4,
  }
  const content: ContentBlock[] = [
    { type: 'thinking', thinking: 'Let me see, where is it?', signature: 'sig-1', mood: 'calm' },
    { type: 'redacted_thinking', data: 'opaque' },
    { ...text('It is blue.'), citations: [citation] },
    {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: 'web_search',
      input: { query: 'blue' },
      caller: { type: 'direct' },
    },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result', url: 'https://x.test', encrypted_content: 'e' }],
    },
    { type: 'hologram', depth: 3, __extra: { a: [1] } },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: {}, caller: { type: 'direct' } },
  ]
  answered(content)
  assert.deepEqual((await generate()).content, content)
  // And back: reasoning and all the rest unchanged in the next request.
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [text('seen')] }
  await generate({
    messages: [...REQUEST.messages, { role: 'assistant', content }, { role: 'user', content: [result] }],
  })
  assert.deepEqual((sent()['messages'] as { content: unknown }[])[1]?.content, content)
})

test('pieces of a kind that nobody knows join texts and lists, and replace anything else', async () => {
  const events = streamEvents({ content: [{ type: 'hologram', name: 'a', layers: [1], depth: 1 }] })
  const pieces = [
    { type: 'swirl_delta', name: 'b', layers: [2], depth: 2 },
    { type: 'swirl_delta', name: 'c' },
  ]
  events.splice(2, 0, ...pieces.map((delta) => ({ type: 'content_block_delta', index: 0, delta })), {
    type: 'news',
  })
  server.answer = (_request, response) => void streamText(response, sse(events)).end()
  const [block] = (await generate()).content
  assert.deepEqual(block, { type: 'hologram', name: 'abc', layers: [1, 2], depth: 2 })
})

test('of a piece of a known kind only its own field is taken: what a signed block did not hold would be refused later', async () => {
  const content = [
    { type: 'thinking', thinking: 'Let me see.', signature: 'sig-1' },
    { ...text('It is blue.'), citations: [{ type: 'char_location', cited_text: 'blue' }] },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'it' } },
  ]
  const events = streamEvents({ content }).map((event) =>
    event.type === 'content_block_delta'
      ? { ...event, delta: { ...(event['delta'] as object), estimated_tokens: 50, news: ['a'] } }
      : event,
  )
  server.answer = (_request, response) => void streamText(response, sse(events)).end()
  assert.deepEqual((await generate()).content, content)
})

for (const stopReason of [
  'end_turn',
  'stop_sequence',
  'max_tokens',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
  'of_2030',
])
  test(`the stop reason ${stopReason} comes through`, async () => {
    answered([text('Well.')], { stopReason })
    assert.equal((await generate()).stopReason, stopReason)
  })

test('a call that max_tokens cut comes without its input; cut without a reason, the reply is none', async () => {
  const events = streamEvents({
    content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { path: 'a.txt' } }],
    stopReason: 'max_tokens',
  })
  const cut = [...events.slice(0, 4), ...events.slice(-3)]
  server.answer = (_request, response) => void streamText(response, sse(cut)).end()
  assert.deepEqual((await generate()).content, [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }])
  const claimed = cut.map((event) =>
    event.type === 'message_delta' ? { ...event, delta: { stop_reason: 'tool_use' } } : event,
  )
  server.answer = (_request, response) => void streamText(response, sse(claimed)).end()
  await assert.rejects(generate(), retryable(/the input of a call is no JSON/))
})

const retryable = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ModelCallError, String(error))
  assert.match(error.message, message)
  assert.equal(error.failure.retryable, true)
  return true
}

for (const [what, events, message] of [
  [
    'ends before its message',
    streamEvents({ content: [text('Half.')] }).slice(0, -1),
    /ended before the message did/,
  ],
  ['has no events', [], /ended before the message did/],
  [
    'begins in the middle',
    streamEvents({ content: [text('Half.')] }).slice(1),
    /content_block_start came first/,
  ],
  ['has no stop reason', streamEvents({ content: [text('Half.')], stopReason: null }), /no stop reason/],
  ['is of the wrong role', [{ type: 'message_start', message: { role: 'user' } }], /role "user"/],
] as const)
  test(`a stream that ${what} is no reply, and may be asked for again`, async () => {
    server.answer = (_request, response) => void streamText(response, sse(events)).end()
    await assert.rejects(generate(), retryable(message))
  })

test('what follows the last event takes nothing from the message: a reset, more bytes, a connection that stays open', async () => {
  const whole = sse(streamEvents({ content: [text('Whole.')] }))
  for (const end of ['reset', 'open'] as const) {
    server.answer = (_request, response) => {
      streamText(response, whole)
      if (end === 'reset') setTimeout(() => response.destroy(), 20)
    }
    assert.deepEqual((await generate()).content, [text('Whole.')])
  }
})

for (const [what, late] of [
  ['a ping without its event line', 'data: {"type":"ping"}\n\n'],
  ['a kind that nobody knows', sse([{ type: 'message_news' }])],
  ['the end mark of other APIs', 'data: [DONE]\n\n'],
] as const)
  test(`behind the last event ${what} takes nothing from the message`, async () => {
    server.answer = (_request, response) =>
      void streamText(response, sse(streamEvents({ content: [text('Whole.')] })) + late).end()
    assert.deepEqual((await generate()).content, [text('Whole.')])
  })

test('prompt cache: tools of the provider are sent without their own marks, and the session’s objects stay as they are', async () => {
  answered([text('Done.')])
  const search = Object.freeze({ type: 'web_search_20260318', name: 'web_search' })
  const fetch = Object.freeze({ type: 'web_fetch_20260318', name: 'web_fetch', ...MARK })
  const { cache_control: _, ...plainFetch } = fetch
  const request = { system: '', tools: [], sampling: { tools: [fetch, search] } }
  await generate(request)
  assert.deepEqual(sent()['tools'], [plainFetch, { ...search, ...MARK }])
  await generate(request, { cache: false })
  assert.deepEqual(sent()['tools'], [plainFetch, search])
})

test('prompt cache: marks on the system prompt, the end, and the end of the request before; at most four; a summary writes nothing', async () => {
  answered([text('Done.')])
  const marked = (role: 'user' | 'assistant', words: string) => ({
    role,
    content: [{ ...text(words), ...MARK }],
  })
  const plain = (role: 'user' | 'assistant', words: string) => ({ role, content: [text(words)] })
  // Marks that somebody put into a prompt are not sent: they would add up.
  const messages = [
    marked('user', 'a'),
    marked('assistant', 'b'),
    marked('user', 'c'),
    marked('assistant', 'd'),
    plain('user', 'e'),
  ]
  await generate({ messages })
  assert.deepEqual(sent()['messages'], [
    plain('user', 'a'),
    plain('assistant', 'b'),
    marked('user', 'c'),
    plain('assistant', 'd'),
    marked('user', 'e'),
  ])
  await generate({ messages, purpose: 'summary' })
  assert.deepEqual(sent()['messages'], [
    plain('user', 'a'),
    plain('assistant', 'b'),
    marked('user', 'c'),
    plain('assistant', 'd'),
    plain('user', 'e'),
  ])
  await generate({ system: '' })
  assert.deepEqual((sent()['tools'] as unknown[])[0], {
    name: 'look',
    description: 'Looks.',
    input_schema: { type: 'object' },
    ...MARK,
  })
  await generate({ messages }, { cache: '1h' })
  assert.equal(JSON.stringify(sent()).split('"ttl":"1h"').length, 4)
  await generate({ messages }, { cache: false })
  assert.doesNotMatch(JSON.stringify(sent()), /cache_control/)
})
