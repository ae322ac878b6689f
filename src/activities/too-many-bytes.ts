import { LIMITS } from '../shared/limits.ts'
import type { ModelClient, ModelRequest } from '../shared/ports/model.ts'
import { utf8Bytes } from '../shared/session/prompt-content.ts'

/** Why a request cannot be sent for its bytes, of which images and documents have many for few tokens; undefined when it can. */
export function tooManyBytes(
  { system, tools, messages, provider, model }: ModelRequest,
  client: ModelClient | undefined,
): string | undefined {
  const limit = client?.maxRequestBytes ?? LIMITS.requestBytes
  const bytes = utf8Bytes(JSON.stringify([system, tools, messages]))
  if (bytes <= limit) return undefined
  const last = utf8Bytes(JSON.stringify(messages.at(-1)))
  return `The next request has ${bytes} bytes, ${last} of them in its newest message; ${provider}/${model} takes ${limit}: send smaller images or documents.`
}
