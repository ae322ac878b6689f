import type { AnyUsage, OwnEntry, PlacedEntry } from '../../shared/own-protocol.ts'
import { canonicalJson } from '../../shared/session/canonical-json.ts'
import { type ContentBlock, isToolUse } from '../../shared/session/content.ts'
import type { Header, NewEvent, Usage } from '../../shared/session/events.ts'
import { hash53, keys } from '../../shared/session/keys.ts'
import type { MessagePart } from '../../shared/session/plain-messages.ts'
import { priceContent } from '../../shared/tokens/price.ts'

// Which event an entry becomes, and under which key: by its turn, its step and its place among what was sent. Pure.

export type NumberedEntry = Omit<PlacedEntry, 'group'>

/** Entries of one step, in order. */
export function numbered(entries: readonly OwnEntry[]): NumberedEntry[] {
  let replies = 0
  return entries.map((entry, position) => {
    const placed = { ...entry, position, reply: replies }
    if (entry.message.role === 'assistant') replies++
    return placed
  })
}

/** Null: the message belongs to no turn. */
export type Place = { readonly turn: number; readonly step: number } | null

export function replyEvent(
  entry: NumberedEntry,
  content: readonly ContentBlock[],
  place: Place,
  { provider, model }: Pick<Header, 'provider' | 'model'>,
): NewEvent<'assistant/message'> {
  return {
    key: replyKey(entry, content, place),
    type: 'assistant/message',
    turn: place?.turn ?? null,
    step: place?.step ?? null,
    data: {
      content: [...content],
      usage: usageOf(entry.usage),
      stopReason: entry.stopReason ?? (content.some(isToolUse) ? 'tool_use' : 'end_turn'),
      provider: provider ?? '',
      model: model ?? '',
    },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
}

function replyKey(entry: NumberedEntry, content: readonly ContentBlock[], place: Place): string {
  if (place === null) return keys.loose(entry.position, hashOf(content))
  const { turn, step } = place
  return entry.reply === 0 ? keys.assistant(turn, step) : keys.assistantMore(turn, step, entry.reply)
}

/** What was said before the session had its first turn is imported history. */
export function saidEvent(
  { position }: NumberedEntry,
  content: readonly ContentBlock[],
  place: Place,
): NewEvent<'user/message'> {
  const hash = hashOf(content)
  return {
    key: place === null ? keys.loose(position, hash) : keys.said(place.turn, place.step, position, hash),
    type: 'user/message',
    turn: place?.turn ?? null,
    step: place?.step ?? null,
    data: { content: [...content], source: place === null ? 'import' : 'prompt' },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
}

export function looseResultEvent(
  { position }: NumberedEntry,
  { callId, content, isError }: Extract<MessagePart, { kind: 'result' }>,
  name: string,
): NewEvent<'tool/result'> {
  return {
    key: keys.loose(position, `${callId}.${hashOf(content)}`),
    type: 'tool/result',
    turn: null,
    step: null,
    data: { callId, name, content: [...content], isError },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
}

const hashOf = (content: readonly ContentBlock[]): string => hash53(canonicalJson(content)).toString(36)

export function usageOf(usage: AnyUsage | null | undefined): Usage | null {
  if (usage === null || usage === undefined) return null
  if ('inputTokens' in usage) return usage
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } =
    usage as Exclude<AnyUsage, Usage>
  return {
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    cacheReadTokens: cache_read_input_tokens ?? 0,
    cacheWriteTokens: cache_creation_input_tokens ?? 0,
  }
}
