import { PHRASES, REPLY_PLACES, REQUEST_PLACES, WINDOW_PLACES } from './phrases.ts'

/**
 * - `context-overflow`: input, or input and reply, do not fit the window: a compaction helps
 * - `output-limit`: `max_tokens` is more than the model writes, whatever the input
 * - `rate-limit`: requests or tokens in a time; waiting helps
 * - `request-bytes`: the request is too large in bytes or characters, mostly by its images
 */
export type RefusalKind = 'context-overflow' | 'output-limit' | 'rate-limit' | 'request-bytes'

/** Why a provider did not serve a request, with the tokens that it named. */
export interface Refusal {
  readonly kind: RefusalKind
  readonly windowTokens?: number
  readonly requestTokens?: number
  readonly replyTokens?: number
}

export interface ProviderWords {
  /** Of the HTTP response, when there was one. */
  readonly status?: number | undefined
  /** Message, code, type and body, as far as they are known. */
  readonly text: string
}

/** Null: neither size nor rate is the reason, as far as the words say. Cost: a few dozen searches in the text. */
export function classifyRefusal({ status, text }: ProviderWords): Refusal | null {
  const kind = kindOf(status, text)
  if (kind === null) return null
  if (kind !== 'context-overflow') return { kind }
  const numbers = {
    windowTokens: numberAt(text, WINDOW_PLACES),
    requestTokens: numberAt(text, REQUEST_PLACES),
    replyTokens: numberAt(text, REPLY_PLACES),
  }
  const { windowTokens = Number.POSITIVE_INFINITY, replyTokens = 0 } = numbers
  // No input is small enough for a reply that fills the window alone.
  return { kind: replyTokens >= windowTokens ? 'output-limit' : kind, ...known(numbers) }
}

function kindOf(status: number | undefined, text: string): RefusalKind | null {
  const found = PHRASES.find(({ pattern }) => pattern.test(text))?.kind ?? null
  if (status === 429) return 'rate-limit'
  if (found === null && status === 413) return 'request-bytes'
  return found
}

function numberAt(text: string, where: readonly RegExp[]): number | undefined {
  for (const place of where) {
    const [, digits] = place.exec(text) ?? []
    if (digits !== undefined) return Number(digits.replaceAll(/[,_]/g, ''))
  }
  return undefined
}

type Numbers = Readonly<Record<'windowTokens' | 'requestTokens' | 'replyTokens', number | undefined>>

const known = (numbers: Numbers): Omit<Refusal, 'kind'> =>
  Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined))
