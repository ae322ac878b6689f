import { readBack } from '../recall/history-tool.ts'
import { type ContentBlock, text } from '../session/content.ts'
import type { SurfaceNode } from '../session/events.ts'
import type { ResolvedPolicy } from './policy-schema.ts'
import { isShadowCopy, type ShadowCopy, shadowCopy, wholeSeq } from './prune.ts'
import { firstUnseen } from './tail.ts'

/** About what a placeholder costs; a result must cost more for its clearing to free anything. */
const PLACEHOLDER_TOKENS = 24

/** Blocks that a placeholder stands for; blocks of other types stay as they are. */
const CLEARED_BLOCKS = new Set(['text', 'image', 'document', 'search_result'])

/**
 * Placeholders for old results: of those the model has seen, all but the newest `keepLast`, without errors, preserved tools and copies. Empty
 * unless they free `minReclaimTokens` together, since a change of old messages costs the provider's prompt cache.
 *
 * @param historyTool whether a placeholder says how the model reads the result back. Default false
 */
export function planMicro(
  nodes: readonly SurfaceNode[],
  policy: Pick<ResolvedPolicy, 'micro'>,
  historyTool = false,
): ShadowCopy[] {
  const { micro } = policy
  if (micro === null) return []
  const seen = nodes.slice(0, firstUnseen(nodes)).filter((node) => node.type === 'tool/result')
  const old = seen.slice(0, Math.max(0, seen.length - micro.keepLast))
  const cleared = old.filter(
    (node) =>
      !node.data.isError &&
      !isShadowCopy(node) &&
      !micro.preserve.includes(node.data.name) &&
      reclaimed(node) > 0,
  )
  const freed = cleared.reduce((sum, node) => sum + reclaimed(node), 0)
  return freed >= micro.minReclaimTokens
    ? cleared.map((node) => shadowCopy(node, placeholder(node, historyTool)))
    : []
}

const reclaimed = (node: SurfaceNode): number => node.tokens - PLACEHOLDER_TOKENS

/** `[Previous: used <tool>; …]` in the place of the first block that it stands for. */
function placeholder(node: ShadowCopy['target'], historyTool: boolean): ContentBlock[] {
  const { content, name } = node.data
  const first = content.findIndex((block) => CLEARED_BLOCKS.has(block.type))
  const label = text(`[Previous: used ${name}; ${readBack(wholeSeq(node), 'its result', historyTool)}]`)
  return content.flatMap((block, index) => {
    if (index === first) return [label]
    return CLEARED_BLOCKS.has(block.type) ? [] : [block]
  })
}
