import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { anthropicModel } from '../../examples/anthropic-model.ts'
import { isSessionError } from '../../src/shared/errors.ts'
import { ContextOverflowError, type ModelRequest } from '../../src/shared/ports/model.ts'

// The example's client against a server that speaks the Messages API: what is sent, what comes back, what each failure becomes.

type Answer = (body: Record<string, unknown>, response: ServerResponse, request: IncomingMessage) => void

let server: Server
let answer: Answer
let sent: Record<string, unknown>
before(async () => {
  server = createServer((request, response) => {
    let json = ''
    request.on('data', (chunk) => {
      json += chunk
    })
    request.on('end', () => {
      sent = json === '' ? {} : JSON.parse(json)
      answer(sent, response, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
after(() => {
  server.closeAllConnections()
  server.close()
})

const model = () =>
  anthropicModel(
    new Anthropic({
      apiKey: 'test',
      maxRetries: 0,
      baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    }),
  )

const REQUEST: ModelRequest = {
  provider: 'anthropic',
  model: 'claude-test',
  system: 'Be brief.',
  tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Look.' }] }],
  maxTokens: 100,
  sampling: { temperature: 0 },
  purpose: 'turn',
  index: 0,
  sessionId: 's',
}

const generate = (signal = new AbortController().signal, onDelta?: (delta: { text: string }) => void) =>
  model().generate(REQUEST, { signal, ...(onDelta === undefined ? {} : { onDelta }) })

test('example of a Claude client: text streams, the reply carries calls, stop reason and usage', async () => {
  answer = (_body, response) => stream(response, EVENTS)
  let streamed = ''
  const reply = await generate(undefined, ({ text }) => {
    streamed += text
  })
  assert.equal(streamed, 'I look.')
  assert.deepEqual(
    reply.content.map(({ type }) => type),
    ['text', 'tool_use'],
  )
  assert.equal(reply.content[1]?.['id'], 'toolu_1')
  assert.equal(reply.stopReason, 'tool_use')
  assert.deepEqual(reply.usage, {
    inputTokens: 10,
    outputTokens: 20,
    cacheReadTokens: 3,
    cacheWriteTokens: 4,
  })
  const { max_tokens, temperature, tools, system, messages } = sent
  assert.deepEqual([max_tokens, temperature, system], [100, 0, 'Be brief.'])
  assert.deepEqual(tools, [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' } }])
  assert.deepEqual(messages, REQUEST.messages)
})

test('example of a Claude client: capacity comes from the API; an unknown model is named so', async () => {
  answer = (_body, response) =>
    json(response, 200, { id: 'claude-test', max_input_tokens: 200_000, max_tokens: 64_000 })
  assert.deepEqual(await model().capacity('claude-test'), { contextWindow: 200_000, maxOutputTokens: 64_000 })
  answer = (_body, response) => json(response, 404, failure('not_found_error', 'model: nope'))
  await assert.rejects(model().capacity('nope'), (error) => isSessionError(error, 'UnknownModel'))
})

for (const message of [
  'prompt is too long: 210000 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000',
]) {
  test(`example of a Claude client: "${message.slice(0, 24)}…" is an overflow, which a compaction answers`, async () => {
    answer = (_body, response) => json(response, 400, failure('invalid_request_error', message))
    await assert.rejects(generate(), (error) => error instanceof ContextOverflowError)
  })
}

for (const [status, type, retryable] of [
  [429, 'rate_limit_error', true],
  [529, 'overloaded_error', true],
  [500, 'api_error', true],
  [401, 'authentication_error', false],
  [400, 'invalid_request_error', false],
] as const) {
  test(`example of a Claude client: ${status} is ${retryable ? 'retried by Temporal, after the time that the API names' : 'final'}`, async () => {
    answer = (_body, response) => json(response, status, failure(type, 'no'), { 'retry-after': '7' })
    await assert.rejects(generate(), (error) => {
      assert.ok(isSessionError(error, 'ModelFailed'))
      assert.equal(error.details['retryable'], retryable)
      assert.equal(error.details['retryAfterMs'], 7_000)
      return true
    })
  })
}

test('example of a Claude client: an error event behind a 200 is retried when it passes, else final', async () => {
  for (const [type, retryable] of [
    ['overloaded_error', true],
    ['invalid_request_error', false],
  ] as const) {
    answer = (_body, response) => stream(response, [EVENTS[0] ?? {}, failure(type, 'broke off')])
    await assert.rejects(generate(), (error) => {
      assert.ok(isSessionError(error, 'ModelFailed'))
      assert.equal(error.details['retryable'], retryable)
      return true
    })
  }
})

test('example of a Claude client: an abort ends the call with its own reason, and closes the request', async () => {
  const abort = new AbortController()
  const reason = new Error('cancelled')
  const closed = new Promise<void>((resolve) => {
    answer = (_body, response, request) => {
      request.once('close', resolve)
      stream(response, [EVENTS[0] ?? {}], false)
      abort.abort(reason)
    }
  })
  await assert.rejects(generate(abort.signal), (error) => error === reason)
  await closed
})

const failure = (type: string, message: string) => ({ type: 'error', error: { type, message } })

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function stream(response: ServerResponse, events: readonly object[], end = true): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    response.write(`event: ${'type' in event ? event.type : ''}\ndata: ${JSON.stringify(event)}\n\n`)
  }
  if (end) response.end()
}

const USAGE = { input_tokens: 10, cache_read_input_tokens: 3, cache_creation_input_tokens: 4 }
const EVENTS = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-test-1',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...USAGE, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'I look.' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'content_block_start',
    index: 1,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
  },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"at":"it"}' } },
  { type: 'content_block_stop', index: 1 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { ...USAGE, output_tokens: 20 },
  },
  { type: 'message_stop' },
]
