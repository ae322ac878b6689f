import {
  contentBlocks,
  type Draft,
  type DraftMessage,
  type Drafts,
  present,
  text,
  unreadable,
  usageOf,
} from './draft.ts'
import type { JsonlReader, JsonlRecord } from './format-reader.ts'
import { userSource } from './injected-text.ts'
import { countAt, isObject, type JsonObject, objectAt, stringAt } from './json-text.ts'
import { livePath } from './live-path.ts'
import type { RecordAccount } from './record-account.ts'

/**
 * pi session file: a tree of entries (a plain list in its first version), of which the path to the last entry counts.
 * Compactions keep their tail by pointing back, so that nothing of it is written twice.
 */
export const pi: JsonlReader = {
  typeOf: (record) => {
    const type = stringAt(record, 'type') ?? '(no type)'
    const role = stringAt(objectAt(record, 'message') ?? {}, 'role')
    return role === undefined ? type : `${type}/${role}`
  },
  reasonOf: () => 'no message: settings or display of the client',
  read,
}

function read(records: readonly JsonlRecord[], account: RecordAccount): Drafts {
  const entries = records.filter(({ record }) => record['type'] !== 'session')
  const live = livePath(
    entries.map(({ line, record }) => ({
      line,
      id: stringAt(record, 'id'),
      parentId: stringAt(record, 'parentId'),
    })),
  )
  const drafts: Draft[] = []
  for (const { line, record } of entries) {
    if (!live.has(line)) account.leaveOut(line, 'on a branch that the user left')
    else if (record['type'] === 'compaction') {
      const fields = { summary: stringAt(record, 'summary'), tokensBefore: countAt(record, 'tokensBefore') }
      drafts.push({ kind: 'compaction', line, ...present(fields) })
      account.leaveOut(line, 'recorded compaction')
    } else {
      const message = entryMessage(record)
      if (message)
        drafts.push({ kind: 'message', line, ...present({ id: stringAt(record, 'id') }), ...message })
      else if (objectAt(record, 'message')) account.leaveOut(line, 'kept from the model by the user')
    }
  }
  return { drafts }
}

type EntryMessage = Omit<DraftMessage, 'kind' | 'line' | 'id'>

const context = (content: unknown): EntryMessage => ({
  role: 'user',
  blocks: contentBlocks(content).map(contentBlock),
  source: 'context',
})

function entryMessage(record: JsonObject): EntryMessage | undefined {
  if (record['type'] === 'custom_message') return context(record['content'])
  if (record['type'] === 'branch_summary') return context(record['summary'])
  const message = objectAt(record, 'message')
  if (record['type'] !== 'message' || message === undefined) return undefined
  const blocks = contentBlocks(message['content']).map(contentBlock)
  switch (message['role']) {
    case 'user':
      return { role: 'user', blocks, source: userSource(blocks) }
    case 'assistant':
      return assistantMessage(message)
    case 'toolResult': {
      const failed = message['isError'] === true ? { is_error: true } : {}
      const result = { type: 'tool_result', tool_use_id: message['toolCallId'], content: blocks, ...failed }
      return { role: 'user', blocks: [result], source: 'context' }
    }
    case 'bashExecution':
      return message['excludeFromContext'] === true ? undefined : context(commandText(message))
    default:
      return context(message['content'] ?? message['summary'])
  }
}

const USAGE = {
  inputTokens: 'input',
  outputTokens: 'output',
  cacheReadTokens: 'cacheRead',
  cacheWriteTokens: 'cacheWrite',
}

function assistantMessage(message: JsonObject): EntryMessage {
  const signed = message['api'] === 'anthropic-messages'
  return {
    role: 'assistant',
    blocks: contentBlocks(message['content']).map((block) => assistantBlock(block, signed)),
    source: 'context',
    ...present({
      model: stringAt(message, 'model'),
      stopReason: stringAt(message, 'stopReason'),
      usage: usageOf(objectAt(message, 'usage'), USAGE),
    }),
  }
}

/** @param signed whether the signatures of thinking are Anthropic's; those of others mean nothing in this vocabulary. */
function assistantBlock(block: unknown, signed: boolean): unknown {
  if (!isObject(block)) return block
  const signature = signed ? block['thinkingSignature'] : undefined
  if (block['type'] === 'toolCall')
    return { type: 'tool_use', id: block['id'], name: block['name'], input: block['arguments'] }
  if (block['type'] !== 'thinking') return contentBlock(block)
  return block['redacted'] === true && signature
    ? { type: 'redacted_thinking', data: signature }
    : { type: 'thinking', thinking: block['thinking'], signature }
}

function contentBlock(block: unknown): unknown {
  if (!isObject(block)) return block
  if (block['type'] === 'text' && typeof block['text'] === 'string') return text(block['text'])
  if (block['type'] !== 'image') return block
  const { data, mimeType } = block
  return typeof data === 'string' && typeof mimeType === 'string'
    ? { type: 'image', source: { type: 'base64', media_type: mimeType, data } }
    : unreadable('image: without its data')
}

/** A command that the user ran in the client: what was typed, what came out, and how it ended unless it ended well. */
function commandText(message: JsonObject): string {
  const code = countAt(message, 'exitCode')
  const end = message['cancelled'] === true ? ['(cancelled)'] : code ? [`(exit code ${code})`] : []
  return [`$ ${stringAt(message, 'command') ?? ''}`, stringAt(message, 'output') ?? '', ...end].join('\n')
}
