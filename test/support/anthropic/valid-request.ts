import { isObject, type Json } from './valid-blocks.ts'
import { imageProblems } from './valid-images.ts'
import { messageProblems } from './valid-messages.ts'

// Judges a request to the Messages API as strictly as the API does, and a little more: roles must alternate, where the API would join them.

const KEYS = new Set(
  'model max_tokens messages system tools tool_choice thinking stream stop_sequences metadata temperature top_p top_k service_tier container output_config cache_control speed inference_geo'.split(
    ' ',
  ),
)
const MAX_BYTES = 32_000_000
const MOST_MARKS = 4

export interface Expected {
  /** Types and fields of content blocks, and keys of the body, that this server takes beyond those that are known. */
  readonly future?: readonly string[]
}

/** @returns one sentence per problem; empty for a valid request */
export function requestBodyProblems(json: string, { future = [] }: Expected = {}): string[] {
  if (Buffer.byteLength(json) > MAX_BYTES) return [`the request has more than ${MAX_BYTES} bytes`]
  const body: unknown = JSON.parse(json)
  if (!isObject(body)) return ['the body is no object']
  return [
    ...Object.keys(body).flatMap((key) =>
      KEYS.has(key) || future.includes(key) ? [] : [`${key}: Extra inputs are not permitted`],
    ),
    ...numberProblems(body),
    ...headProblems(body),
    ...messageProblems(body['messages'], future),
    ...imageProblems(body['messages']),
    ...thinkingProblems(body),
    ...markProblems(body),
    ...(loneSurrogate(json) ? ['the body has a lone surrogate'] : []),
  ]
}

export function headerProblems(headers: Readonly<Record<string, string | string[] | undefined>>): string[] {
  const problems: string[] = []
  if (!headers['x-api-key'] && !headers['authorization']) problems.push('no x-api-key and no authorization')
  if (!/^\d{4}-\d\d-\d\d$/.test(String(headers['anthropic-version']))) problems.push('no anthropic-version')
  if (!String(headers['content-type']).startsWith('application/json'))
    problems.push('content-type is not JSON')
  const beta = headers['anthropic-beta']
  if (beta !== undefined && !/^[\w.-]+(?:,[\w.-]+)*$/.test(String(beta)))
    problems.push(`anthropic-beta ${beta}`)
  if (headers['x-stainless-retry-count'] !== undefined && headers['x-stainless-retry-count'] !== '0')
    problems.push('the SDK retries')
  return problems
}

/** Tokens of a reply, as the provider's pages had them on 2026-11-30; of any other model those that the server of tests tells. */
const LONG_REPLIES = /^claude-(?:fable-5|(?:opus|sonnet|haiku)-5|opus-4-[678]|sonnet-4-6)(?:-|$)/
const replyLimit = (model: string): number => (LONG_REPLIES.test(model) ? 128_000 : 64_000)

function numberProblems({
  model,
  max_tokens: maxTokens,
  stream,
  temperature,
  stop_sequences: stops = [],
}: Json): string[] {
  const problems: string[] = []
  if (typeof model !== 'string' || model === '') problems.push('model: Field required')
  const most = replyLimit(String(model))
  if (Number(maxTokens) > most)
    problems.push(
      `max_tokens: ${String(maxTokens)} > ${most}, which is the maximum allowed number of output tokens for ${String(model)}`,
    )
  if (!Number.isInteger(maxTokens) || Number(maxTokens) < 1) problems.push(`max_tokens: ${String(maxTokens)}`)
  if (!Array.isArray(stops) || stops.some((stop) => typeof stop !== 'string' || !/\S/.test(stop)))
    problems.push('stop_sequences: each must contain more than whitespace')
  if (stream !== undefined && typeof stream !== 'boolean') problems.push('stream is no boolean')
  if (temperature !== undefined && !(Number(temperature) >= 0 && Number(temperature) <= 1))
    problems.push('temperature')
  return problems
}

