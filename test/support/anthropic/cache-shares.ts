import { isObject, type Json } from './valid-blocks.ts'

// What the provider's prompt cache gives back, by its documented rules: a request writes its prefix at each of its marks, and reads the longest prefix that was
// written before and ends at one of its marks or at most 20 blocks before one. Bytes stand for tokens.

export interface CacheShare {
  /** Of the whole prompt: tools, system, messages. */
  readonly bytes: number
  /** That were read from the cache. */
  readonly read: number
  /** That repeat the request before. */
  readonly repeated: number
  readonly marks: number
}

const LOOK_BACK = 20

interface Block {
  readonly json: string
  readonly isMarked: boolean
}

/** In the order of the requests. */
export function cacheShares(bodies: readonly Json[]): CacheShare[] {
  const written = new Set<string>()
  let before: readonly string[] = []
  return bodies.map((body) => {
    const blocks = blocksOf(body)
    const marks = blocks.flatMap(({ isMarked }, at) => (isMarked ? [at] : []))
    const readable = marks.flatMap((mark) =>
      Array.from({ length: Math.min(mark, LOOK_BACK) + 1 }, (_, back) => mark - back),
    )
    const read = Math.max(-1, ...readable.filter((at) => written.has(prefix(blocks, at))))
    for (const mark of marks) written.add(prefix(blocks, mark))
    const same = blocks.findIndex(({ json }, at) => json !== before[at])
    before = blocks.map(({ json }) => json)
    return {
      bytes: bytesOf(blocks),
      read: bytesOf(blocks.slice(0, read + 1)),
      repeated: bytesOf(same < 0 ? blocks : blocks.slice(0, same)),
      marks: marks.length,
    }
  })
}

const prefix = (blocks: readonly Block[], at: number): string =>
  blocks
    .slice(0, at + 1)
    .map(({ json }) => json)
    .join('\n')

const bytesOf = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0)

function blocksOf({ tools, system, messages }: Json): Block[] {
  const said = listOf(messages).flatMap(({ role, content }) =>
    listOf(content).map((block) => ({ role, block })),
  )
  return [...listOf(tools), ...listOf(system), ...said].map((part) => ({
    json: JSON.stringify(part, (key, value) => (key === 'cache_control' ? undefined : value)),
    isMarked: isMarked(part) || (isObject(part['block']) && isMarked(part['block'])),
  }))
}

const isMarked = (block: Json): boolean => block['cache_control'] !== undefined

const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : [])

export const shareOf = (shares: readonly CacheShare[], what: 'read' | 'repeated'): number =>
  shares.reduce((sum, share) => sum + share[what], 0) / shares.reduce((sum, { bytes }) => sum + bytes, 0)
