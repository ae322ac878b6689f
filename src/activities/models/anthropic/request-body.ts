import type { Anthropic } from '@anthropic-ai/sdk'
import type { ModelRequest } from '../../../shared/ports/model.ts'
import type { ContentBlock, Message } from '../../../shared/session/content.ts'
import { markMessages, withoutMarks } from './cache-marks.ts'

export type CacheSetting = '5m' | '1h' | false

export interface RequestBody {
  readonly body: Anthropic.MessageCreateParamsStreaming
  /** For the header `anthropic-beta`. */
  readonly betas: readonly string[]
}

/**
 * The body of a request, of the session's request alone, so that the log rebuilds it byte for byte. `sampling` goes along as it is, except `betas`, which
 * belong in a header, and `tools`, the provider's own, which stand behind the session's.
 */
export function requestBody(request: ModelRequest, cache: CacheSetting): RequestBody {
  const { model, system, maxTokens, messages, purpose } = request
  const { betas, tools: providerTools, ...sampling } = request.sampling
  const mark = cache === false ? null : { type: 'ephemeral', ...(cache === '5m' ? {} : { ttl: cache }) }
  const tools: Block[] = [
    ...request.tools.map(toolOf),
    ...(Array.isArray(providerTools) ? providerTools.map(withoutMark) : []),
  ]
  const head: Block[] = system === '' ? [] : [{ type: 'text', text: system }]
  const last = head.at(-1) ?? tools.at(-1)
  if (mark !== null && last !== undefined) last['cache_control'] = mark
  const plain = messages.map(plainMessage)
  const body = {
    ...sampling,
    model,
    max_tokens: maxTokens,
    stream: true,
    ...(head.length === 0 ? {} : { system: head }),
    ...(tools.length === 0 ? {} : { tools }),
    messages: mark === null ? plain : markMessages(plain, mark, purpose),
  }
  // Blocks and settings are the API's own, also those that this version of the SDK does not know yet.
  return { body: body as unknown as Anthropic.MessageCreateParamsStreaming, betas: textsOf(betas) }
}

type Block = Record<string, unknown>

const toolOf = ({ name, description, inputSchema }: ModelRequest['tools'][number]): Block => ({
  name,
  description,
  input_schema: inputSchema,
})

/** A copy, because the last tool may get our mark, and the object is the session's. */
function withoutMark(tool: unknown): Block {
  const { cache_control: _, ...plain } = { ...(tool as Block) }
  return plain
}

const plainMessage = ({ role, content }: Message): { role: Message['role']; content: ContentBlock[] } => ({
  role,
  content: content.map(withoutMarks),
})

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((each): each is string => typeof each === 'string')
