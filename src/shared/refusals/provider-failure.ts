import { classifyRefusal, type Refusal } from './classify.ts'
import { redact } from './redact.ts'
import { type HeaderReader, retryDelayMs } from './retry-delay.ts'

/** What went wrong with a call of a model, and whether the same call may succeed later. The order is that of docs/provider-faults.md. */
export const FAILURE_KINDS = {
  'rate-limit': { retryable: true, advice: '' },
  overloaded: { retryable: true, advice: '' },
  server: { retryable: true, advice: '' },
  timeout: { retryable: true, advice: '' },
  connection: { retryable: true, advice: 'Check the address of the provider and the network of the worker.' },
  /** Not sent, since the calls before it failed: see {@link Circuit}. */
  'circuit-open': { retryable: true, advice: '' },
  'cut-stream': { retryable: true, advice: '' },
  'broken-reply': {
    retryable: true,
    advice: 'What answers does not speak this API: check the base URL, and what stands between.',
  },
  unknown: { retryable: true, advice: '' },
  'context-overflow': { retryable: false, advice: '' },
  'request-bytes': { retryable: false, advice: 'Send smaller images or documents.' },
  'output-limit': { retryable: false, advice: 'Lower policy.replyMaxTokens.' },
  authentication: { retryable: false, advice: 'Give the worker a valid key for this provider.' },
  permission: { retryable: false, advice: 'The key, or what stands between, does not allow this.' },
  billing: { retryable: false, advice: 'The account of the key has no credit: top it up.' },
  'model-gone': {
    retryable: false,
    advice:
      'The provider does not have this model at this address: configure the session with another, or correct the base URL.',
  },
  'content-filter': {
    retryable: false,
    advice: 'The provider refuses this content: the same request gets the same answer.',
  },
  redirect: {
    retryable: false,
    advice: 'Redirects are not followed, since the key would go along: correct the base URL.',
  },
  'untrusted-server': {
    retryable: false,
    advice: "The server's certificate is not trusted: check the base URL and NODE_EXTRA_CA_CERTS.",
  },
  'too-large-reply': {
    retryable: false,
    advice: 'No reply is that long: check the base URL, and what stands between.',
  },
  'invalid-request': { retryable: false, advice: '' },
} as const satisfies Readonly<Record<string, { readonly retryable: boolean; readonly advice: string }>>

export type FailureKind = keyof typeof FAILURE_KINDS

/** A failed call, in the terms of the library. */
export interface ProviderFailure {
  readonly kind: FailureKind
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** What the provider asks to wait, at most {@link LONGEST_WAIT_MS}; absent when it asks for none. */
  readonly retryAfterMs?: number
  /** One line for people, without secrets: status, the provider's words, its request id, what to do. */
  readonly message: string
  readonly status?: number
  readonly requestId?: string
  /** Tokens that a `context-overflow` names. */
  readonly windowTokens?: number
  readonly requestTokens?: number
}

/** All that is known of a failed call. */
export interface FailedCall {
  /** Of the HTTP response, when there was one that failed; an error event after a 200 has none. */
  readonly status?: number | undefined
  /** The body's: `overloaded_error`. */
  readonly type?: string | undefined
  /** Further codes and names, of the body and of the error: `insufficient_quota`, `ECONNRESET`. */
  readonly codes?: readonly string[]
  /** Everything that was said: message, body. */
  readonly text: string
  /** What a person should read of it; default: the text. */
  readonly said?: string | undefined
  /** Reads a header of the response by its lower-case name. */
  readonly headers?: HeaderReader
  /** Milliseconds since 1970, for dates in headers. */
  readonly now: number
}

/** A longer wait that a provider asks for is cut to this: it may be less by then. */
export const LONGEST_WAIT_MS = 5 * 60_000
/** Who asks for a longer wait than this gets no further attempt: a turn does not wait that long. */
const HOPELESS_WAIT_MS = 30 * 60_000

const REQUEST_ID_HEADERS = ['request-id', 'x-request-id', 'x-amzn-requestid', 'apim-request-id', 'cf-ray']

