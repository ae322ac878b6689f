import type { Relief } from '../shared/compaction/media.ts'
import { LIMITS } from '../shared/limits.ts'
import type { ModelClient, ModelRequest } from '../shared/ports/model.ts'
import { utf8Bytes } from '../shared/session/prompt-content.ts'

const limitOf = (client: ModelClient | undefined): number => client?.maxRequestBytes ?? LIMITS.requestBytes

const bytesOf = ({ system, tools, messages }: ModelRequest): number =>
  utf8Bytes(JSON.stringify([system, tools, messages]))

/** Share of the limit that becomes free when anything must. */
const SPARE_SHARE = 0.25

/** What a request must lose to be sent; null when it can be. */
export function byteRelief(request: ModelRequest, client: ModelClient | undefined): Relief | null {
  const limit = limitOf(client)
  const needBytes = bytesOf(request) - limit
  return needBytes <= 0 ? null : { needBytes, wishBytes: needBytes + limit * SPARE_SHARE }
}

/** Why a request cannot be sent for its bytes, of which images and documents have many for few tokens; undefined when it can. */
export function tooManyBytes(request: ModelRequest, client: ModelClient | undefined): string | undefined {
  const { messages, provider, model } = request
  const limit = limitOf(client)
  const bytes = bytesOf(request)
  if (bytes <= limit) return undefined
  const last = utf8Bytes(JSON.stringify(messages.at(-1)))
  return `The next request has ${bytes} bytes, ${last} of them in its newest message; ${provider}/${model} takes ${limit}: send smaller images or documents.`
}
