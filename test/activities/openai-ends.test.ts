import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ModelCallError, type ModelReply, type ModelRequest } from '../../src/shared/ports/model.ts'
import type { FailureKind } from '../../src/shared/refusals/provider-failure.ts'
import { type OpenAIModelsOptions, openaiModels } from '../../src/worker/index.ts'
import { begin, type ChatServer, openChatServer, send, speaks } from '../support/chat-server.ts'

// Servers of chat completions that end their replies and number their calls in ways of their own, through the official SDK and real HTTP.

let server: ChatServer
before(async () => {
  server = await openChatServer()
})
after(() => server.close())

const REQUEST: ModelRequest = {
  provider: 'local',
  model: 'local-1',
  system: '',
  tools: [],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Look.' }] }],
  maxTokens: 100,
  sampling: {},
  purpose: 'turn',
  index: 0,
  sessionId: 's',
}

const generate = (options: OpenAIModelsOptions = {}) =>
  openaiModels(server.api, options).generate(REQUEST, { signal: new AbortController().signal })

const failsAs = (kind: FailureKind, running: Promise<ModelReply>) =>
  assert.rejects(running, (error: unknown) => {
    assert.ok(error instanceof ModelCallError, String(error))
    assert.equal(error.failure.kind, kind, error.message)
    return true
  })

const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
const chunk = (delta: object, finish_reason: string | null, usage?: object) => ({
  choices: [{ index: 0, delta, finish_reason }],
  ...(usage === undefined ? {} : { usage }),
})
const callChunk = (calls: readonly object[]) => chunk({ tool_calls: calls }, null)

function sends(...chunks: readonly object[]): void {
  server.answer = (_body, response) => {
    begin(response)
    for (const each of chunks) send(response, each)
    response.end('data: [DONE]\n\n')
  }
}

describe('an empty finish reason is none', () => {
  const BROKEN_OFF = [
    ['a text', chunk({ content: 'I will not' }, '')],
    [
      'a call',
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'erase', arguments: '' } }] }, ''),
    ],
  ] as const
  for (const [what, only] of BROKEN_OFF)
    test(`${what} that breaks off behind it is no reply`, async () => {
      sends(only)
      await failsAs('cut-stream', generate())
    })

  test('words may come slowly behind it, also when usage of nothing comes with each', async () => {
    server.answer = async (_body, response) => {
      begin(response)
      for (const content of ['I', ' will', ' not.']) {
        send(response, chunk({ content }, '', NO_USAGE))
        send(response, chunk({}, '', NO_USAGE))
        await pause(400)
      }
      send(response, chunk({}, 'stop', USAGE))
      response.end('data: [DONE]\n\n')
    }
    const reply = await generate()
    assert.deepEqual(reply.content, [{ type: 'text', text: 'I will not.' }])
    assert.deepEqual([reply.stopReason, reply.usage?.outputTokens], ['end_turn', 10])
  })
})

describe('a reply whose connection stays open', () => {
  const stays = (...chunks: readonly object[]) => {
    server.answer = (_body, response) => {
      begin(response)
      for (const each of chunks) send(response, each)
    }
  }
  const SHORT = { firstTokenTimeoutMs: 1_000, idleTimeoutMs: 1_000 }

  test('is whole once finish reason and usage are there and no word came behind them', async () => {
    stays(chunk({ content: 'Yes.' }, null), chunk({}, 'stop'), { choices: [], usage: USAGE })
    assert.equal((await generate()).stopReason, 'end_turn')
  })

  test('is not whole when usage is missing, or words or calls come with a finish reason and usage', async () => {
    stays(chunk({ content: 'I will' }, 'stop'))
    await failsAs('timeout', generate(SHORT))
    stays(chunk({ content: 'I will' }, 'stop', USAGE))
    await failsAs('timeout', generate(SHORT))
    const call = { index: 0, id: 'a', function: { name: 'look', arguments: '{}' } }
    stays(chunk({ tool_calls: [call] }, 'tool_calls', USAGE))
    await failsAs('timeout', generate(SHORT))
  })

  test('is not whole when the caller aborts it', async () => {
    stays(chunk({ content: 'I will' }, 'stop', USAGE))
    const abort = new AbortController()
    const reason = new Error('enough')
    const running = openaiModels(server.api).generate(REQUEST, {
      signal: abort.signal,
      onDelta: () => abort.abort(reason),
    })
    await assert.rejects(running, (error) => error === reason)
  })
})

describe('the finish reason of a reply with calls', () => {
  const calls = [{ id: 'a', name: 'look', arguments: '{}' }]
  for (const finish of ['tool_calls', 'function_call', 'stop'])
    test(`${finish} lets them run`, async () => {
      server.answer = speaks({ calls, finish })
      assert.equal((await generate()).stopReason, 'tool_use')
    })
  for (const finish of ['error', 'abort', 'eos'])
    test(`${finish} stays what it is, so that none runs`, async () => {
      server.answer = speaks({ calls, finish })
      assert.equal((await generate()).stopReason, finish)
    })
})

