import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import type { CallTimes } from '../../../src/activities/models/call-clock.ts'
import type { ModelClient } from '../../../src/shared/ports/model.ts'
import { text } from '../../../src/shared/session/content.ts'
import { anthropicModels, openaiModels } from '../../../src/worker/index.ts'
import { openAnthropicServer } from '../anthropic/server.ts'
import { sse, streamEvents } from '../anthropic/stream-events.ts'
import { chunksOf, openChatServer } from '../chat-server.ts'

// The two APIs that this package's clients speak, so that one fault can be played on both: real HTTP, the official SDKs, strict servers.

export type CallPhase = 'turn' | 'summary' | 'chunk' | 'merge'

/** What an error says, in the words of either API. */
export interface Words {
  readonly type: string
  /** Of APIs that have codes. */
  readonly code?: string
  readonly message: string
}

export interface Wire {
  readonly name: string
  /** What each request was for, in order. */
  readonly received: CallPhase[]
  answer: (response: ServerResponse, json: string) => void
  client(times?: Partial<CallTimes>): ModelClient
  errorBody(words: Words): object
  /** The parts of a streamed reply; without the last ones it is none. */
  replyFrames(said: string, inputTokens?: number): string[]
  errorFrame(words: Words): string
  /** A reply of the wrong role. */
  userFrame: string
  assertValid(): void
  close(): Promise<void>
}

const KEY = 'sk-test-0123456789abcdef'
const CAPACITIES = {
  x: { contextWindow: 100_000, maxOutputTokens: 4_000 },
  small: { contextWindow: 6_000, maxOutputTokens: 1_000 },
}

/** Read from the last message of a request, of either API. */
export function phaseOf(lastMessage: unknown): CallPhase {
  const said = JSON.stringify(lastMessage)
  if (!said.includes('[Request of the harness')) return 'turn'
  if (said.includes('was summarized in')) return 'merge'
  return said.includes('summarized in several pieces') ? 'chunk' : 'summary'
}

/** Long texts come in one piece, which stands for this until it is sent. */
const PLACE = '@@'
const LONG_CHARS = 200
const short = (said: string) => (said.length > LONG_CHARS ? PLACE : said)
const long = (frame: string, said: string) => frame.replace(PLACE, () => said)

export async function anthropicWire(): Promise<Wire> {
  const server = await openAnthropicServer()
  const wire: Wire = {
    name: 'anthropic',
    received: [],
    answer: () => undefined,
    client: (times) => anthropicModels(server.client({ apiKey: KEY }), { ...times, capacities: CAPACITIES }),
    errorBody: ({ type, message }) => ({ type: 'error', error: { type, message } }),
    replyFrames: (said, input_tokens = 10) =>
      streamEvents({ content: [text(short(said))], usage: { input_tokens } }).map((event) =>
        long(sse([event]), said),
      ),
    errorFrame: ({ type, message }) => sse([{ type: 'error', error: { type, message } }]),
    userFrame: sse([{ type: 'message_start', message: { role: 'user', content: [] } }]),
    assertValid: server.assertValid,
    close: async () => server.close(),
  }
  server.answer = ({ body, json }, response) => {
    wire.received.push(phaseOf((body['messages'] as unknown[]).at(-1)))
    wire.answer(response, json)
  }
  return wire
}

export async function openaiWire(): Promise<Wire> {
  const server = await openChatServer()
  const frame = (chunk: object) => `data: ${JSON.stringify(chunk)}\n\n`
  const choice = (delta: object, finish_reason: string | null) =>
    frame({ model: 'x', choices: [{ index: 0, delta, finish_reason }] })
  const errorBody = ({ type, code, message }: Words) => ({ error: { type, code: code ?? null, message } })
  const wire: Wire = {
    name: 'openai',
    received: [],
    answer: () => undefined,
    client: (times) => openaiModels(server.api, { ...times, capacities: CAPACITIES }),
    errorBody,
    replyFrames: (said, prompt_tokens = 10) => [
      ...chunksOf({ text: short(said), usage: { prompt_tokens, completion_tokens: 20 } }).map((chunk) =>
        long(frame(chunk), said),
      ),
      'data: [DONE]\n\n',
    ],
    errorFrame: (words) => frame(errorBody(words)),
    userFrame: choice({ role: 'user', content: 'Hi.' }, 'stop'),
    assertValid: () => assert.deepEqual(server.problems.splice(0), []),
    close: server.close,
  }
  server.answer = (body, response) => {
    wire.received.push(phaseOf(body.messages.at(-1)))
    wire.answer(response, JSON.stringify(body))
  }
  return wire
}
