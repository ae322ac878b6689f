import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { isSessionError } from '../../src/shared/errors.ts'
import { ContextOverflowError, ModelCallError, type ModelRequest } from '../../src/shared/ports/model.ts'
import type { FailureKind } from '../../src/shared/refusals/provider-failure.ts'
import { text } from '../../src/shared/session/content.ts'
import { type AnthropicModelsOptions, anthropicModels } from '../../src/worker/index.ts'
import {
  type AnthropicServer,
  openAnthropicServer,
  refuse,
  sendJson,
  streamText,
} from '../support/anthropic/server.ts'
import { sse, streamEvents } from '../support/anthropic/stream-events.ts'

// How calls of the Messages API end when something goes wrong: cancels, times, capacities, refusals. Over real HTTP.

let server: AnthropicServer
before(async () => {
  server = await openAnthropicServer()
})
afterEach(() => server.assertValid())
after(() => server.close())

const REQUEST: ModelRequest = {
  provider: 'anthropic',
  model: 'claude-test',
  system: '',
  tools: [],
  messages: [{ role: 'user', content: [text('Look.')] }],
  maxTokens: 100,
  sampling: {},
  purpose: 'turn',
  index: 0,
  sessionId: 's',
}

const models = (options?: AnthropicModelsOptions) => anthropicModels(server.client(), options)
const generate = (request: Partial<ModelRequest> = {}, options?: AnthropicModelsOptions) =>
  models(options).generate({ ...REQUEST, ...request }, { signal: new AbortController().signal })

const failed = (kind: FailureKind, retryable: boolean, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ModelCallError, String(error))
  assert.equal(error.failure.kind, kind)
  assert.match(error.message, message)
  assert.equal(error.failure.retryable, retryable)
  return true
}

test('an abort ends the call within a second with its own reason, and closes the request: before the headers and in the stream', async () => {
  for (const begins of [false, true]) {
    const abort = new AbortController()
    const reason = new Error('cancelled')
    server.answer = (_request, response) => {
      if (begins) streamText(response, sse(streamEvents({ content: [text('Half.')] }).slice(0, 3)))
      setTimeout(() => abort.abort(reason), 50)
    }
    await assert.rejects(models().generate(REQUEST, { signal: abort.signal }), (error) => error === reason)
    await server.received.at(-1)?.closed
  }
})

test('fault P02: silence, pings alone, and a reply that stands still end by their own times; one that is too slow as a whole is final', async () => {
  const [start, block, piece] = streamEvents({ content: [text('Half of it.')] })
  const ping = { type: 'ping' }
  const patient = { firstTokenTimeoutMs: 60_000, idleTimeoutMs: 60_000, totalTimeoutMs: 60_000 }
  const every =
    (events: readonly object[]) => (_request: unknown, response: Parameters<typeof streamText>[0]) => {
      streamText(response, sse([start, ...(events.includes(ping) ? [] : [block])] as never))
      const timer = setInterval(() => response.write(sse(events as never)), 50)
      response.once('close', () => clearInterval(timer))
    }
  server.answer = () => undefined
  await assert.rejects(
    generate({}, { ...patient, firstTokenTimeoutMs: 300 }),
    failed('timeout', true, /said nothing for 0.3 s/),
  )
  server.answer = every([ping])
  await assert.rejects(
    generate({}, { ...patient, firstTokenTimeoutMs: 300 }),
    failed('timeout', true, /said nothing for 0.3 s/),
  )
  server.answer = (_request, response) => void streamText(response, sse([start, block, piece] as never))
  await assert.rejects(
    generate({}, { ...patient, idleTimeoutMs: 200 }),
    failed('timeout', true, /stood still for 0.2 s/),
  )
  server.answer = every([piece as object])
  await assert.rejects(
    generate({}, { ...patient, totalTimeoutMs: 1_500 }),
    failed('timeout', false, /not complete for 1.5 s/),
  )
})

test('fault P03: a model that thinks for longer than a reply may stand still is waited for', async () => {
  const events = streamEvents({
    content: [{ type: 'thinking', thinking: '', signature: 's' }, text('Thought.')],
  })
  server.answer = async (_request, response) => {
    streamText(response, sse(events.slice(0, 2)))
    setTimeout(() => response.end(sse(events.slice(2))), 1_500)
  }
  const given = await generate({}, { idleTimeoutMs: 500, firstTokenTimeoutMs: 60_000 })
  assert.deepEqual(given.content.at(-1), text('Thought.'))
})

test('a call that is written in silence for longer than a text may stand still is waited for', async () => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'write_file', input: { text: 'long' } }
  const events = streamEvents({ content: [text('I write.'), call] })
  const begun = events.findIndex(
    ({ delta }) => (delta as { type?: string } | undefined)?.type === 'input_json_delta',
  )
  server.answer = (_request, response) => {
    streamText(response, sse(events.slice(0, begun + 2)))
    setTimeout(() => response.end(sse(events.slice(begun + 2))), 1_500)
  }
  const tools = [{ name: 'write_file', description: 'Writes.', inputSchema: { type: 'object' } }]
  const given = await generate({ tools }, { idleTimeoutMs: 500, firstTokenTimeoutMs: 60_000 })
  assert.deepEqual(given.content.at(-1), call)
})