/** One table for all providers: the codes that mean one thing only, then the words, then the status. Pure. Cost: a few dozen searches in the text. */
export function providerFailure(call: FailedCall): ProviderFailure {
  const { status, text, headers = () => undefined, now } = call
  const refusal = classifyRefusal({ status, text })
  const kind = kindOf(call, refusal)
  const askedMs = retryDelayMs(headers, text, now)
  const isHopeless = askedMs !== undefined && askedMs > HOPELESS_WAIT_MS
  const retryable = FAILURE_KINDS[kind].retryable && !isHopeless && headers('x-should-retry') !== 'false'
  const requestId = REQUEST_ID_HEADERS.map(headers).find((id) => id !== undefined && id !== '')
  return {
    kind,
    retryable,
    ...(retryable && askedMs !== undefined && askedMs > 0
      ? { retryAfterMs: Math.min(askedMs, LONGEST_WAIT_MS) }
      : {}),
    message: messageOf(call, kind, requestId, isHopeless ? askedMs : undefined),
    ...(status === undefined ? {} : { status }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(kind === 'context-overflow' ? numbersOf(refusal) : {}),
  }
}

/** Codes that mean one thing, whatever stands beside them. */
const BY_CODE: readonly (readonly [FailureKind, RegExp])[] = [
  [
    'billing',
    /^(?:billing_error|insufficient_quota|billing_hard_limit_reached|billing_not_active|insufficient_balance)$/i,
  ],
  [
    'authentication',
    /^(?:authentication_error|invalid_api_key|UNAUTHENTICATED|UnrecognizedClientException)$/,
  ],
  [
    'permission',
    /^(?:permission_error|PERMISSION_DENIED|AccessDeniedException|unsupported_country_region_territory)$/,
  ],
  ['model-gone', /^(?:not_found_error|model_not_found|deployment_?not_?found|model_not_available)$/i],
  [
    'content-filter',
    /^(?:content_filter|content_policy_violation|ResponsibleAIPolicyViolation|data_inspection_failed)$/i,
  ],
  ['overloaded', /^(?:overloaded_error|engine_overloaded_error|ModelNotReadyException|slow_down)$/i],
  ['timeout', /^(?:timeout_error|APIConnectionTimeoutError|ETIMEDOUT|UND_ERR_\w*TIMEOUT|TimeoutError)$/],
  [
    'untrusted-server',
    /^(?:CERT_\w+|ERR_TLS_CERT\w*|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:VERIFY|GET)\w+|ERR_SSL_WRONG_VERSION_NUMBER)$/,
  ],
  // Errors of this package's clients, by name.
  ['timeout', /^CallTimeout$/],
  ['cut-stream', /^CutStream$/],
  ['broken-reply', /^BrokenReply$/],
  ['too-large-reply', /^TooLargeReply$/],
]

/** Words that say more than the status does. */
const BY_WORDS: readonly (readonly [FailureKind, RegExp])[] = [
  [
    'billing',
    /credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds)|(?:requires|add) more credits|billing hard limit|payment required|account is (?:suspended|in arrears)/i,
  ],
  [
    'content-filter',
    /content[ _-]?filter|content (?:management )?policy|blocked by (?:our |the )?(?:content|safety)|flagged as potentially violating|inappropriate content/i,
  ],
]

/** What the words say of transport and service; weaker than any status but a success. */
const BY_WEAK_WORDS: readonly (readonly [FailureKind, RegExp])[] = [
  ['authentication', /(?:invalid|incorrect|missing|no) (?:x-)?api[ _-]?key|invalid bearer token/i],
  ['model-gone', /model [^ ]{1,100} (?:was |is )?not found|does not exist|no such model|unknown model/i],
  [
    'overloaded',
    /overloaded|at capacity|capacity exceeded|loading model|server (?:is )?busy|temporarily unavailable/i,
  ],
  ['too-large-reply', /response has more than \d+ bytes/i],
  ['redirect', /unexpected redirect|redirect mode is set to error/i],
  [
    'untrusted-server',
    /self[- ]signed certificate|certificate has expired|unable to verify the first certificate/i,
  ],
  ['timeout', /timed? ?out|deadline exceeded/i],
  ['broken-reply', /incorrect header check|invalid (?:block|distance|stored)|unexpected end of file/i],
  [
    'cut-stream',
    /\bterminated\b|other side closed|premature(?:ly)? close|stream ended|ended without|socket hang up|aborted/i,
  ],
  [
    'connection',
    /\b(?:ECONN\w+|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_\w+)\b|fetch failed|connection error|network error/i,
  ],
  ['broken-reply', /\bJSON\b|unexpected (?:token|end of|non-whitespace)|<html|<!doctype/i],
]

