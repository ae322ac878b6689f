import { readBack } from '../recall/history-tool.ts'
import { type ContentBlock, isText } from '../session/content.ts'
import type { NewEvent, SurfaceNode } from '../session/events.ts'
import { keys } from '../session/keys.ts'
import type { ResolvedPolicy } from './policy-schema.ts'
import { newestStart, tailStart } from './tail.ts'

export interface PruneSettings {
  /** Code points up to which a result stays whole. */
  readonly thresholdChars: number
  readonly headChars: number
  readonly tailChars: number
}

/** A copy with less content that takes the place of a result, or of a message that is no checkpoint. */
export interface Copy {
  readonly target: SurfaceNode & { readonly type: 'tool/result' | 'user/message' }
  readonly content: readonly ContentBlock[]
}

/** A shorter copy that takes a tool result's place on the surface. */
export interface ShadowCopy extends Copy {
  readonly target: SurfaceNode & { readonly type: 'tool/result' }
  /** Code points of the text blocks. */
  readonly charsBefore: number
  readonly charsAfter: number
}

/** Code points of the text blocks; other blocks count nothing. `a😀b` has 3. */
export function measureContent(blocks: readonly ContentBlock[]): number {
  return blocks.reduce((sum, block) => sum + (isText(block) ? codePoints(block.text) : 0), 0)
}

/**
 * Head and tail of a content's text, in code points, around a marker that says how much is missing and where the whole is. Blocks that are
 * no text keep their place; text blocks that lose everything vanish.
 *
 * @param seq the event that holds the whole content
 * @param historyTool whether the marker says how the model reads it back. Default false
 * @returns null when the text is within the threshold, or would not become shorter
 */
export function pruneContent(
  blocks: readonly ContentBlock[],
  { thresholdChars, headChars, tailChars }: PruneSettings,
  seq: number,
  historyTool = false,
): readonly ContentBlock[] | null {
  const total = measureContent(blocks)
  const cutTo = total - tailChars
  const missing = cutTo - headChars
  if (total <= thresholdChars || missing <= 0) return null
  const marker = `[… ${missing} characters left out; ${readBack(seq, 'the whole', historyTool)} …]`
  if (codePoints(marker) + 2 >= missing) return null
  let start = 0
  let isMarked = false
  return blocks.flatMap((block): ContentBlock[] => {
    if (!isText(block)) return [block]
    const end = start + codePoints(block.text)
    const head = block.text.slice(0, unitIndex(block.text, headChars - start))
    const tail = block.text.slice(unitIndex(block.text, cutTo - start))
    start = end
    if (head === block.text || tail === block.text) return [block]
    const holdsCut = !isMarked && end > headChars
    isMarked ||= holdsCut
    const kept = [head, holdsCut ? marker : '', tail].filter((part) => part !== '').join('\n')
    return kept === '' ? [] : [{ ...block, text: kept }]
  })
}

export interface PruneOptions {
  /** For a request that does not fit: results that the model has not seen are cut too. */
  readonly unseen: boolean
  /** True tokens per token of our counter. Default 1. */
  readonly ratio?: number
  /** Price of system and tools. Default 0. */
  readonly overheadTokens?: number
  /** Whether the model can read back what is cut. Default false. */
  readonly historyTool?: boolean
}

type PrunePolicy = Pick<
  ResolvedPolicy,
  'prune' | 'retainTokens' | 'contextWindow' | 'replyMaxTokens' | 'checkpointLimitTokens'
>

/**
 * Shorter copies of the results that are too long. Only of what the model has seen and that is older than the tail that pressure keeps (with
 * `unseen`: of everything); never of a copy, nor of preserved tools, unless the request could not be sent otherwise: with `unseen`, when
 * what any compaction keeps would not fit the window beside a checkpoint, its preserved results are cut as well.
 */
export function planPrune(
  nodes: readonly SurfaceNode[],
  policy: PrunePolicy,
  options: PruneOptions,
): ShadowCopy[] {
  const settings = policy.prune
  if (settings === null) return []
  if (!options.unseen) {
    const tail = tailStart(nodes, policy.retainTokens / (options.ratio ?? 1))
    return cutResults(nodes.slice(0, tail), settings, settings.preserve, options)
  }
  const copies = cutResults(nodes, settings, settings.preserve, options)
  const kept = newestStart(nodes)
  if (fits(nodes.slice(kept), copies, policy, options)) return copies
  return [
    ...cutResults(nodes.slice(0, kept), settings, settings.preserve, options),
    ...cutResults(nodes.slice(kept), settings, [], options),
  ]
}

