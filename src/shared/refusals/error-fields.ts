import type { HeaderReader } from './retry-delay.ts'

/** Longer bodies are a page of a proxy, not a refusal. */
const MOST_CHARS = 20_000
/** Causes of causes. */
const DEEPEST = 4
/** Fields in which SDKs and HTTP clients keep what the provider sent. */
const BODIES = ['error', 'body', 'responseBody', 'data', 'response', 'cause', 'code', 'type', 'name'] as const
const STATUSES = ['status', 'statusCode', 'httpStatusCode'] as const
const CODES = ['type', 'code', 'errorCode', 'name', 'reason'] as const

type Fields = Readonly<Record<string, unknown>>

/** What an error of a client says, whatever its class: by its fields, since a client may come from another copy of its package. */
export interface ErrorFields {
  readonly status: number | undefined
  /** Types, codes and names, of the error, of what it holds and of its causes. */
  readonly codes: readonly string[]
  /** All words: message, body, causes. */
  readonly text: string
  /** The provider's own sentence, else the error's with those of its causes. */
  readonly said: string
  readonly headers: HeaderReader
}

/**
 * Reads the errors of the Anthropic, OpenAI, Google, AWS and Vercel SDKs, those of fetch and of axios, a parsed body, a text. Never throws.
 */
export function errorFields(error: unknown): ErrorFields {
  return {
    status: isFields(error) ? statusOf(error) : undefined,
    codes: codesOf(error, 0),
    text: textOf(error, 0),
    said: saidOf(error, 0),
    headers: headersOf(error),
  }
}

function textOf(error: unknown, depth: number): string {
  if (!isFields(error)) return String(error)
  const parts = [field(error, 'message'), ...BODIES.map((name) => field(error, name))].map((part) =>
    partOf(part, depth),
  )
  if (!(error instanceof Error)) parts.push(partOf(error, depth))
  return parts.join('\n').slice(0, MOST_CHARS)
}

function partOf(value: unknown, depth: number): string {
  if (typeof value === 'string') return value
  if (value instanceof Error) return depth < DEEPEST ? textOf(value, depth + 1) : ''
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return '' // Cyclic, or a getter that throws: nothing that a provider sent.
  }
}

/** AWS keeps it in `$metadata`, fetch-like clients in the response. */
function statusOf(fields: Fields): number | undefined {
  for (const holder of [fields, field(fields, '$metadata'), field(fields, 'response')])
    if (isFields(holder))
      for (const name of STATUSES) {
        const value = field(holder, name)
        if (typeof value === 'number') return value
      }
  return undefined
}

function codesOf(value: unknown, depth: number): string[] {
  if (!isFields(value) || depth > DEEPEST) return []
  const own = CODES.map((name) => field(value, name)).filter((code) => typeof code === 'string')
  const below = ['error', 'body', 'data', 'details', 'innererror', 'cause'].map((name) => field(value, name))
  return [...own, ...below.flatMap((part) => codesOf(part, depth + 1))]
}

/** The sentence that the provider meant for people stands in its body; what fetch means stands in its cause. */
function saidOf(value: unknown, depth: number): string {
  if (typeof value === 'string') return value
  if (!isFields(value)) return depth === 0 ? String(value) : ''
  const message = field(value, 'message')
  const own = typeof message === 'string' ? message : ''
  if (depth >= DEEPEST) return own
  const body = saidOf(field(value, 'error'), depth + 1)
  if (body !== '') return body
  const cause = field(value, 'cause')
  const below = isFields(cause) ? saidOf(cause, depth + 1) : ''
  return [own, below].filter((part) => part !== '').join(': ')
}

/** `Headers`, or an object of names; the values go nowhere else. */
function headersOf(error: unknown): HeaderReader {
  if (!isFields(error)) return () => undefined
  const response = field(error, 'response')
  const holders = [
    field(error, 'headers'),
    field(error, 'responseHeaders'),
    isFields(response) ? field(response, 'headers') : undefined,
  ].filter(isFields)
  return (name) => {
    for (const holder of holders) {
      const value = headerOf(holder, name)
      if (value !== undefined) return value
    }
    return undefined
  }
}

function headerOf(holder: Fields, name: string): string | undefined {
  const get = field(holder, 'get')
  if (typeof get === 'function') {
    const value: unknown = get.call(holder, name)
    return typeof value === 'string' ? value : undefined
  }
  const key = Object.keys(holder).find((candidate) => candidate.toLowerCase() === name)
  const value = key === undefined ? undefined : holder[key]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

/** Undefined also for a getter that throws. */
function field(fields: Fields, name: string): unknown {
  try {
    return fields[name]
  } catch {
    return undefined
  }
}
