import { asUserBlock, type ContentBlock } from './content.ts'
import type { SurfaceNode } from './events.ts'
import { isCallBlock, isOurs, isResultBlock, type ToolAnswer, type ToolPairing } from './tool-pairs.ts'
import { isBlank } from './wire-calls.ts'

/**
 * The calls and results of the provider's own tools that may stand in a request: pairs inside one reply, pairs that nothing but results
 * of our tools separates, and calls that the provider is still to go on with. Any other would make it refuse the request.
 *
 * @returns whether the block at an index of a node may stand
 */
export function standingProviderBlocks(
  nodes: readonly SurfaceNode[],
  pairing: ToolPairing,
): (at: number, place: number) => boolean {
  const stretch = stretches(nodes, pairing)
  const last = stretch.at(-1)
  const standing = new Set<string>()
  for (const call of pairing.calls) {
    if (isOurs(call)) continue
    const answer = pairing.answers.get(call)
    const end =
      answer === undefined
        ? last
        : nodes[answer.at]?.type === 'assistant/message'
          ? stretch[answer.at]
          : undefined
    if (stretch[call.at] !== end) continue
    standing.add(`${call.at}.${call.place}`)
    if (answer !== undefined) standing.add(`${answer.at}.${answer.place}`)
  }
  return (at, place) => standing.has(`${at}.${place}`)
}

/** True for a block that stands only when {@link standingProviderBlocks} says so. */
export const isProviderBlock = (block: ContentBlock): boolean =>
  isResultBlock(block) || (isCallBlock(block) && block.type !== 'tool_use')

/** For each node the number of times that the user says something in the request before it; the last entry is for the end. */
function stretches(nodes: readonly SurfaceNode[], { answers, orphans }: ToolPairing): number[] {
  const spoken = new Set(orphans.map(({ at }) => at))
  for (const [call, answer] of answers) if (standsBeside(answer)) spoken.add(call.at)
  const numbers = [0]
  for (const [at, node] of nodes.entries()) {
    const speaks = node.type === 'user/message' || spoken.has(at)
    numbers.push((numbers[at] ?? 0) + (speaks ? 1 : 0))
  }
  return numbers
}

/** An error with more than text, of which the rest stands beside the result. */
const standsBeside = ({ isError, content }: ToolAnswer): boolean =>
  isError && content.some((block) => !isBlank(block) && asUserBlock(block).type !== 'text')
