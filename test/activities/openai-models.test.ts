import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { ContextOverflowError, ModelCallError, type ModelRequest } from '../../src/shared/ports/model.ts'
import type { FailureKind } from '../../src/shared/refusals/provider-failure.ts'
import type { ContentBlock, Message } from '../../src/shared/session/content.ts'
import { type OpenAIModelsOptions, openaiModels } from '../../src/worker/index.ts'
import {
  begin,
  type ChatServer,
  chunksOf,
  openChatServer,
  refuses,
  says,
  send,
  speaks,
} from '../support/chat-server.ts'

// The client of chat completions through the official SDK and real HTTP: what is sent, what comes back, what each failure becomes.

let server: ChatServer
before(async () => {
  server = await openChatServer()
})
after(() => server.close())
beforeEach(() => {
  server.bodies.length = 0
  server.models = undefined
})

const PIXEL = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
const user = (...content: ContentBlock[]): Message => ({ role: 'user', content })
const assistant = (...content: ContentBlock[]): Message => ({ role: 'assistant', content })
const text = (value: string): ContentBlock => ({ type: 'text', text: value })

const REQUEST: ModelRequest = {
  provider: 'local',
  model: 'local-1',
  system: 'Be brief.',
  tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } }],
  messages: [user(text('Look.'))],
  maxTokens: 100,
  sampling: { temperature: 0 },
  purpose: 'turn',
  index: 0,
  sessionId: 's',
}

function generate(
  request: Partial<ModelRequest> = {},
  options: OpenAIModelsOptions = {},
  signal = new AbortController().signal,
  onDelta?: (delta: { text: string }) => void,
) {
  const context = { signal, ...(onDelta === undefined ? {} : { onDelta }) }
  return openaiModels(server.api, options).generate({ ...REQUEST, ...request }, context)
}

const failsAs = (kind: FailureKind, running: Promise<unknown>, pattern = /./) =>
  assert.rejects(running, (error: unknown) => {
    assert.ok(error instanceof ModelCallError, String(error))
    assert.equal(error.failure.kind, kind, error.message)
    assert.match(error.message, pattern)
    return true
  })

