import type { ContentBlock } from '../shared/session/content.ts'
import { isObject } from './json-text.ts'
import type { ReadChange } from './transcript.ts'

/**
 * The blocks of a record as a model can be given them again: without blocks that no API accepts (no type, empty text,
 * thinking that no signature proves) and without cache marks, which belong to a request. The rest is verbatim.
 */
export function cleanBlocks(blocks: readonly unknown[], line: number, changes: ReadChange[]): ContentBlock[] {
  const clean: ContentBlock[] = []
  for (const block of blocks) {
    const problem = blockProblem(block)
    if (problem !== undefined) changes.push({ line, kind: 'block-left-out', detail: problem })
    else clean.push(withoutCacheMark(block as ContentBlock, line, changes))
  }
  return clean
}

function blockProblem(block: unknown): string | undefined {
  if (isObject(block) && typeof block['unreadable'] === 'string') return block['unreadable']
  if (!isObject(block) || typeof block['type'] !== 'string' || block['type'] === '')
    return 'no block: it has no type'
  if (block['type'] === 'text' && (typeof block['text'] !== 'string' || block['text'] === ''))
    return 'text: empty'
  if (block['type'] === 'thinking' && !block['signature'])
    return 'thinking: without a signature no model accepts it'
  return undefined
}

function withoutCacheMark(block: ContentBlock, line: number, changes: ReadChange[]): ContentBlock {
  if (block['cache_control'] === undefined) return block
  changes.push({ line, kind: 'cache-mark-removed', detail: block.type })
  const { cache_control: _, ...rest } = block
  return rest as ContentBlock
}
