import type { ContentBlock } from '../shared/session/content.ts'
import type { Usage } from '../shared/session/events.ts'
import { countAt, isObject, type JsonObject, parseJson, stringAt } from './json-text.ts'
import type { ReadTool, SideChain } from './transcript.ts'

/** One record's part of the conversation, in the order of the file, as a format's reader hands it on. */
export interface DraftMessage {
  readonly kind: 'message'
  readonly line: number
  readonly role: 'user' | 'assistant'
  /** Anthropic blocks, not yet checked. */
  readonly blocks: readonly unknown[]
  /** Of a user message that is no tool result; ignored otherwise. */
  readonly source: 'prompt' | 'context'
  /** Assistant records of one group are one reply. Without it the record is a reply of its own. */
  readonly group?: string
  readonly id?: string
  readonly model?: string
  readonly stopReason?: string
  readonly usage?: Usage
}

export interface DraftCompaction {
  readonly kind: 'compaction'
  readonly line: number
  summary?: string
  readonly tokensBefore?: number
}

export type Draft = DraftMessage | DraftCompaction

/** What a format's reader returns; the fates of its records are in the account that it was given. */
export interface Drafts {
  readonly drafts: readonly Draft[]
  readonly system?: string
  readonly tools?: readonly ReadTool[]
  readonly sideChains?: readonly SideChain[]
}

/** The text of a block, or nothing. */
export const textOf = (block: unknown): string => (isObject(block) ? (stringAt(block, 'text') ?? '') : '')

export const text = (value: string): ContentBlock => ({ type: 'text', text: value })

/** Content as the Messages API takes it: a string or blocks. Anything else, and the empty string, is no content. */
export function contentBlocks(content: unknown): readonly unknown[] {
  if (typeof content === 'string') return content === '' ? [] : [text(content)]
  return Array.isArray(content) ? content : []
}

/** A `data:` address becomes base64 data, another address stays one. */
export function imageBlock(address: unknown): unknown {
  if (typeof address !== 'string' || address === '') return unreadable('image: without its data')
  const data = /^data:([^;,]+);base64,/.exec(address)
  const source = data
    ? { type: 'base64', media_type: data[1], data: address.slice(data[0].length) }
    : { type: 'url', url: address }
  return { type: 'image', source }
}

/** Stands for a block that holds nothing that a model can read; `cleanBlocks` reports it by this name. */
export const unreadable = (what: string) => ({ unreadable: what })

/** A call whose arguments were recorded as JSON text; text that is no JSON object stays readable under `arguments`. */
export function callInput(recorded: unknown): unknown {
  if (typeof recorded !== 'string') return recorded
  const parsed = parseJson(recorded)
  return 'value' in parsed && isObject(parsed.value) ? parsed.value : { arguments: recorded }
}

/** Recorded usage, by the names that a format gives our four numbers; a number that is not there is 0. */
export function usageOf(
  recorded: JsonObject | undefined,
  names: Record<keyof Usage, string>,
): Usage | undefined {
  if (recorded === undefined) return undefined
  return {
    inputTokens: countAt(recorded, names.inputTokens) ?? 0,
    outputTokens: countAt(recorded, names.outputTokens) ?? 0,
    cacheReadTokens: countAt(recorded, names.cacheReadTokens) ?? 0,
    cacheWriteTokens: countAt(recorded, names.cacheWriteTokens) ?? 0,
  }
}

/** The fields that are there. With `exactOptionalPropertyTypes` a field that is undefined is not one that is missing. */
export function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
