import type { AnyUsage, PlacedEntry, SyncInput } from '../../shared/own-protocol.ts'
import { type KnownPrefix, messagesBehind } from '../../shared/session/message-digest.ts'
import { type MessageLike, partsOf, plainContent } from '../../shared/session/plain-messages.ts'
import { utf8Bytes } from '../../shared/session/prompt-content.ts'

// What of the caller's messages the log lacks, and how it is sent. Pure.

export interface ArrayPlan {
  readonly prompt: SyncInput['prompt']
  readonly entries: readonly PlacedEntry[]
}

export interface ArrayQuestion {
  readonly known: KnownPrefix
  readonly messages: readonly MessageLike[]
  /** Of the newest reply. */
  readonly usage?: AnyUsage | null | undefined
  /** The caller counts another turn than before. */
  readonly isNewTurn: boolean
  readonly hasTurn: boolean
}

/** A sentence when nothing can be planned. */
export function planArray(question: ArrayQuestion): ArrayPlan | string {
  const { known, messages, usage, isNewTurn, hasTurn } = question
  const fresh = messagesBehind(known, messages)
  if (fresh === null) {
    return `messages do not begin with the ${known.blocks} content blocks that preStep returned last: go on with what it returns, and only append to it`
  }
  const at = isNewTurn ? promptAt(fresh) : fresh.length
  const prompt = fresh[at]
  if (prompt === undefined && !hasTurn)
    return 'messages must end with a message of the user, which begins the first turn'
  const lead = prompt === undefined ? 'step' : hasTurn ? 'previous' : 'before'
  const entries = [
    ...placed(fresh.slice(0, at), lead, known.blocks),
    ...placed(fresh.slice(at + 1), 'step', known.blocks + at + 1),
  ]
  return {
    prompt: prompt === undefined ? null : [...plainContent(prompt.content)],
    entries: withUsage(entries, usage),
  }
}

/** Where a new turn begins: at the first of the messages at the end in which the user answers no call. */
function promptAt(fresh: readonly MessageLike[]): number {
  const behind = fresh.findLastIndex((message) => partsOf(message).some(({ kind }) => kind !== 'said'))
  return behind + 1
}

function placed(messages: readonly MessageLike[], group: PlacedEntry['group'], from: number): PlacedEntry[] {
  let replies = 0
  return messages.map(({ role, content }, index) => ({
    message: { role, content: [...plainContent(content)] },
    group,
    position: from + index,
    reply: role === 'assistant' ? replies++ : replies,
  }))
}

function withUsage(entries: readonly PlacedEntry[], usage: AnyUsage | null | undefined): PlacedEntry[] {
  const newest = entries.findLastIndex(({ message }) => message.role === 'assistant')
  if (usage === undefined || usage === null || newest < 0) return [...entries]
  return entries.map((entry, index) => (index === newest ? { ...entry, usage } : entry))
}

/** Bytes of one activity's input. The server refuses 2 MiB, and a workflow cannot catch that. */
const INPUT_BYTES = 1024 * 1024
/** A message that is larger cannot be sent at all. */
export const MESSAGE_BYTES = 1.75 * 1024 * 1024

/** The plan in parts that can be sent, in order; at least one. */
export function partsOfPlan({
  prompt,
  entries,
}: ArrayPlan): { prompt: SyncInput['prompt']; entries: PlacedEntry[] }[] {
  const first = { prompt: null as SyncInput['prompt'], entries: [] as PlacedEntry[] }
  const parts = [first]
  let part = first
  let bytes = 0
  const grow = (more: number) => {
    if (bytes > 0 && bytes + more > INPUT_BYTES) {
      part = { prompt: null, entries: [] }
      parts.push(part)
      bytes = 0
    }
    bytes += more
  }
  const isBefore = (entry: PlacedEntry) => prompt !== null && entry.group !== 'step'
  for (const entry of entries.filter(isBefore)) {
    grow(sizeOf(entry))
    part.entries.push(entry)
  }
  if (prompt !== null) {
    grow(sizeOf(prompt))
    part.prompt = prompt
  }
  for (const entry of entries.filter((each) => !isBefore(each))) {
    grow(sizeOf(entry))
    part.entries.push(entry)
  }
  return parts
}

export const sizeOf = (value: unknown): number => utf8Bytes(JSON.stringify(value))
