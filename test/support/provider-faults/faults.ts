import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { CallTimes } from '../../../src/activities/models/call-clock.ts'
import type { FailureKind } from '../../../src/shared/refusals/provider-failure.ts'
import type { Wire, Words } from './wires.ts'

/** One way in which a provider, or what stands before it, fails a call. */
export interface ProviderFault {
  /** Of the faults seen in the field. */
  readonly id?: string
  /** For the table. */
  readonly what: string
  readonly kind: FailureKind
  /** Milliseconds that Temporal waits because the provider asks for it. */
  readonly asksMs?: number
  /** It comes after the reply has begun, which may be paid: later attempts lie further apart. */
  readonly begun?: true
  /** Times of the client while the fault lasts, where the fault is that nothing comes. */
  readonly times?: Partial<CallTimes>
  play(wire: Wire, response: ServerResponse, elsewhere: string): void
}

type Headers = Readonly<Record<string, string>>

const ID = { 'request-id': 'req_fault', 'x-request-id': 'req_fault' }

const refused = (
  status: number,
  kind: FailureKind,
  words: Words,
  headers: Headers = {},
  what = words.message,
) =>
  ({
    what: `${status} ${what}`,
    kind,
    play: (wire, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...ID, ...headers })
      response.end(JSON.stringify(wire.errorBody(words)))
    },
  }) satisfies ProviderFault

const limited = (what: string, asksMs: number | undefined, headers: () => Headers) =>
  ({
    what: `429, ${what}`,
    kind: 'rate-limit',
    ...(asksMs === undefined ? {} : { asksMs }),
    play: (wire, response) => refused(429, 'rate-limit', SLOW_DOWN, headers()).play(wire, response),
  }) satisfies ProviderFault

const SLOW_DOWN = {
  type: 'rate_limit_error',
  code: 'rate_limit_exceeded',
  message: 'This request would exceed your rate limit',
}

export const REFUSALS: readonly ProviderFault[] = [
  refused(400, 'invalid-request', { type: 'invalid_request_error', message: 'messages.1: Field required' }),
  refused(400, 'context-overflow', {
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    message: 'prompt is too long: 210000 tokens > 200000 maximum',
  }),
  refused(413, 'request-bytes', {
    type: 'request_too_large',
    message: 'Request exceeds the maximum size',
  }),
  refused(400, 'output-limit', {
    type: 'invalid_request_error',
    message: 'max_tokens: 4000 > 1000, which is the maximum allowed number of output tokens for x',
  }),
  refused(401, 'authentication', {
    type: 'authentication_error',
    code: 'invalid_api_key',
    message: 'invalid x-api-key',
  }),
  refused(402, 'billing', {
    type: 'billing_error',
    code: 'insufficient_quota',
    message: 'Payment required',
  }),
  refused(400, 'billing', {
    type: 'invalid_request_error',
    message: 'Your credit balance is too low to access the API',
  }),
  refused(403, 'permission', {
    type: 'permission_error',
    message: 'Your key may not use this resource',
  }),
  refused(404, 'model-gone', { type: 'not_found_error', code: 'model_not_found', message: 'model: x' }),
  refused(400, 'content-filter', {
    type: 'invalid_request_error',
    code: 'content_filter',
    message: 'Output blocked by content filtering policy',
  }),
  {
    what: '307 to another host',
    kind: 'redirect',
    play: (_wire, response, elsewhere) => response.writeHead(307, { ...ID, location: elsewhere }).end(),
  },
]

export const PASSING: readonly ProviderFault[] = [
  limited('no word of the time', undefined, () => ({})),
  limited('`retry-after: 20`', 20_000, () => ({ 'retry-after': '20' })),
  limited('`retry-after` as a date', 120_000, () => ({
    'retry-after': new Date(Date.now() + 120_000).toUTCString(),
  })),
  limited('`retry-after-ms: 1500`', 1_500, () => ({ 'retry-after': '20', 'retry-after-ms': '1500' })),
  limited('`retry-after: 0`', undefined, () => ({ 'retry-after': '0' })),
  limited('`retry-after: 1000`', 300_000, () => ({ 'retry-after': '1000' })),
  limited('`retry-after: 7200`', undefined, () => ({ 'retry-after': '7200' })),
  refused(529, 'overloaded', { type: 'overloaded_error', message: 'Overloaded' }),
  refused(503, 'overloaded', { type: 'unavailable_error', message: 'Loading model' }),
  refused(500, 'server', { type: 'api_error', message: 'Internal server error' }),
  refused(
    500,
    'server',
    { type: 'api_error', message: 'Broken' },
    { 'x-should-retry': 'false' },
    '`x-should-retry: false`',
  ),
  {
    what: '502 with a page of HTML',
    kind: 'server',
    play: (_wire, response) =>
      response.writeHead(502, { 'content-type': 'text/html' }).end('<html><title>Bad Gateway</title></html>'),
  },
  refused(409, 'server', { type: 'conflict_error', message: 'Conflict' }),
  refused(408, 'timeout', { type: 'timeout_error', message: 'Request timed out' }),
  refused(504, 'timeout', { type: 'timeout_error', message: 'Gateway timeout' }),
]

