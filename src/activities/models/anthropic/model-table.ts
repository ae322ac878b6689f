import type { ModelCapacity } from '../../../shared/ports/model.ts'

/** Tokens of window and reply. */
const LARGE = { contextWindow: 1_000_000, maxOutputTokens: 128_000 } as const
const SMALL = { contextWindow: 200_000, maxOutputTokens: 64_000 } as const

/** Limits as the provider's pages gave them on 2026-11-30, for servers that have no list of models, or are away. The list comes first. */
const TABLE: readonly (readonly [prefix: string, capacity: ModelCapacity])[] = [
  ['claude-fable-5', LARGE],
  ['claude-opus-5', LARGE],
  ['claude-sonnet-5', LARGE],
  ['claude-haiku-5', LARGE],
  ['claude-opus-4-8', LARGE],
  ['claude-opus-4-7', LARGE],
  ['claude-opus-4-6', LARGE],
  ['claude-sonnet-4-6', LARGE],
  ['claude-opus-4-5', SMALL],
  ['claude-sonnet-4-5', SMALL],
  ['claude-haiku-4-5', SMALL],
]

/** By name, with or without a minor version or a date behind it. */
export const tabledCapacity = (model: string): ModelCapacity | undefined =>
  TABLE.find(([prefix]) => model === prefix || model.startsWith(`${prefix}-`))?.[1]

/** Families with the newest tokenizer, which writes about 30 % more tokens for the same text. */
const NEWEST_TOKENIZER = /claude-(?:fable|mythos|opus-4-[7-9]|(?:opus|sonnet|haiku)-(?:[5-9]|\d\d)(?!\d))/

/** True tokens per token of our counter, with room for an error, until the session has learned its own. */
export const firstUsageRatio = (model: string): number => (NEWEST_TOKENIZER.test(model) ? 1.5 : 1.2)