describe('a request of chat completions', () => {
  test('carries system, tools, settings and limit; usage is asked for', async () => {
    server.answer = says('Yes.')
    await generate({
      sampling: { temperature: 0, tool_choice: { type: 'any' }, stop_sequences: ['END'], thinking: {} },
    })
    const [body] = server.bodies
    assert.deepEqual(body, {
      temperature: 0,
      stop: ['END'],
      model: 'local-1',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Look.' },
      ],
      max_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
      tools: [
        {
          type: 'function',
          function: { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
        },
      ],
      tool_choice: 'required',
    })
  })

  test('holds results directly behind their calls, errors as such, and no thinking', async () => {
    server.answer = says('Yes.')
    await generate({
      messages: [
        user(text('Look.')),
        assistant(
          { type: 'thinking', thinking: 'Hm.', signature: 'x' },
          text('I look.'),
          { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
          { type: 'tool_use', id: 'b', name: 'look', input: {} },
        ),
        user(
          { type: 'tool_result', tool_use_id: 'a', content: [text('one'), { type: 'image', source: PIXEL }] },
          { type: 'tool_result', tool_use_id: 'b', content: 'no such file', is_error: true },
          text('Go on.'),
        ),
      ],
    })
    const messages = server.bodies[0]?.messages.slice(2)
    assert.deepEqual(messages?.slice(0, 3), [
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
          { id: 'b', type: 'function', function: { name: 'look', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: messages?.[1]?.content },
      { role: 'tool', tool_call_id: 'b', content: 'Error: no such file' },
    ])
    assert.match(String(messages?.[1]?.content), /^one\n\[image/)
    assert.deepEqual(messages?.[3], { role: 'user', content: 'Go on.' })
  })

  test('holds images as data URLs where the model takes them, else as labels', async () => {
    server.answer = says('Yes.')
    const messages = [user(text('What is this?'), { type: 'image', source: PIXEL })]
    await generate({ messages }, { capacities: { 'local-1': { acceptsMedia: true } } })
    await generate({ messages })
    assert.deepEqual(server.bodies[0]?.messages[1]?.content, [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
    ])
    assert.match(String(server.bodies[1]?.messages[1]?.content), /^What is this\?\n\n\[image/)
  })
})

describe('a reply of chat completions', () => {
  test('streams; calls in pieces, usage without what was cached, the stop reason in the words of sessions', async () => {
    server.answer = speaks({
      text: 'I look at both.',
      calls: [
        { id: 'a', name: 'look', arguments: '{"at":"one"}' },
        { id: 'b', name: 'look', arguments: '' },
      ],
      usage: { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 60 } },
    })
    let streamed = ''
    const reply = await generate({}, {}, undefined, (delta) => {
      streamed += delta.text
    })
    assert.equal(streamed, 'I look at both.')
    assert.deepEqual(reply, {
      content: [
        text('I look at both.'),
        { type: 'tool_use', id: 'a', name: 'look', input: { at: 'one' } },
        { type: 'tool_use', id: 'b', name: 'look', input: {} },
      ],
      stopReason: 'tool_use',
      usage: { inputTokens: 40, outputTokens: 10, cacheReadTokens: 60, cacheWriteTokens: 0 },
      model: 'local-1',
    })
  })

  const calls = [{ id: 'a', name: 'look', arguments: '{"at"' }]
  const ENDS = [
    ['end_turn', { text: 'Yes.' }],
    ['tool_use', { calls: [{ id: 'a', name: 'look', arguments: '{}' }], finish: 'stop' }],
    ['max_tokens', { text: 'It is', finish: 'length' }],
    ['max_tokens', { calls, finish: 'length' }],
    ['refusal', { text: '', finish: 'content_filter' }],
  ] as const
  for (const [stopReason, spoken] of ENDS)
    test(`stop reason ${stopReason} of ${JSON.stringify(spoken)}`, async () => {
      server.answer = speaks(spoken)
      assert.equal((await generate()).stopReason, stopReason)
    })

  test('of a server that tells no usage', async () => {
    server.answer = speaks({ text: 'Yes.', usage: null })
    assert.equal((await generate()).usage, null)
  })
})

describe('what a server of chat completions tells of its models', () => {
  const capacity = (options: OpenAIModelsOptions = {}) =>
    openaiModels(server.api, options).capacity('local-1')
  const SHAPES = [
    ['vLLM', { id: 'local-1', max_model_len: 32_768 }],
    ['OpenRouter', { id: 'local-1', context_length: 32_768, top_provider: { max_completion_tokens: 4_096 } }],
    ['llama.cpp', { id: 'local-1', meta: { n_ctx: 32_768, n_ctx_train: 131_072 } }],
    ['LM Studio', { id: 'local-1', max_context_length: 131_072, loaded_context_length: 32_768 }],
  ] as const
  for (const [name, shape] of SHAPES)
    test(`${name}: its window`, async () => {
      server.models = [{ id: 'other', max_model_len: 7 }, shape]
      assert.equal((await capacity()).contextWindow, 32_768)
    })

  test('nothing, or no list: unknown; what is given wins', async () => {
    const unknown = { contextWindow: null, maxOutputTokens: null, acceptsMedia: false }
    assert.deepEqual(await capacity(), unknown)
    server.models = [{ id: 'local-1' }]
    assert.deepEqual(await capacity(), unknown)
    const given = { contextWindow: 8_192, maxOutputTokens: 1_024, acceptsMedia: true }
    assert.deepEqual(await capacity({ capacities: { 'local-1': given } }), given)
  })
})

describe('failures of chat completions', () => {
  test('a refusal for the window asks for a compaction', async () => {
    server.answer = refuses(400, {
      code: 'context_length_exceeded',
      message:
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    })
    await assert.rejects(generate(), ContextOverflowError)
  })

  test('fault X03: one request for each call, also where the SDK would try again', async () => {
    server.answer = refuses(500, { message: 'Broken' })
    await failsAs('server', generate(), /500 Broken \(request req_local\)/)
    assert.equal(server.bodies.length, 1)
  })

  test('a redirect to another host is not followed', async () => {
    const elsewhere = await openChatServer()
    server.answer = (_body, response) => response.writeHead(307, { location: elsewhere.baseURL }).end()
    await failsAs('redirect', generate())
    assert.equal(elsewhere.bodies.length, 0)
    await elsewhere.close()
  })

  test('an answer that breaks off at any chunk is no reply', async () => {
    const chunks = chunksOf({
      text: 'I look.',
      calls: [{ id: 'a', name: 'look', arguments: '{"at":1}' }],
      usage: null,
    })
    for (let kept = 1; kept < chunks.length; kept++) {
      server.answer = (_body, response) => {
        begin(response)
        for (const chunk of chunks.slice(0, kept)) send(response, chunk)
        if (kept % 2 === 0) response.end('data: [DONE]\n\n')
        else setTimeout(() => response.destroy(), 20)
      }
      await failsAs('cut-stream', generate())
    }
  })

  test('a call that is written in silence for longer than a text may stand still is waited for', async () => {
    const chunks = chunksOf({ text: 'I look.', calls: [{ id: 'a', name: 'look', arguments: '{"at":"it"}' }] })
    const begun = chunks.findIndex((chunk) => JSON.stringify(chunk).includes('tool_calls')) + 2
    server.answer = (_body, response) => {
      begin(response)
      for (const chunk of chunks.slice(0, begun)) send(response, chunk)
      setTimeout(() => {
        for (const chunk of chunks.slice(begun)) send(response, chunk)
        response.end('data: [DONE]\n\n')
      }, 1_500)
    }
    const given = await generate({}, { idleTimeoutMs: 500, firstTokenTimeoutMs: 60_000 })
    assert.deepEqual(given.content.at(-1), { type: 'tool_use', id: 'a', name: 'look', input: { at: 'it' } })
  })

  test('what is no completion, calls that are no JSON, and another role are no reply', async () => {
    const answers = [
      speaks({ calls: [{ id: 'a', name: 'look', arguments: '{"at":' }] }),
      (_body: unknown, response: Parameters<typeof begin>[0]) => response.writeHead(200).end(),
      (_body: unknown, response: Parameters<typeof begin>[0]) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html><title>Sign in</title></html>'),
      (_body: unknown, response: Parameters<typeof begin>[0]) =>
        begin(response).end('data: {"choices":[{"del\n\n'),
      (_body: unknown, response: Parameters<typeof begin>[0]) => {
        send(begin(response), {
          choices: [{ index: 0, delta: { role: 'user', content: 'Hi' }, finish_reason: 'stop' }],
        })
        response.end()
      },
    ]
    for (const answer of answers) {
      server.answer = answer
      await failsAs('broken-reply', generate())
    }
  })

  test('an abort ends a call that streams, with its own reason', async () => {
    const abort = new AbortController()
    server.answer = (_body, response) => {
      begin(response)
      for (const chunk of chunksOf({ text: 'I look.', finish: null, usage: null })) send(response, chunk)
    }
    const reason = new Error('enough')
    await assert.rejects(
      generate({}, {}, abort.signal, () => abort.abort(reason)),
      (error) => error === reason,
    )
  })

  test('the key of the client stands in no error', async () => {
    server.answer = refuses(401, {
      message: 'Incorrect API key provided: sk-test-0123456789abcdef',
      code: 'invalid_api_key',
    })
    await failsAs('authentication', generate(), /^(?!.*0123456789)/)
  })

  test('every request was one that the API takes', () => assert.deepEqual(server.problems, []))
})
