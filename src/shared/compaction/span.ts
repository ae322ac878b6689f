import { SessionError } from '../errors.ts'
import type { Span } from '../protocol.ts'
import type { CompactionCause, SurfaceNode } from '../session/events.ts'
import { splitCallAt } from '../session/tool-pairing.ts'
import { isCheckpointNode } from './checkpoint-node.ts'
import type { ResolvedPolicy } from './policy-schema.ts'
import { measureContent } from './prune.ts'
import { firstUnseen, newestStart, tailStart } from './tail.ts'

export interface SpanInput {
  readonly nodes: readonly SurfaceNode[]
  readonly cause: CompactionCause
  readonly policy: Pick<
    ResolvedPolicy,
    'retainTokens' | 'pressureTokens' | 'checkpointTokens' | 'userTextTokens' | 'checkpointLimitTokens'
  >
  /** The open turn; null between turns. Default 0: no turn has ended yet. */
  readonly turn?: number | null
  /** Seqs of two nodes, inclusive, in surface order. Without it the span begins with the oldest node. */
  readonly span?: Span
  /** True tokens per token of our counter. */
  readonly ratio: number
  /** Price of system and tools: the tail is what they leave of the pressure limit. Default 0. */
  readonly overheadTokens?: number
  /** Price of the pins that stand in every checkpoint. Default 0. */
  readonly pinTokens?: number
}

/** Why nothing is to be compacted. */
export type NothingReason =
  /** No message. */
  | 'empty'
  /** Only what stays verbatim. */
  | 'only-tail'
  /** Beside the tail only the checkpoint of an earlier compaction. */
  | 'only-checkpoint'
  /** A checkpoint of these messages would be about as large as they are. */
  | 'too-small'

export type SelectedSpan =
  | {
      readonly kind: 'span'
      /** In surface order. */
      readonly seqs: readonly number[]
      /** Sum of their prices. */
      readonly tokens: number
      /** Seqs of the first and the last node. */
      readonly from: number
      readonly to: number
    }
  | { readonly kind: 'nothing'; readonly reason: NothingReason }

/**
 * The nodes that a compaction replaces: whole units, and nothing that the model has not answered yet. For `pressure` all but the tail of
 * `retainTokens`; for other causes all but the newest unit; with `span` exactly that region. What an ended turn left unanswered is taken when
 * a request does not fit, and when a person finds nothing else: it would keep the session too long for ever.
 *
 * @throws SessionError `InvalidSpan` for a region whose ends are not on the surface, not in order, split a pair, or take unanswered input
 */
export function selectSpan(input: SpanInput): SelectedSpan {
  const { nodes } = input
  const chosen = input.span === undefined ? spanNodes(input) : regionNodes(nodes, input.span)
  const [first, last] = [chosen[0], chosen.at(-1)]
  if (first === undefined || last === undefined)
    return { kind: 'nothing', reason: nodes.length === 0 ? 'empty' : 'only-tail' }
  if (chosen.every(isCheckpointNode)) return { kind: 'nothing', reason: 'only-checkpoint' }
  const tokens = sum(chosen)
  if (checkpointCost(chosen, input) > tokens * WORTHWHILE_SHARE)
    return { kind: 'nothing', reason: 'too-small' }
  return { kind: 'span', seqs: chosen.map((node) => node.seq), tokens, from: first.seq, to: last.seq }
}

function spanNodes({
  nodes,
  cause,
  policy,
  ratio,
  overheadTokens = 0,
  turn = 0,
}: SpanInput): readonly SurfaceNode[] {
  if (cause === 'pressure') return nodes.slice(0, tailStart(nodes, tailTokens(policy, ratio, overheadTokens)))
  const openTurn = turn ?? Number.POSITIVE_INFINITY
  if (cause === 'context-overflow') return nodes.slice(0, newestStart(nodes, openTurn))
  const answered = nodes.slice(0, newestStart(nodes))
  return answered.every(isCheckpointNode) ? nodes.slice(0, newestStart(nodes, openTurn)) : answered
}

/** Share of the pressure limit that a compaction leaves free, so that the next one is not due in the next step. */
export const FREE_SHARE = 0.1

/** The setting, or what system, tools and checkpoint leave of the limit, if that is less. By our counter. */
function tailTokens(policy: SpanInput['policy'], ratio: number, overheadTokens: number): number {
  const { retainTokens, pressureTokens, checkpointLimitTokens } = policy
  const setting = retainTokens / ratio
  if (pressureTokens === null) return setting
  const left = ((1 - FREE_SHARE) * pressureTokens) / ratio - overheadTokens - checkpointLimitTokens
  return Math.max(0, Math.min(setting, left))
}

/** Frame and pointer of a checkpoint. */
const FRAME_TOKENS = 200
/** About what summary and lists take of the text that they stand for, as long as their limit allows it. */
const SUMMARY_SHARE = 0.25
/** A checkpoint that takes a larger share of its span than this is not worth a call and a lost prompt cache. */
const WORTHWHILE_SHARE = 0.9

/** About what a checkpoint of these nodes will cost: an earlier one is carried on, the user's words stay, the rest shrinks. */
function checkpointCost(nodes: readonly SurfaceNode[], { policy, pinTokens = 0 }: SpanInput): number {
  const checkpoints = sum(nodes.filter(isCheckpointNode))
  const user = nodes.reduce((total, node) => total + userWords(node), 0)
  const rest = sum(nodes) - checkpoints - user
  const cost =
    FRAME_TOKENS +
    Math.max(checkpoints, pinTokens) + // Pins stand in the earlier checkpoint, too.
    Math.min(user, policy.userTextTokens) +
    Math.min(policy.checkpointTokens, SUMMARY_SHARE * (rest + user))
  return Math.min(cost, policy.checkpointLimitTokens)
}

/** Tokens of what the user wrote, at most: images and documents are not carried on, and hardly a character is more than a token. */
function userWords(node: SurfaceNode): number {
  if (node.type !== 'user/message' || isCheckpointNode(node)) return 0
  return Math.min(node.tokens, measureContent(node.data.content))
}

function regionNodes(nodes: readonly SurfaceNode[], { start, end }: Span): readonly SurfaceNode[] {
  const [from, to] = [
    nodes.findIndex((node) => node.seq === start),
    nodes.findIndex((node) => node.seq === end),
  ]
  const region = `The region from seq ${start} to seq ${end}`
  const refuse = (why: string, details: Record<string, unknown> = {}) =>
    new SessionError('InvalidSpan', `${region} ${why}`, { start, end, ...details })
  if (from === -1 || to === -1) {
    const missing = [...(from === -1 ? [start] : []), ...(to === -1 ? [end] : [])].join(' and ')
    throw refuse(
      `is not on the surface: ${missing} is no current message. Take both ends from the transcript's current messages.`,
    )
  }
  if (from > to)
    throw refuse(`is reversed: #${start} stands after #${end} on the surface. Swap the two ends.`)
  const split = splitCallAt(nodes, from) ?? splitCallAt(nodes, to + 1)
  if (split !== undefined)
    throw refuse(`separates call ${split} from its result. Take both or neither.`, { callId: split })
  if (to >= firstUnseen(nodes))
    throw refuse('takes a message that the model has not answered yet. End it before that message.')
  return nodes.slice(from, to + 1)
}

const sum = (nodes: readonly SurfaceNode[]): number => nodes.reduce((total, { tokens }) => total + tokens, 0)
