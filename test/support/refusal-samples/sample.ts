import type { Refusal } from '../../../src/shared/refusals/classify.ts'

// What providers answered, word for word, with where it is on record. `body` is what a client throws or its body; a text stands for the message alone.

export interface RefusalSample {
  /** Provider or server, and the public record of the wording. */
  readonly from: string
  readonly status?: number
  readonly body: string | object
  readonly is: Refusal | null
}

export const overflow = (windowTokens?: number, requestTokens?: number, replyTokens?: number): Refusal => ({
  kind: 'context-overflow',
  ...(windowTokens === undefined ? {} : { windowTokens }),
  ...(requestTokens === undefined ? {} : { requestTokens }),
  ...(replyTokens === undefined ? {} : { replyTokens }),
})
export const anthropic = (message: string, type = 'invalid_request_error') => ({
  type: 'error',
  error: { type, message },
})
export const openai = (message: string, code: string | number | null, type = 'invalid_request_error') => ({
  error: { message, type, param: 'messages', code },
})

export const is = (kind: Refusal['kind']): Refusal => ({ kind })

/** As a client throws it: an error keeps its fields, a body stands beside the status. */
export const thrown = ({ status, body }: RefusalSample): unknown => {
  if (body instanceof Error) return body
  const message = typeof body === 'string' ? body : 'Bad Request'
  return Object.assign(new Error(message), { status, ...(typeof body === 'string' ? {} : { error: body }) })
}
