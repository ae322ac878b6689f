import { hash53 } from '../shared/session/keys.ts'
import { claudeMainLine } from './claude-main-line.ts'
import { queuedCommand, recoverQueuedPrompts } from './claude-queue.ts'
import {
  contentBlocks,
  type Draft,
  type DraftCompaction,
  type DraftMessage,
  type Drafts,
  present,
  textOf,
  usageOf,
} from './draft.ts'
import type { JsonlReader, JsonlRecord } from './format-reader.ts'
import { userSource } from './injected-text.ts'
import { countAt, type JsonObject, objectAt, stringAt } from './json-text.ts'
import { REPEATED, type RecordAccount } from './record-account.ts'

/**
 * Claude Code session file. One content block a record: assistant records of one `message.id` are one reply, and
 * results are found by call id, because the parent chain leads past most parallel ones. Older history hangs on a
 * compaction by `logicalParentUuid` only. Resumed sessions repeat records under new uuids, with their old timestamps.
 */
export const claudeCode: JsonlReader = { typeOf, reasonOf, read }

function typeOf(record: JsonObject): string {
  const type = stringAt(record, 'type') ?? '(no type)'
  const attachment = stringAt(objectAt(record, 'attachment') ?? {}, 'type')
  const detail = stringAt(record, 'subtype') ?? stringAt(record, 'operation') ?? attachment
  return detail === undefined ? type : `${type}/${detail}`
}

function reasonOf(record: JsonObject): string {
  if (record['type'] === 'attachment')
    return 'rendered by the client for a request; the text that the model saw is not recorded'
  if (record['type'] === 'queue-operation')
    return 'queue bookkeeping; a delivered prompt has a record of its own'
  return 'no message: bookkeeping or display of the client'
}

function read(records: readonly JsonlRecord[], account: RecordAccount): Drafts {
  const { main, live, sideChains } = claudeMainLine(records, account)
  const recovered = recoverQueuedPrompts(main)
  const withoutRepeated = repetitionFilter()
  const drafts: Draft[] = []
  let awaited: DraftCompaction | undefined
  for (const each of main) {
    const { line, record } = each
    if (record['subtype'] === 'compact_boundary' || record['isCompactSummary'] === true) {
      awaited = addCompaction(each, awaited, drafts)
      account.leaveOut(line, 'recorded compaction')
      continue
    }
    const draft = messageDraft(each, recovered.get(line))
    if (draft === undefined) continue
    const problem = leftOutReason(record, live.has(line))
    if (problem !== undefined) {
      account.leaveOut(line, problem)
      continue
    }
    const blocks = withoutRepeated(record, draft.blocks)
    if (blocks.length === 0 && draft.blocks.length > 0) account.merge(line, REPEATED)
    else drafts.push({ ...draft, blocks })
  }
  return { drafts, sideChains }
}

/**
 * A boundary is a compaction, and the summary behind it belongs to it; a summary without one is a compaction too.
 *
 * @param awaited the compaction that has no summary yet
 * @returns the same for the next record
 */
function addCompaction(
  { line, record }: JsonlRecord,
  awaited: DraftCompaction | undefined,
  drafts: Draft[],
): DraftCompaction | undefined {
  const summary = record['isCompactSummary'] === true ? messageText(record) : undefined
  if (awaited !== undefined && summary !== undefined) {
    awaited.summary = summary
    return undefined
  }
  const tokensBefore = countAt(objectAt(record, 'compactMetadata') ?? {}, 'preTokens')
  const compaction: DraftCompaction = { kind: 'compaction', line, ...present({ summary, tokensBefore }) }
  drafts.push(compaction)
  return summary === undefined ? compaction : undefined
}

function leftOutReason(record: JsonObject, live: boolean): string | undefined {
  if (record['isApiErrorMessage'] === true) return 'an error shown to the user, never sent to the model'
  if (record['isVisibleInTranscriptOnly'] === true)
    return 'shown in the transcript only, never sent to the model'
  return live ? undefined : 'on a branch that the user left'
}

function messageDraft(
  { line, record }: JsonlRecord,
  recovered: string | undefined,
): DraftMessage | undefined {
  const base = { kind: 'message', line, ...present({ id: stringAt(record, 'uuid') }) } as const
  const queued = recovered ?? queuedCommand(record)
  const message = objectAt(record, 'message')
  const blocks = contentBlocks(queued ?? message?.['content'])
  if (queued !== undefined || (message !== undefined && record['type'] === 'user'))
    return {
      ...base,
      role: 'user',
      blocks,
      source: record['isMeta'] === true ? 'context' : userSource(blocks),
    }
  if (message === undefined || record['type'] !== 'assistant') return undefined
  return { ...base, role: 'assistant', blocks, source: 'context', ...replyFields(message) }
}

const USAGE = {
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  cacheReadTokens: 'cache_read_input_tokens',
  cacheWriteTokens: 'cache_creation_input_tokens',
}

const replyFields = (message: JsonObject): Partial<DraftMessage> =>
  present({
    group: stringAt(message, 'id'),
    model: stringAt(message, 'model'),
    stopReason: stringAt(message, 'stop_reason'),
    usage: usageOf(objectAt(message, 'usage'), USAGE),
  })

const messageText = (record: JsonObject): string =>
  contentBlocks(objectAt(record, 'message')?.['content']).map(textOf).join('\n')

/**
 * Returns a function that drops the blocks which an earlier record had, recognized by time, message and content: a copy
 * keeps the time, may split a message, and has another uuid.
 */
function repetitionFilter(): (record: JsonObject, blocks: readonly unknown[]) => readonly unknown[] {
  const seen = new Set<string>()
  return (record, blocks) => {
    const time = stringAt(record, 'timestamp')
    if (time === undefined) return blocks
    const messageId = stringAt(objectAt(record, 'message') ?? {}, 'id') ?? ''
    const keys = blocks.map((block) => {
      const content = `${time} ${messageId} ${JSON.stringify(block)}`
      return `${hash53(content, 1)}.${hash53(content, 2)}`
    })
    const fresh = blocks.filter((_, index) => !seen.has(keys[index] ?? ''))
    for (const key of keys) seen.add(key)
    return fresh
  }
}
