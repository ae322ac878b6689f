import type { StreamedReply } from './stream-events.ts'
import { isObject, type Json } from './valid-blocks.ts'

const SIGNED = ['thinking', 'redacted_thinking']

/**
 * Reasoning must come back as it was issued: its blocks byte for byte, and before the same block as then. The API finds that out by the signature.
 *
 * @returns one sentence per block that was changed, invented, or torn from what it stood before
 */
export function issuedProblems({ messages }: Json, issued: readonly StreamedReply[]): string[] {
  if (!Array.isArray(messages)) return []
  return messages.flatMap((message: unknown, index) => {
    const blocks =
      isObject(message) && Array.isArray(message['content']) ? message['content'].filter(isObject) : []
    return blocks.flatMap((block, place) => {
      if (!SIGNED.includes(String(block['type']))) return []
      const at = `messages.${index}.content.${place}`
      const nextOf = (content: readonly Json[]) => {
        const from = content.findIndex((candidate) => bare(candidate) === bare(block))
        return from < 0 ? [] : [content[from + 1]]
      }
      const then = issued.flatMap(({ content }) => nextOf(content))
      if (then.length === 0) return [`${at}: Invalid signature in thinking block`]
      const now = blocks[place + 1]
      return then.some((next) => next === undefined || (now !== undefined && bare(next) === bare(now)))
        ? []
        : [`${at}: thinking blocks cannot be parted from what follows them`]
    })
  })
}

const bare = ({ cache_control: _, ...block }: Json): string => JSON.stringify(sorted(block))

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  )
}