function cutResults(
  nodes: readonly SurfaceNode[],
  settings: PruneSettings,
  preserve: readonly string[],
  { historyTool }: PruneOptions,
): ShadowCopy[] {
  return nodes.flatMap((target) => {
    if (target.type !== 'tool/result' || isShadowCopy(target) || preserve.includes(target.data.name))
      return []
    const content = pruneContent(target.data.content, settings, wholeSeq(target), historyTool)
    return content === null ? [] : [shadowCopy(target, content)]
  })
}

/** The provider has just refused an estimate: allow for its error. */
const REFUSED_ERROR = 1.1

/** Whether these nodes, shortened by the copies, fit the window with a checkpoint before them and a reply behind. */
function fits(
  kept: readonly SurfaceNode[],
  copies: readonly ShadowCopy[],
  policy: PrunePolicy,
  { ratio = 1, overheadTokens = 0 }: PruneOptions,
): boolean {
  if (policy.contextWindow === null) return true
  const share = new Map(
    copies.map(({ target, charsBefore, charsAfter }) => [target.seq, charsAfter / charsBefore]),
  )
  const tokens = kept.reduce((sum, node) => sum + node.tokens * (share.get(node.seq) ?? 1), overheadTokens)
  const request = ratio * REFUSED_ERROR * (tokens + policy.checkpointLimitTokens)
  return request + policy.replyMaxTokens <= policy.contextWindow
}

export function shadowCopy(target: ShadowCopy['target'], content: readonly ContentBlock[]): ShadowCopy {
  return {
    target,
    content,
    charsBefore: measureContent(target.data.content),
    charsAfter: measureContent(content),
  }
}

/** The copies that are worth writing, with their prices. Few characters may cost more than many: long runs of blanks are cheap, a marker is not. */
export function cheaperCopies(
  copies: readonly ShadowCopy[],
  price: (content: readonly ContentBlock[]) => number,
): { readonly copy: ShadowCopy; readonly tokens: number }[] {
  return copies
    .map((copy) => ({ copy, tokens: price(copy.content) }))
    .filter(({ copy, tokens }) => tokens < copy.target.tokens)
}

/** A result that stands in the place of another: a node is shadowed once. */
export const isShadowCopy = (node: SurfaceNode): boolean =>
  typeof node.surfaceOp === 'object' && node.surfaceOp.op === 'replace'

/** The event that holds a result's whole output: its own, or the one that was kept when it was cut at intake. */
export const wholeSeq = (node: ShadowCopy['target']): number => node.data.full ?? node.seq

/**
 * The two events that put a copy in the place of its target: the price of what leaves, then the copy, which differs in its content alone.
 *
 * @param tokens price of the copy's content
 * @param at the open turn and step, or nulls
 */
export function shadowEvents<T extends Copy>(
  { target, content }: T,
  tokens: number,
  at: { readonly turn: number | null; readonly step: number | null },
): [NewEvent<'compact/prune'>, NewEvent<T['target']['type']>] {
  const { seq, type } = target
  const range = { start: seq, end: seq }
  const copy = {
    key: keys.shadow(seq),
    type,
    ...at,
    data: { ...dataOf(target), content: [...content] },
    tokens,
    surfaceOp: { op: 'replace', ...range },
    sourceEventSeqs: [seq],
  }
  return [
    {
      key: keys.shadowPrice(seq),
      type: 'compact/prune',
      ...at,
      data: { shadowedRange: range, shadowedSeqs: [seq], shadowedTokenCount: target.tokens },
      tokens: 0,
    },
    copy as unknown as NewEvent<T['target']['type']>,
  ]
}

/** A prompt's id stands once in the log, with what the user sent. */
function dataOf({ type, data }: Copy['target']): object {
  return type === 'user/message' ? { source: data.source } : data
}

/** Index in UTF-16 units of the code point with this number, within the text. */
function unitIndex(value: string, point: number): number {
  let index = 0
  for (let left = point; left > 0 && index < value.length; left--) index += isPairAt(value, index) ? 2 : 1
  return index
}

function codePoints(value: string): number {
  let count = 0
  for (let index = 0; index < value.length; count++) index += isPairAt(value, index) ? 2 : 1
  return count
}

const isPairAt = (value: string, index: number): boolean =>
  (value.charCodeAt(index) & 0xfc00) === 0xd800 && (value.charCodeAt(index + 1) & 0xfc00) === 0xdc00