function headProblems({ system, tools, tool_choice: choice, messages }: Json): string[] {
  const problems: string[] = []
  const blocks = typeof system === 'string' ? [{ type: 'text', text: system }] : (system ?? [])
  if (!Array.isArray(blocks)) problems.push('system is neither text nor list')
  else
    for (const block of blocks)
      if (!isObject(block) || block['type'] !== 'text' || !/\S/.test(String(block['text'])))
        problems.push('system: text must be non-empty')
  const list = tools ?? []
  if (!Array.isArray(list)) return [...problems, 'tools is no list']
  const names = list.map((tool) => (isObject(tool) ? tool['name'] : undefined))
  if (new Set(names).size < names.length) problems.push('tools: names must be unique')
  for (const tool of list) problems.push(...toolProblems(tool))
  const calls = JSON.stringify(messages).includes('"type":"tool_use"')
  if (calls && list.length === 0) problems.push('tools: required when messages hold calls')
  if (choice !== undefined && list.length === 0) problems.push('tool_choice without tools')
  return problems
}

function toolProblems(tool: unknown): string[] {
  if (!isObject(tool)) return ['tools: no object']
  const { type = 'custom', name, description, input_schema: schema, cache_control: _, ...rest } = tool
  if (type !== 'custom') return /_\d{8}$/.test(String(type)) ? [] : [`tools: type ${String(type)}`]
  const problems = Object.keys(rest)
    .filter((key) => !['strict', 'defer_loading', 'input_examples', 'eager_input_streaming'].includes(key))
    .map((key) => `tools.${key}: Extra inputs are not permitted`)
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(String(name))) problems.push(`tools: name ${String(name)}`)
  if (description !== undefined && typeof description !== 'string') problems.push('tools: description')
  if (!isObject(schema) || schema['type'] !== 'object')
    problems.push('tools: input_schema.type must be object')
  else problems.push(...schemaProblems(schema))
  return problems
}

function schemaProblems(schema: Json): string[] {
  const joined = ['oneOf', 'allOf', 'anyOf'].filter((key) => Object.hasOwn(schema, key))
  const names = isObject(schema['properties']) ? Object.keys(schema['properties']) : []
  return [
    ...joined.map((key) => `tools: input_schema does not support ${key} at the top level`),
    ...names
      .filter((name) => !/^[A-Za-z0-9_.-]{1,64}$/.test(name))
      .map((name) => `tools: property key ${JSON.stringify(name)}`),
  ]
}

function thinkingProblems({
  thinking,
  max_tokens: maxTokens,
  tool_choice: choice,
  temperature,
}: Json): string[] {
  if (!isObject(thinking) || thinking['type'] === 'disabled') return []
  const problems: string[] = []
  const budget = Number(thinking['budget_tokens'])
  if (thinking['type'] === 'enabled' && !(budget >= 1_024 && budget < Number(maxTokens)))
    problems.push(
      `thinking: budget_tokens ${budget} must be at least 1024 and less than max_tokens ${String(maxTokens)}`,
    )
  if (isObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool'))
    problems.push('thinking: tool_choice may not force a tool')
  if (temperature !== undefined && temperature !== 1) problems.push('thinking: temperature may only be 1')
  return problems
}

/** In the order of the cache: tools, system, messages. */
function markProblems({ tools, system, messages, cache_control: automatic }: Json): string[] {
  const marks = [tools, system, messages].flatMap(marksIn)
  const problems: string[] = []
  const count = marks.length + (automatic === undefined ? 0 : 1)
  if (count > MOST_MARKS)
    problems.push(`A maximum of ${MOST_MARKS} blocks with cache_control may be provided, found ${count}`)
  for (const mark of marks)
    if (
      !isObject(mark) ||
      mark['type'] !== 'ephemeral' ||
      !['5m', '1h', undefined].includes(mark['ttl'] as string)
    )
      problems.push(`cache_control ${JSON.stringify(mark)}`)
  const hours = marks.map((mark) => isObject(mark) && mark['ttl'] === '1h')
  if (hours.lastIndexOf(true) >= hours.filter(Boolean).length)
    problems.push('cache_control: 1h must stand before 5m')
  return problems
}

function marksIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(marksIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'cache_control' ? [inner] : key === 'input' || key === 'input_schema' ? [] : marksIn(inner),
  )
}

/** In a JSON text a half of a pair is written as an escape. */
const loneSurrogate = (json: string): boolean => {
  const decoded = JSON.stringify(JSON.parse(json))
  return /\\u[dD][89a-fA-F][0-9a-fA-F]{2}/.test(decoded)
}
