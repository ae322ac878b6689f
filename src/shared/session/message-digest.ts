import { canonicalJson } from './canonical-json.ts'
import { hash53 } from './keys.ts'
import { type MessageLike, plainContent } from './plain-messages.ts'

// Digests of 106 bits, by which two sides find out what the other has.

const digestOf = (value: string): string => hash53(value, 1).toString(36) + hash53(value, 2).toString(36)

/** Of the bytes of the message's JSON, the order of its fields included: a provider's prompt cache sees them. */
export const messageDigest = ({ role, content }: MessageLike): string =>
  digestOf(`${role} ${JSON.stringify(plainContent(content))}`)

export const messagesDigest = (messages: readonly MessageLike[]): string =>
  digestOf(messages.map(messageDigest).join(' '))

/** How far a list of messages was known, by blocks: it may grow in its last message, too. */
export interface KnownPrefix {
  readonly blocks: number
  readonly digest: string
}

export const EMPTY_PREFIX: KnownPrefix = { blocks: 0, digest: '' }

export function prefixOf(messages: readonly MessageLike[]): KnownPrefix {
  return flat(messages).reduce(grown, EMPTY_PREFIX)
}

/**
 * What stands behind a known prefix, as messages; null when the messages do not begin with it. The first may be the rest of a message
 * that has grown. Linear in the size of all messages.
 */
export function messagesBehind(known: KnownPrefix, messages: readonly MessageLike[]): MessageLike[] | null {
  let seen = EMPTY_PREFIX
  for (const block of flat(messages).slice(0, known.blocks)) seen = grown(seen, block)
  if (seen.blocks !== known.blocks || seen.digest !== known.digest) return null
  let left = known.blocks
  return messages.flatMap((message) => {
    const content = plainContent(message.content)
    const skipped = Math.min(left, content.length)
    left -= skipped
    if (skipped === 0) return content.length === 0 ? [] : [message]
    return skipped === content.length ? [] : [{ role: message.role, content: content.slice(skipped) }]
  })
}

const flat = (messages: readonly MessageLike[]): string[] =>
  messages.flatMap(({ role, content }) =>
    plainContent(content).map((block) => `${role} ${canonicalJson(block)}`),
  )

const grown = ({ blocks, digest }: KnownPrefix, block: string): KnownPrefix => ({
  blocks: blocks + 1,
  digest: digestOf(`${digest} ${block}`),
})
