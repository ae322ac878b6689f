import type { ContentBlock } from '../shared/session/content.ts'
import type { Usage } from '../shared/session/events.ts'
import {
  callInput,
  type Draft,
  type DraftMessage,
  type Drafts,
  imageBlock,
  present,
  text,
  textOf,
  unreadable,
} from './draft.ts'
import type { JsonlReader, JsonlRecord } from './format-reader.ts'
import { userSource } from './injected-text.ts'
import { countAt, isObject, type JsonObject, listAt, objectAt, stringAt } from './json-text.ts'
import type { RecordAccount } from './record-account.ts'
import type { ReadTool } from './transcript.ts'

/**
 * Codex rollout. The conversation is in the `response_item` records, one item each: neighbouring items of the assistant
 * are one reply. Events repeat it for the screen, and the `replacement_history` of a compaction repeats it once more.
 */
export const codex: JsonlReader = { typeOf, reasonOf, read }

function typeOf(record: JsonObject): string {
  const type = stringAt(record, 'type') ?? '(no type)'
  const detail = stringAt(objectAt(record, 'payload') ?? {}, 'type')
  return detail === undefined ? type : `${type}/${detail}`
}

function reasonOf(record: JsonObject): string {
  if (record['type'] === 'event_msg')
    return 'an event for the screen; the conversation is in the response items'
  if (record['type'] === 'response_item') return "an item of the provider's own tools or of the client"
  return 'no message: settings or state of the client'
}

function read(records: readonly JsonlRecord[], account: RecordAccount): Drafts {
  const drafts: Draft[] = []
  const tools: ReadTool[] = []
  let system: string | undefined
  let model: string | undefined
  let tokensBefore: number | undefined
  let replies = 0
  let lastReply: number | undefined
  for (const { line, record } of records) {
    const payload = objectAt(record, 'payload') ?? {}
    if (record['type'] === 'session_meta') {
      for (const tool of declaredTools(payload['dynamic_tools'])) tools.push(tool)
      system ??=
        stringAt(objectAt(payload, 'base_instructions') ?? {}, 'text') ?? stringAt(payload, 'instructions')
      account.take(line)
    } else if (record['type'] === 'turn_context') model = stringAt(payload, 'model') ?? model
    else if (record['type'] === 'compacted') {
      const summary = stringAt(payload, 'message') || undefined
      drafts.push({ kind: 'compaction', line, ...present({ summary, tokensBefore }) })
      account.leaveOut(line, 'recorded compaction')
    } else if (payload['type'] === 'token_count') {
      const usage = objectAt(objectAt(payload, 'info') ?? {}, 'last_token_usage') ?? {}
      tokensBefore = countAt(usage, 'input_tokens') ?? tokensBefore
      const reply = drafts[lastReply ?? -1]
      if (lastReply !== undefined && reply?.kind === 'message')
        drafts[lastReply] = { ...reply, usage: tokenUsage(usage) }
    } else if (record['type'] === 'response_item') {
      const item = itemMessage(payload)
      if (item === undefined) continue
      if (item.role === 'user') replies++
      else lastReply = drafts.length
      const reply = item.role === 'user' ? {} : { group: `${replies}`, ...present({ model }) }
      drafts.push({ kind: 'message', line, ...present({ id: stringAt(payload, 'id') }), ...item, ...reply })
    }
  }
  return { drafts, tools, ...present({ system }) }
}

type ItemMessage = Pick<DraftMessage, 'role' | 'blocks' | 'source'>

const reply = (blocks: readonly unknown[]): ItemMessage => ({ role: 'assistant', blocks, source: 'context' })
const user = (blocks: readonly unknown[]): ItemMessage => ({
  role: 'user',
  blocks,
  source: userSource(blocks),
})
const context = (blocks: readonly unknown[]): ItemMessage => ({ role: 'user', blocks, source: 'context' })

function itemMessage(item: JsonObject): ItemMessage | undefined {
  const callId = stringAt(item, 'call_id') ?? stringAt(item, 'id') ?? ''
  const content = listAt(item, 'content').map(contentBlock)
  switch (item['type']) {
    case 'message':
      if (item['role'] === 'assistant') return reply(content)
      return item['role'] === 'user' ? user(content) : context(content)
    case 'agent_message':
      return context(content)
    case 'reasoning':
      return reply([{ type: 'thinking', thinking: listAt(item, 'summary').map(textOf).join('\n') }])
    case 'function_call':
      return reply([call(callId, nameOf(item), callInput(item['arguments']))])
    case 'custom_tool_call':
      return reply([call(callId, nameOf(item), { input: item['input'] })])
    case 'local_shell_call':
      return reply([call(callId, 'local_shell', item['action'])])
    case 'tool_search_call':
      return reply([call(callId, 'tool_search', item['arguments'])])
    case 'function_call_output':
    case 'custom_tool_call_output':
      return context([result(callId, item['output'])])
    case 'tool_search_output':
      return context([result(callId, JSON.stringify(item['tools'] ?? []))])
    default:
      return undefined
  }
}

/** Names are unique together with their namespace only. */
const nameOf = (tool: JsonObject, namespace = stringAt(tool, 'namespace')): string =>
  [namespace, stringAt(tool, 'name')].filter(Boolean).join('__')

const call = (id: string, name: string, input: unknown): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
})

const result = (callId: string, output: unknown): ContentBlock => ({
  type: 'tool_result',
  tool_use_id: callId,
  content: outputContent(output),
  ...(isObject(output) && output['success'] === false ? { is_error: true } : {}),
})

function outputContent(output: unknown): unknown {
  if (Array.isArray(output)) return output.map(contentBlock)
  if (!isObject(output)) return output
  return typeof output['type'] === 'string' ? [contentBlock(output)] : output['content']
}

function contentBlock(block: unknown): unknown {
  if (!isObject(block)) return block
  if (typeof block['text'] === 'string') return text(block['text'])
  if (block['type'] === 'input_image') return imageBlock(block['image_url'])
  return block['type'] === 'encrypted_content' ? unreadable('encrypted content') : block
}

/** Input tokens of Codex contain the cached ones. */
function tokenUsage(recorded: JsonObject): Usage {
  const cached = countAt(recorded, 'cached_input_tokens') ?? 0
  return {
    inputTokens: Math.max(0, (countAt(recorded, 'input_tokens') ?? 0) - cached),
    outputTokens: countAt(recorded, 'output_tokens') ?? 0,
    cacheReadTokens: cached,
    cacheWriteTokens: countAt(recorded, 'cache_write_input_tokens') ?? 0,
  }
}

/** A list of tools and of groups of tools, or one group. The tools of a namespace bear its name. */
function declaredTools(declared: unknown): ReadTool[] {
  const entries = (Array.isArray(declared) ? declared : [declared]).filter(isObject)
  return entries.flatMap((entry) => {
    const inner = listAt(entry, 'tools').filter(isObject)
    const namespace = entry['type'] === 'namespace' ? stringAt(entry, 'name') : stringAt(entry, 'namespace')
    return (inner.length > 0 ? inner : [entry]).map((tool) => ({
      name: nameOf(tool, namespace),
      ...present({ description: stringAt(tool, 'description'), input_schema: objectAt(tool, 'inputSchema') }),
    }))
  })
}
