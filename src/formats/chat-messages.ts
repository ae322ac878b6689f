import type { ContentBlock } from '../shared/session/content.ts'
import type { Usage } from '../shared/session/events.ts'
import {
  callInput,
  contentBlocks,
  type Draft,
  type DraftMessage,
  imageBlock,
  present,
  text,
  textOf,
} from './draft.ts'
import type { JsonlRecord } from './format-reader.ts'
import { countAt, isObject, type JsonObject, listAt, objectAt, stringAt } from './json-text.ts'
import type { RecordAccount } from './record-account.ts'

/** A call that a reply makes in its text. `refused`: its form was wrong, so that what follows is an error. */
export interface TextCall {
  readonly name: string
  readonly input: unknown
  readonly refused?: true
}

/**
 * Messages in the manner of chat completions: calls in `tool_calls`, results with role `tool`. A reply without those may
 * call in its text, and then the user message behind it is the result.
 *
 * @param textCall the call in a reply's text; `answered`: a user message follows, so that the reply was taken as a call
 */
export function chatDrafts(
  messages: readonly JsonlRecord[],
  textCall: (message: JsonObject, answered: boolean) => TextCall | undefined,
  account: RecordAccount,
): { readonly drafts: Draft[]; readonly system: string | undefined } {
  const drafts: Draft[] = []
  let system: string | undefined
  let open: { readonly id: string; readonly refused: boolean } | undefined
  for (const [index, { line, record }] of messages.entries()) {
    const base = { kind: 'message', line, source: 'context' } as const
    const blocks = contentBlocks(record['content']).map(contentBlock)
    const role = record['role']
    if (role === 'system' && system === undefined) {
      system = blocks.map(textOf).join('\n')
      account.take(line)
    } else if (role === 'assistant') {
      const calls = apiCalls(record)
      const answered = messages[index + 1]?.record['role'] === 'user'
      const call = calls.length > 0 ? undefined : textCall(record, answered)
      if (call) calls.push({ type: 'tool_use', id: `call_${line}`, name: call.name, input: call.input })
      open = call && { id: `call_${line}`, refused: call.refused === true }
      drafts.push({ ...base, role, blocks: [...blocks, ...calls], ...replyFields(record) })
    } else if (role === 'tool' || (role === 'user' && open !== undefined)) {
      const callId = open?.id ?? stringAt(record, 'tool_call_id') ?? listAt(record, 'tool_call_ids')[0]
      const failed = open?.refused ? { is_error: true } : {}
      const result = { type: 'tool_result', tool_use_id: callId, content: blocks, ...failed }
      drafts.push({ ...base, role: 'user', blocks: [result] })
      open = undefined
    } else if (role === 'user') drafts.push({ ...base, role, blocks, source: 'prompt' })
    else if (role === 'system') drafts.push({ ...base, role: 'user', blocks })
  }
  return { drafts, system }
}

const apiCalls = (message: JsonObject): ContentBlock[] =>
  listAt(message, 'tool_calls')
    .filter(isObject)
    .map((call) => {
      const called = objectAt(call, 'function') ?? {}
      return { type: 'tool_use', id: call['id'], name: called['name'], input: callInput(called['arguments']) }
    })

function replyFields(message: JsonObject): Partial<DraftMessage> {
  const response = objectAt(objectAt(message, 'extra') ?? {}, 'response')
  if (response === undefined) return {}
  const choice = listAt(response, 'choices').find(isObject)
  return present({
    id: stringAt(response, 'id'),
    model: stringAt(response, 'model'),
    stopReason: choice && stringAt(choice, 'finish_reason'),
    usage: chatUsage(objectAt(response, 'usage')),
  })
}

function chatUsage(recorded: JsonObject | undefined): Usage | undefined {
  if (recorded === undefined) return undefined
  const cached = countAt(objectAt(recorded, 'prompt_tokens_details') ?? {}, 'cached_tokens') ?? 0
  return {
    inputTokens: Math.max(0, (countAt(recorded, 'prompt_tokens') ?? 0) - cached),
    outputTokens: countAt(recorded, 'completion_tokens') ?? 0,
    cacheReadTokens: cached,
    cacheWriteTokens: 0,
  }
}

function contentBlock(block: unknown): unknown {
  if (!isObject(block)) return block
  if (typeof block['text'] === 'string') return text(block['text'])
  return block['type'] === 'image_url' ? imageBlock(objectAt(block, 'image_url')?.['url']) : block
}
