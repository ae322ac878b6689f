import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Anthropic, type ClientOptions } from '@anthropic-ai/sdk'
import { issuedProblems } from './issued-replies.ts'
import { type StreamedReply, sse, streamEvents } from './stream-events.ts'
import type { Json } from './valid-blocks.ts'
import { type Expected, headerProblems, requestBodyProblems } from './valid-request.ts'

// A Messages API on the loopback address, for what a scripted mock cannot do. It judges every request before it answers.

export interface Received {
  readonly body: Json
  readonly json: string
  readonly headers: IncomingHttpHeaders
  /** Settles when the caller is gone, or has all of the answer. */
  readonly closed: Promise<void>
}

type Answer = (request: Received, response: ServerResponse) => void | Promise<void>

export interface AnthropicServer {
  readonly url: string
  /** Requests for messages, in order. */
  readonly received: Received[]
  readonly problems: string[]
  /** Default: says `Done.` */
  answer: Answer
  /** Of `GET /v1/models/…`. Default: a window of 200,000 and replies of 64,000 for every model. */
  models: (id: string, response: ServerResponse) => void
  client(options?: ClientOptions): Anthropic
  /** Throws what was wrong with the requests since it was last called. */
  assertValid(): void
  close(): void
}

export async function openAnthropicServer(expected: Expected = {}): Promise<AnthropicServer> {
  const issued: StreamedReply[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const model = /^\/v1\/models\/([^?]+)/.exec(request.url ?? '')?.[1]
      if (model !== undefined) return opened.models(decodeURIComponent(model), response)
      const json = Buffer.concat(chunks).toString('utf8')
      const problems = [...headerProblems(request.headers), ...requestBodyProblems(json, expected)]
      const body = JSON.parse(json) as Json
      problems.push(...issuedProblems(body, issued))
      opened.problems.push(...problems)
      const closed = new Promise<void>((resolve) => response.once('close', resolve))
      const received = { body, json, headers: request.headers, closed }
      opened.received.push(received)
      if (problems.length > 0) return refuse(response, 400, 'invalid_request_error', problems.join('; '))
      response.once('issued', (reply: StreamedReply) => issued.push(reply))
      await opened.answer(received, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const opened: AnthropicServer = {
    url,
    received: [],
    problems: [],
    answer: (_request, response) => reply(response, { content: [{ type: 'text', text: 'Done.' }] }),
    models: (id, response) =>
      sendJson(response, 200, { id, type: 'model', max_input_tokens: 200_000, max_tokens: 64_000 }),
    client: (options = {}) => new Anthropic({ apiKey: 'sk-ant-test', baseURL: url, ...options }),
    assertValid: () => assert.deepEqual(opened.problems.splice(0), []),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return opened
}

/** Streams a whole reply; the server then knows its reasoning again. */
export function reply(
  response: ServerResponse,
  streamed: StreamedReply,
  headers: Record<string, string> = {},
): void {
  response.emit('issued', streamed)
  streamText(response, sse(streamEvents(streamed)), headers).end()
}

/** Begins a stream with a piece of it, and leaves it open. */
export function streamText(
  response: ServerResponse,
  text: string,
  headers: Record<string, string> = {},
): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': 'req_test', ...headers })
  response.write(text)
  return response
}

export function refuse(
  response: ServerResponse,
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): void {
  sendJson(response, status, { type: 'error', error: { type, message }, request_id: 'req_test' }, headers)
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_test', ...headers })
  response.end(JSON.stringify(body))
}