describe('calls in parallel', () => {
  const whole = (id: string, at: string, index?: number) => ({
    ...(index === undefined ? {} : { index }),
    id,
    type: 'function',
    function: { name: 'look', arguments: JSON.stringify({ at }) },
  })
  const part = (json: string, rest: object = {}) => ({ ...rest, function: { arguments: json } })
  const begun = (id: string, rest: object = {}) => ({
    ...rest,
    id,
    function: { name: 'look', arguments: '' },
  })
  const SHAPES: Readonly<Record<string, readonly object[]>> = {
    'without an index, in chunks of their own': [
      callChunk([whole('a', 'one')]),
      callChunk([whole('b', 'two')]),
    ],
    'without an index, in one chunk': [callChunk([whole('a', 'one'), whole('b', 'two')])],
    'all with the index 0': [callChunk([whole('a', 'one', 0)]), callChunk([whole('b', 'two', 0)])],
    'all with the index 0, in one chunk': [callChunk([whole('a', 'one', 0), whole('b', 'two', 0)])],
    'without an index, in pieces': [
      callChunk([begun('a')]),
      callChunk([part('{"at":')]),
      callChunk([part('"one"}')]),
      callChunk([begun('b')]),
      callChunk([part('{"at":"two"}')]),
    ],
    'all with the index 0, in pieces, the second behind the first': [
      callChunk([begun('a', { index: 0 }), part('{"at":"one"}', { index: 0 })]),
      callChunk([begun('b', { index: 0 })]),
      callChunk([part('{"at":', { index: 0 })]),
      callChunk([part('"two"}', { index: 0 })]),
    ],
    'by their index, their pieces mixed': [
      callChunk([begun('a', { index: 0 }), begun('b', { index: 1 })]),
      callChunk([part('{"at":', { index: 0 }), part('{"at":', { index: 1 })]),
      callChunk([part('"two"}', { index: 1 }), part('"one"}', { index: 0 })]),
    ],
    'by their index, with another id in each piece': [
      callChunk([begun('a', { index: 0 })]),
      callChunk([part('{"at":"one"}', { index: 0, id: 'x' })]),
      callChunk([begun('b', { index: 1 })]),
      callChunk([part('{"at":"two"}', { index: 1, id: 'y' })]),
    ],
  }
  for (const [shape, chunks] of Object.entries(SHAPES))
    test(`${shape}, are calls of their own`, async () => {
      sends(...chunks, chunk({}, 'tool_calls'))
      assert.deepEqual((await generate()).content, [
        { type: 'tool_use', id: 'a', name: 'look', input: { at: 'one' } },
        { type: 'tool_use', id: 'b', name: 'look', input: { at: 'two' } },
      ])
    })

  test('without index and id are told apart by their names', async () => {
    const bare = (name: string) => ({ function: { name, arguments: '{}' } })
    sends(callChunk([bare('look'), bare('count')]), chunk({}, 'tool_calls'))
    assert.deepEqual((await generate()).content, [
      { type: 'tool_use', id: 'call_0', name: 'look', input: {} },
      { type: 'tool_use', id: 'call_1', name: 'count', input: {} },
    ])
  })

  const at0 = (name: string, json: string) => ({ index: 0, function: { name, arguments: json } })
  const BARE: Readonly<Record<string, readonly object[]>> = {
    'the name in each piece, with an id': [
      { index: 0, id: 'call_0', function: { name: 'look', arguments: '' } },
      { index: 0, id: 'call_0', function: { name: 'look', arguments: '{"at":' } },
      { index: 0, id: 'call_0', function: { name: 'look', arguments: '"one"}' } },
    ],
    'the name in each piece, the id in the first': [
      { index: 0, id: 'call_0', function: { name: 'look', arguments: '' } },
      at0('look', '{"at":'),
      at0('look', '"one"}'),
    ],
    'the name in each piece, also behind its end': [
      at0('look', ''),
      at0('look', '{"at":"one"}'),
      at0('look', ''),
    ],
    'the name in each piece, without an index': [
      { function: { name: 'look', arguments: '{"at":' } },
      { function: { name: 'look', arguments: '"one"}' } },
    ],
    'the name in two pieces': [at0('lo', ''), at0('ok', ''), at0('', '{"at":"one"}')],
  }
  for (const [shape, parts] of Object.entries(BARE))
    test(`${shape}: one call`, async () => {
      sends(...parts.map((part) => callChunk([part])), chunk({}, 'tool_calls'))
      assert.deepEqual((await generate()).content, [
        { type: 'tool_use', id: 'call_0', name: 'look', input: { at: 'one' } },
      ])
    })

  for (const [names, parts] of [
    [
      ['look', 'count'],
      [at0('look', '{}'), at0('count', '{}')],
    ],
    [
      ['look', 'count'],
      [at0('look', ''), at0('count', '{}')],
    ],
    [
      ['look', 'look'],
      [at0('look', '{}'), at0('look', '{}')],
    ],
  ] as const)
    test(`all with the index 0 and without ids, ${JSON.stringify(parts[0].function)} and ${names[1]}: two calls`, async () => {
      for (const chunks of [parts.map((part) => callChunk([part])), [callChunk(parts)]]) {
        sends(...chunks, chunk({}, 'tool_calls'))
        assert.deepEqual((await generate()).content, [
          { type: 'tool_use', id: 'call_0', name: names[0], input: {} },
          { type: 'tool_use', id: 'call_1', name: names[1], input: {} },
        ])
      }
    })
})