const BY_STATUS: Readonly<Record<number, FailureKind>> = {
  401: 'authentication',
  402: 'billing',
  403: 'permission',
  404: 'model-gone',
  408: 'timeout',
  409: 'server',
  413: 'request-bytes',
  425: 'server',
  429: 'rate-limit',
  498: 'authentication',
  499: 'timeout',
  504: 'timeout',
  524: 'timeout',
  529: 'overloaded',
}

/** Codes that say less than any status; an error event after a 200 has nothing else. Ollama gives the first with every status. */
const BY_WEAK_CODE: readonly (readonly [FailureKind, RegExp])[] = [
  ['server', /^(?:api_error|server_error|internal_server_error)$/i],
  ['rate-limit', /^rate_limit_(?:error|exceeded)$/],
  ['invalid-request', /^invalid_request_error$/],
]

function kindOf({ status, type, codes = [], text }: FailedCall, refusal: Refusal | null): FailureKind {
  const known = type === undefined ? codes : [type, ...codes]
  const certain = anyOf(BY_CODE, known)
  if (certain !== undefined) return certain
  if (status === 401 || status === 402) return BY_STATUS[status] ?? 'unknown'
  const said = firstOf(BY_WORDS, text)
  if (said !== undefined) return said
  if (refusal !== null) return refusal.kind
  const weak = firstOf(BY_WEAK_WORDS, text)
  if (status === undefined) return anyOf(BY_WEAK_CODE, known) ?? weak ?? 'unknown'
  if (status >= 500 && weak === 'overloaded') return 'overloaded'
  const byStatus = BY_STATUS[status]
  if (byStatus !== undefined) return byStatus
  if (status >= 500) return 'server'
  if (status >= 400) return weak === 'authentication' || weak === 'model-gone' ? weak : 'invalid-request'
  if (status >= 300) return 'redirect'
  return weak ?? 'broken-reply'
}

const anyOf = (table: readonly (readonly [FailureKind, RegExp])[], texts: readonly string[]) =>
  texts.map((text) => firstOf(table, text)).find((kind) => kind !== undefined)

const firstOf = (table: readonly (readonly [FailureKind, RegExp])[], text: string): FailureKind | undefined =>
  table.find(([, pattern]) => pattern.test(text))?.[0]

/** Of what a provider says, so much is for people. */
const SAID_CHARS = 600

function messageOf(
  { status, text, said = text }: FailedCall,
  kind: FailureKind,
  requestId: string | undefined,
  hopelessMs: number | undefined,
): string {
  const words = redact(withoutPage(said)).slice(0, SAID_CHARS).trim()
  const begins = status === undefined || words.startsWith(String(status)) ? '' : `${status} `
  const id = requestId === undefined || words.includes(requestId) ? '' : ` (request ${redact(requestId)})`
  const wait =
    hopelessMs === undefined
      ? ''
      : ` It asks to wait ${Math.ceil(hopelessMs / 60_000)} minutes, longer than a turn waits: try again then.`
  if (kind === 'unknown' && wait === '') return words === '' ? 'no words' : words
  const { advice } = FAILURE_KINDS[kind]
  const sentence = `${begins}${words === '' ? 'no words' : words.replace(/\.$/, '')}${id}`
  return `${kind}: ${sentence}.${wait}${advice === '' ? '' : ` ${advice}`}`
}

/** Of a page of a proxy, its title. */
function withoutPage(said: string): string {
  const start = said.search(/<!doctype|<html|<head|<body/i)
  if (start < 0) return said
  const [, title = 'no title'] = /<title[^>]*>([^<]{1,200})/i.exec(said) ?? []
  return `${said.slice(0, start)}an HTML page (${title.trim()})`
}

function numbersOf(refusal: Refusal | null) {
  const { windowTokens, requestTokens } = refusal ?? {}
  return {
    ...(windowTokens === undefined ? {} : { windowTokens }),
    ...(requestTokens === undefined ? {} : { requestTokens }),
  }
}
