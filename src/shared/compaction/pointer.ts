import type { SurfaceNode } from '../session/events.ts'
import type { CheckpointState } from './checkpoint-state.ts'
import { holdsMedia } from './media.ts'

export type Covers = CheckpointState['covers']

/** Events with images or documents that a pointer names. */
const MOST_MEDIA = 6

/** What a checkpoint of these nodes stands for. An earlier checkpoint among them, by `known`, counts as what it stood for itself. */
export function coversOf(
  nodes: readonly SurfaceNode[],
  known: (node: SurfaceNode) => Covers | undefined,
): Covers {
  const parts = nodes.map((node) => known(node) ?? coversNode(node))
  const media = parts.flatMap((part) => part.media ?? []).slice(-MOST_MEDIA)
  return {
    messages: parts.reduce((sum, part) => sum + part.messages, 0),
    tokens: parts.reduce((sum, part) => sum + part.tokens, 0),
    firstSeq: Math.min(...parts.map((part) => part.firstSeq)),
    lastSeq: Math.max(...parts.map((part) => part.lastSeq)),
    ...(media.length === 0 ? {} : { media }),
  }
}

const coversNode = (node: SurfaceNode): Covers => ({
  messages: 1,
  tokens: node.tokens,
  firstSeq: node.seq,
  lastSeq: node.seq,
  ...(holdsMedia([node.data]) ? { media: [node.seq] } : {}),
})

/** Names the events that the checkpoint stands for, and says how to read them back with what the session has. */
export function renderPointer(
  covers: Covers,
  ways: { readonly historyTool?: boolean; readonly archivePath?: string },
): string {
  const { firstSeq, lastSeq, media = [] } = covers
  const reading = ways.historyTool
    ? ` Read one again with the tool history {"seq": ${lastSeq}}, find one by a piece of its text with {"query": "…"}; [#${lastSeq}] cites it.`
    : ' [#number] cites one of them.'
  const archive = ways.archivePath === undefined ? '' : ` All of it: ${JSON.stringify(ways.archivePath)}.`
  return `[This stands for events #${firstSeq} to #${lastSeq} of the session, which are kept word for word.${reading}${archive}${notVisible(media)}]`
}

/** Otherwise a model tells of a picture that it remembers from a summary alone. */
const notVisible = (media: readonly number[]): string =>
  media.length === 0
    ? ''
    : ` Images and documents are not visible any more, the newest are in ${media.map((seq) => `#${seq}`).join(', ')}: look at one again before you say what it shows.`