/** Never said to its end. */
export const HALF_SAID = 'A reply that says more than one thing, in parts.'

/** The first half of a reply's parts, the response still open. */
function half(wire: Wire, response: ServerResponse): ServerResponse {
  const frames = wire.replyFrames(HALF_SAID)
  response.writeHead(200, { 'content-type': 'text/event-stream', ...ID })
  response.write(frames.slice(0, Math.ceil(frames.length / 2)).join(''))
  return response
}

const event = (kind: FailureKind, words: Words): ProviderFault => ({
  what: `200, then an error event \`${words.type}\``,
  kind,
  begun: true,
  play: (wire, response) => half(wire, response).end(wire.errorFrame(words)),
})

const streamed = (what: string, kind: FailureKind, play: ProviderFault['play']): ProviderFault => ({
  what: `200, ${what}`,
  kind,
  play,
})

const whole =
  (body: string, type: string): ProviderFault['play'] =>
  (_wire, response) =>
    response.writeHead(200, { 'content-type': type, ...ID }).end(body)

/** 80 MiB in lines of 64 KiB, 80 KB on the wire. */
let bomb: Buffer | undefined
const packedBomb = () => (bomb ??= gzipSync(`: ${'x'.repeat(65_532)}\n\n`.repeat(1_280)))

const PACKED = { 'content-type': 'text/event-stream', 'content-encoding': 'gzip', ...ID }

export const BODIES: readonly ProviderFault[] = [
  event('overloaded', { type: 'overloaded_error', message: 'Overloaded' }),
  event('rate-limit', SLOW_DOWN),
  event('server', { type: 'api_error', message: 'Internal server error' }),
  event('invalid-request', { type: 'invalid_request_error', message: 'broke off' }),
  streamed('the stream ends in the middle', 'cut-stream', (wire, response) => half(wire, response).end()),
  {
    ...streamed('the connection breaks in the middle', 'cut-stream', (wire, response) => {
      half(wire, response)
      setTimeout(() => response.destroy(), 20)
    }),
    id: 'P07',
  },
  streamed('an empty stream', 'cut-stream', whole('', 'text/event-stream')),
  streamed('a page of HTML', 'broken-reply', whole('<html><title>Sign in</title></html>', 'text/html')),
  streamed('JSON that is no stream', 'broken-reply', whole('{"content":"Hello"}', 'application/json')),
  streamed('an event that is no JSON', 'broken-reply', whole('data: {"type":"mess\n\n', 'text/event-stream')),
  streamed('a reply of the role `user`', 'broken-reply', (wire, response) =>
    whole(wire.userFrame, 'text/event-stream')(wire, response, ''),
  ),
  streamed('a body that says gzip and is not', 'broken-reply', (_wire, response) =>
    response.writeHead(200, PACKED).end('no gzip'),
  ),
  streamed('80 MiB, packed to 80 KB', 'too-large-reply', (_wire, response) =>
    response.writeHead(200, PACKED).end(packedBomb()),
  ),
]

const PATIENT = { firstTokenTimeoutMs: 60_000, idleTimeoutMs: 60_000, totalTimeoutMs: 60_000 }

export const SILENCES: readonly ProviderFault[] = [
  {
    what: 'the connection breaks before an answer',
    kind: 'connection',
    play: (_wire, response) => response.socket?.resetAndDestroy(),
  },
  {
    what: 'no answer',
    kind: 'timeout',
    times: { ...PATIENT, firstTokenTimeoutMs: 200 },
    play: () => undefined,
  },
  {
    id: 'P02',
    what: '200, then nothing but pings',
    kind: 'timeout',
    times: { ...PATIENT, firstTokenTimeoutMs: 200 },
    play: (_wire, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...ID }).write(': ping\n\n')
      const timer = setInterval(() => response.write(': ping\n\n'), 50)
      response.once('close', () => clearInterval(timer))
    },
  },
  {
    id: 'P04',
    what: '200, then silence in the middle of the text',
    kind: 'timeout',
    times: { ...PATIENT, idleTimeoutMs: 200 },
    play: (wire, response) => void half(wire, response),
  },
  {
    what: '200, a reply that takes longer than a call may',
    kind: 'timeout',
    times: { ...PATIENT, totalTimeoutMs: 400 },
    play: (wire, response) => void half(wire, response),
  },
]

export const PROVIDER_FAULTS: readonly ProviderFault[] = [...REFUSALS, ...PASSING, ...BODIES, ...SILENCES]