test('capacity comes from the list of models, once; without one from the table; an override asks nobody', async () => {
  let asked = 0
  server.models = (id, response) => {
    asked++
    sendJson(response, 200, {
      id,
      max_input_tokens: 500_000,
      max_tokens: 32_000,
      capabilities: { image_input: { supported: false } },
    })
  }
  const client = models()
  for (const _ of [1, 2])
    assert.deepEqual(await client.capacity('claude-test'), {
      contextWindow: 500_000,
      maxOutputTokens: 32_000,
      acceptsMedia: false,
    })
  assert.equal(asked, 1)
  const given = { contextWindow: 9_000, maxOutputTokens: 900 }
  assert.deepEqual(await models({ capacities: { 'claude-test': given } }).capacity('claude-test'), given)
  assert.equal(asked, 1)
  server.models = (_id, response) => sendJson(response, 404, { detail: 'Not Found' })
  assert.deepEqual(await models().capacity('claude-haiku-4-5-20251001'), {
    contextWindow: 200_000,
    maxOutputTokens: 64_000,
  })
  server.models = (_id, response) => void response.destroy()
  assert.deepEqual(await models().capacity('claude-opus-5-5'), {
    contextWindow: 1_000_000,
    maxOutputTokens: 128_000,
  })
  server.models = (id, response) => refuse(response, 404, 'not_found_error', `model: ${id}`)
  await assert.rejects(models().capacity('claude-opus-9'), (error) => isSessionError(error, 'UnknownModel'))
  server.models = (_id, response) => refuse(response, 401, 'authentication_error', 'invalid x-api-key')
  await assert.rejects(models().capacity('claude-opus-5-5'), /invalid x-api-key/)
})

test('until usage is known, models with the newest tokenizer are counted with more room', () => {
  const ratio = models().firstUsageRatio ?? assert.fail()
  const earlier = [
    'claude-3-5-haiku-20241022',
    'claude-opus-4-20250514',
    'claude-opus-4-6',
    'claude-haiku-4-5-20251001',
  ]
  const newest = ['claude-opus-4-7', 'claude-opus-4-8-20260301', 'claude-sonnet-5-5', 'claude-fable-5']
  assert.deepEqual(new Set(earlier.map(ratio)), new Set([1.2]))
  assert.deepEqual(new Set(newest.map(ratio)), new Set([1.5]))
})

for (const message of [
  'prompt is too long: 210000 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000',
])
  test(`"${message.slice(0, 24)}…" is an overflow, which a compaction answers`, async () => {
    server.answer = (_request, response) => refuse(response, 400, 'invalid_request_error', message)
    await assert.rejects(generate(), (error) => error instanceof ContextOverflowError)
  })

for (const [status, type, kind, again] of [
  [429, 'rate_limit_error', 'rate-limit', true],
  [529, 'overloaded_error', 'overloaded', true],
  [500, 'api_error', 'server', true],
  [401, 'authentication_error', 'authentication', false],
  [400, 'invalid_request_error', 'invalid-request', false],
] as const)
  test(`${status} is ${again ? 'retried by Temporal, after the time that the API names' : 'final'}, asked once, with the request’s id`, async () => {
    const before = server.received.length
    server.answer = (_request, response) => refuse(response, status, type, 'no', { 'retry-after': '7' })
    await assert.rejects(generate(), (error) => {
      failed(kind, again, /req_test/)(error)
      assert.equal((error as ModelCallError).failure.retryAfterMs, again ? 7_000 : undefined)
      return true
    })
    assert.equal(server.received.length, before + 1)
  })

test('an error event behind a 200 is retried when it passes, else final; an answer that is no stream is none', async () => {
  for (const [type, kind, again] of [
    ['overloaded_error', 'overloaded', true],
    ['invalid_request_error', 'invalid-request', false],
  ] as const) {
    const failure = { type: 'error', error: { type, message: 'broke off' } }
    server.answer = (_request, response) =>
      void streamText(
        response,
        sse([...streamEvents({ content: [text('Half.')] }).slice(0, 3), failure]),
      ).end()
    await assert.rejects(generate(), failed(kind, again, /broke off.*req_test/))
  }
  server.answer = (_request, response) =>
    sendJson(response, 200, { type: 'message', content: [text('Not streamed.')] })
  await assert.rejects(generate(), failed('broken-reply', true, /no stream of events/))
})

test('a redirect is not followed: neither key nor prompt reach another host', async () => {
  const other = await openAnthropicServer()
  server.answer = (_request, response) =>
    void response.writeHead(307, { location: `${other.url}/v1/messages` }).end()
  await assert.rejects(generate(), failed('redirect', false, /req_test|307/))
  assert.equal(other.received.length, 0)
  other.close()
})
