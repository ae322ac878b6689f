import {
  callInput,
  type Draft,
  type DraftCompaction,
  type DraftMessage,
  type Drafts,
  present,
  textOf,
  unreadable,
  usageOf,
} from './draft.ts'
import type { JsonlReader, JsonlRecord } from './format-reader.ts'
import { userSource } from './injected-text.ts'
import { isObject, type JsonObject, listAt, objectAt, stringAt } from './json-text.ts'
import type { RecordAccount } from './record-account.ts'
import type { ReadTool } from './transcript.ts'

/**
 * DSH session log. Message events with `surfaceOp: "append"` are the conversation; one with a replacement is a recorded
 * compaction's checkpoint or a shortened copy, and what it replaces stays.
 */
export const dsh: JsonlReader = {
  typeOf: (record) => stringAt(record, 'type') ?? '(no type)',
  reasonOf: (record) =>
    record['type'] === 'tool/call'
      ? 'repeats a call of the assistant message'
      : 'no message: a step of the session, or a part of a message that has its own record',
  read,
}

function read(records: readonly JsonlRecord[], account: RecordAccount): Drafts {
  const drafts: Draft[] = []
  const tools = new Map<string, ReadTool>()
  let system: string | undefined
  let compaction: DraftCompaction | undefined
  for (const { line, record } of records) {
    const data = objectAt(record, 'data') ?? {}
    switch (record['type']) {
      case 'request/header': {
        const header = objectAt(data, 'header') ?? {}
        system ??= stringAt(header, 'system')
        for (const tool of listAt(header, 'tools')) if (isObject(tool)) addTool(tools, tool)
        account.take(line)
        break
      }
      case 'compaction/start':
        compaction = { kind: 'compaction', line }
        drafts.push(compaction)
        account.leaveOut(line, 'recorded compaction')
        break
      case 'compaction/summary':
        if (compaction) compaction.summary = listAt(data, 'summary').map(textOf).join('\n')
        account.leaveOut(line, 'recorded compaction')
        break
      case 'compaction/end':
        account.leaveOut(line, 'recorded compaction')
        break
      default:
        if (isObject(record['surfaceOp'])) account.leaveOut(line, 'replaces recorded messages, which stay')
        else drafts.push(...messageDraft(line, record, data))
    }
  }
  return { drafts, tools: [...tools.values()], ...present({ system }) }
}

const USAGE = {
  inputTokens: 'inputTokens',
  outputTokens: 'outputTokens',
  cacheReadTokens: 'cacheReadTokens',
  cacheWriteTokens: 'cacheWriteTokens',
}

function messageDraft(line: number, record: JsonObject, data: JsonObject): DraftMessage[] {
  const message = objectAt(data, 'message') ?? data
  const content = listAt(message, 'content')
  const base = { kind: 'message', line, ...present({ id: stringAt(message, 'id') }) } as const
  switch (record['type']) {
    case 'user/message': {
      const blocks = content.map(contentBlock)
      const typed = objectAt(message, 'source')?.['kind'] === 'user'
      return [{ ...base, role: 'user', blocks, source: typed ? userSource(blocks) : 'context' }]
    }
    case 'assistant/message': {
      const model = stringAt(objectAt(message, 'source') ?? objectAt(message, 'provenance') ?? {}, 'model')
      const fields = present({ model, usage: usageOf(objectAt(data, 'usage'), USAGE) })
      return [{ ...base, role: 'assistant', blocks: content.map(contentBlock), source: 'context', ...fields }]
    }
    case 'tool/result': {
      const nested = content.some((block) => isObject(block) && block['type'] === 'tool-result')
      const blocks = nested ? content.map(contentBlock) : [resultBlock(message, stringAt(data, 'callId'))]
      return [{ ...base, role: 'user', blocks, source: 'context' }]
    }
    default:
      return []
  }
}

function contentBlock(block: unknown): unknown {
  if (!isObject(block)) return block
  switch (block['type']) {
    case 'tool-call':
      return { type: 'tool_use', id: block['id'], name: block['name'], input: callInput(block['arguments']) }
    case 'tool-result':
      return resultBlock(block, stringAt(block, 'toolCallId'))
    case 'reasoning':
      return { type: 'thinking', thinking: block['text'] }
    case 'image':
      return unreadable('image: stored outside the file')
    default:
      return block
  }
}

const resultBlock = (recorded: JsonObject, callId: string | undefined): unknown => ({
  type: 'tool_result',
  tool_use_id: callId ?? '',
  content: listAt(recorded, 'content').map(contentBlock),
  ...(recorded['isError'] === true ? { is_error: true } : {}),
})

function addTool(tools: Map<string, ReadTool>, recorded: JsonObject): void {
  const name = stringAt(recorded, 'name') ?? ''
  const description = stringAt(recorded, 'description')
  tools.set(name, { name, ...present({ description, input_schema: objectAt(recorded, 'parameters') }) })
}
