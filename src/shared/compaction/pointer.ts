import type { SurfaceNode } from '../session/events.ts'
import type { CheckpointState } from './checkpoint-state.ts'

export type Covers = CheckpointState['covers']

/** What a checkpoint of these nodes stands for. An earlier checkpoint among them, by `known`, counts as what it stood for itself. */
export function coversOf(
  nodes: readonly SurfaceNode[],
  known: (node: SurfaceNode) => Covers | undefined,
): Covers {
  const parts = nodes.map(
    (node) => known(node) ?? { messages: 1, tokens: node.tokens, firstSeq: node.seq, lastSeq: node.seq },
  )
  return {
    messages: parts.reduce((sum, part) => sum + part.messages, 0),
    tokens: parts.reduce((sum, part) => sum + part.tokens, 0),
    firstSeq: Math.min(...parts.map((part) => part.firstSeq)),
    lastSeq: Math.max(...parts.map((part) => part.lastSeq)),
  }
}

/** Names the events that the checkpoint stands for, and says how to read them back with what the session has. */
export function renderPointer(
  covers: Covers,
  ways: { readonly historyTool?: boolean; readonly archivePath?: string },
): string {
  const { firstSeq, lastSeq } = covers
  const reading = ways.historyTool
    ? ` Read one again with the tool history {"seq": ${lastSeq}}, find one by a piece of its text with {"query": "…"}; [#${lastSeq}] cites it.`
    : ' [#number] cites one of them.'
  const archive = ways.archivePath === undefined ? '' : ` All of it: ${JSON.stringify(ways.archivePath)}.`
  return `[This stands for events #${firstSeq} to #${lastSeq} of the session, which are kept word for word.${reading}${archive}]`
}
