import { ContextOverflowError } from '../ports/model.ts'
import { classifyRefusal, type ProviderWords, type Refusal } from './classify.ts'

/** Longer bodies are a page of a proxy, not a refusal. */
const MOST_CHARS = 20_000
/** Causes of causes. */
const DEEPEST_CAUSE = 4
/** Fields in which SDKs and HTTP clients keep what the provider sent. */
const BODIES = ['error', 'body', 'responseBody', 'data', 'response', 'cause', 'code', 'type', 'name'] as const
const STATUSES = ['status', 'statusCode', 'httpStatusCode'] as const

/**
 * Why a provider refused, read from whatever its client threw: an `Error` with the words in its message, the errors of the Anthropic,
 * OpenAI, Google, AWS and Vercel SDKs with status and body in fields of theirs, a parsed body, or a text.
 */
export function refusalOf(error: unknown): Refusal | null {
  return classifyRefusal(wordsOf(error, 0))
}

/**
 * The error for a model client to throw when a compaction may help: the window is too small, or the request has too many bytes, which
 * are mostly images that a compaction turns into labels. Null for every other error.
 */
export function overflowOf(error: unknown): ContextOverflowError | null {
  const refusal = refusalOf(error)
  if (refusal?.kind !== 'context-overflow' && refusal?.kind !== 'request-bytes') return null
  const { windowTokens, requestTokens } = refusal
  return new ContextOverflowError(error instanceof Error ? error.message : String(error), {
    ...(windowTokens === undefined ? {} : { windowTokens }),
    ...(requestTokens === undefined ? {} : { requestTokens }),
  })
}

function wordsOf(error: unknown, depth: number): ProviderWords {
  if (typeof error !== 'object' || error === null) return { text: String(error) }
  const fields = error as Readonly<Record<string, unknown>>
  const parts = [fields['message'], ...BODIES.map((name) => fields[name])].map((part) => textOf(part, depth))
  if (!(error instanceof Error)) parts.push(textOf(error, depth))
  return { status: statusOf(fields), text: parts.join('\n').slice(0, MOST_CHARS) }
}

/** AWS keeps it in `$metadata`, fetch-like clients in the response. */
function statusOf(fields: Readonly<Record<string, unknown>>): number | undefined {
  for (const holder of [fields, fields['$metadata'], fields['response']])
    if (typeof holder === 'object' && holder !== null)
      for (const name of STATUSES) {
        const value = (holder as Readonly<Record<string, unknown>>)[name]
        if (typeof value === 'number') return value
      }
  return undefined
}

function textOf(value: unknown, depth: number): string {
  if (typeof value === 'string') return value
  if (value instanceof Error) return depth < DEEPEST_CAUSE ? wordsOf(value, depth + 1).text : ''
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return '' // Cyclic, or a getter that throws: nothing that a provider sent.
  }
}
