import { readBack } from '../recall/history-tool.ts'
import { type ContentBlock, isToolResult, type Message, text } from '../session/content.ts'
import type { SurfaceNode } from '../session/events.ts'
import { utf8Bytes } from '../session/prompt-content.ts'
import { isCheckpointNode } from './checkpoint-node.ts'
import type { Copy } from './prune.ts'
import { firstUnseen } from './tail.ts'

// Images and documents have many bytes for few tokens, and a provider refuses some of them: they leave the surface by a ladder of their own.

/** An image or a document. */
export const isMedia = ({ type }: ContentBlock): boolean => type === 'image' || type === 'document'

/** Those of a block, in a tool result too. */
export function mediaIn(block: ContentBlock): readonly ContentBlock[] {
  if (isToolResult(block) && Array.isArray(block.content)) return block.content.filter(isMedia)
  return isMedia(block) ? [block] : []
}

export const holdsMedia = (messages: readonly Pick<Message, 'content'>[]): boolean =>
  messages.some(({ content }) => content.some((block) => mediaIn(block).length > 0))

/** UTF-8 bytes of a block in a request. */
const bytesOf = (block: ContentBlock): number => utf8Bytes(JSON.stringify(block))

export interface Relief {
  /** Bytes that must be free. */
  readonly needBytes: number
  /** Bytes to free of what the model has seen, so that not every step changes old messages and loses the provider's prompt cache. Default: no more. */
  readonly wishBytes?: number
}

/**
 * Labels in the place of the oldest images and documents. First those that the model has seen, then those in results that it has not; never
 * those of a prompt that waits for its answer. Empty when there are none. Linear in the bytes of the surface.
 */
export function planMediaRelief(
  nodes: readonly SurfaceNode[],
  { needBytes, wishBytes = needBytes }: Relief,
  historyTool: boolean,
): Copy[] {
  let freed = 0
  const unseen = firstUnseen(nodes)
  return nodes.flatMap((node, index) => {
    if (index >= unseen && node.type !== 'tool/result') return []
    const enough = index < unseen ? Math.max(needBytes, wishBytes) : needBytes
    return relabel(node, historyTool, 'left out to keep the request small', (block) => {
      if (freed >= enough) return false
      freed += bytesOf(block)
      return true
    })
  })
}

const REFUSED = 'left out, since the provider refuses it'

/** Labels in the place of one image or document that the provider refuses, wherever the same one stands. */
export function planMediaRefusal(
  nodes: readonly SurfaceNode[],
  refused: ContentBlock,
  historyTool: boolean,
): Copy[] {
  const source = JSON.stringify(refused['source'])
  return nodes.flatMap((node) =>
    relabel(node, historyTool, REFUSED, (block) => JSON.stringify(block['source']) === source),
  )
}

/** Above this number of images the Messages API takes only smaller ones. */
const MANY_IMAGES = 20
/** How many are left of them, as far as the model has seen what goes: not every further image may change old messages. */
const FEWER_IMAGES = 15

export interface TooWideImages {
  /** Whether the provider takes them as long as there are few images. */
  readonly many: boolean
  isTooWide(image: ContentBlock): boolean
}

/**
 * Labels in the place of images whose sides the provider refuses: of all, or, where it takes them as long as there are few images, of the oldest. Empty when
 * no image of the surface is one.
 */
export function planTooWide(
  nodes: readonly SurfaceNode[],
  { many, isTooWide }: TooWideImages,
  historyTool: boolean,
): Copy[] {
  const images = nodes.flatMap(({ data }) => data.content.flatMap(mediaIn)).filter(isImage).length
  const unseen = firstUnseen(nodes)
  let left = 0
  return nodes.flatMap((node, index) => {
    const enough = many ? images - (index < unseen ? FEWER_IMAGES : MANY_IMAGES) : images
    return relabel(node, historyTool, REFUSED, (block) => {
      if (left >= enough || !isTooWide(block)) return false
      left++
      return true
    })
  })
}

const isImage = ({ type }: ContentBlock): boolean => type === 'image'

/** UTF-8 bytes of all images and documents of a surface that may be left out. */
export const mediaBytes = (nodes: readonly SurfaceNode[]): number =>
  planMediaRelief(nodes, { needBytes: Number.POSITIVE_INFINITY }, false).reduce(
    (sum, { target, content }) => sum + jsonBytes(target.data.content) - jsonBytes(content),
    0,
  )

const jsonBytes = (content: readonly ContentBlock[]): number => utf8Bytes(JSON.stringify(content))

function relabel(
  node: SurfaceNode,
  historyTool: boolean,
  why: string,
  leaves: (block: ContentBlock) => boolean,
): Copy[] {
  if (node.type === 'assistant/message' || isCheckpointNode(node)) return []
  let isChanged = false
  const relabelled = (block: ContentBlock): ContentBlock => {
    if (isToolResult(block) && Array.isArray(block.content))
      return { ...block, content: block.content.map(relabelled) }
    if (!isMedia(block) || !leaves(block)) return block
    isChanged = true
    const whole = readBack(wholeSeqOf(node), 'it', historyTool)
    return text(`[${mediaName(block)} of ${bytesOf(block)} bytes ${why}; ${whole}]`)
  }
  const content = node.data.content.map(relabelled)
  return isChanged ? [{ target: node, content }] : []
}

/** The event that holds the media: a copy that was cut still names the whole. */
const wholeSeqOf = (node: Copy['target']): number =>
  node.type === 'tool/result' ? (node.data.full ?? node.seq) : node.seq

/** Such as `image image/png "Logo"`. */
export function mediaName(block: ContentBlock): string {
  const { type, source, title } = block
  const mediaType =
    typeof source === 'object' && source !== null && 'media_type' in source
      ? ` ${String(source.media_type)}`
      : ''
  return `${type}${mediaType}${typeof title === 'string' ? ` ${JSON.stringify(title)}` : ''}`
}
