import {
  isMedia,
  mediaBytes,
  mediaIn,
  planMediaRefusal,
  planMediaRelief,
  planTooWide,
} from '../shared/compaction/media.ts'
import { type Copy, shadowEvents } from '../shared/compaction/prune.ts'
import {
  ContextOverflowError,
  type MediaPlace,
  type ModelRequest,
  RefusedMediaError,
} from '../shared/ports/model.ts'
import type { Actor, SurfaceSnapshot } from '../shared/ports/store.ts'
import { offersHistory } from '../shared/recall/history-tool.ts'
import { type ContentBlock, isToolResult } from '../shared/session/content.ts'
import type { SurfaceNode } from '../shared/session/events.ts'
import { imageSize } from '../shared/tokens/image-size.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { ActivityDeps } from './deps.ts'
import type { MicroPlace } from './micro-pass.ts'
import { asOwner } from './owner.ts'
import { replanned } from './replanned.ts'
import { loadSession } from './session-view.ts'

/** Requests of one activity that may be refused for their images and documents, each of which costs nothing. */
export const MOST_MEDIA_PASSES = 12

type MediaPlan = (nodes: readonly SurfaceNode[], historyTool: boolean) => Copy[]

/** Puts labels in the place of images and documents. Returns the surface that the request is made of, as it was when nothing was to be done. */
export async function mediaPass(
  deps: ActivityDeps,
  { sessionId, turn, step }: MicroPlace,
  actor: Actor,
  plan: MediaPlan,
): Promise<SurfaceSnapshot> {
  const { header } = await loadSession(deps, sessionId)
  return replanned(async () => {
    const surface = await deps.store.surface(sessionId)
    const copies = plan(surface.nodes, offersHistory(header))
    if (copies.length === 0) return surface
    const events = copies.flatMap((copy) => shadowEvents(copy, priceContent(copy.content), { turn, step }))
    await asOwner(deps, sessionId, actor, (owner) =>
      deps.store.append({ sessionId, actor: owner, turn, events, expectedHead: surface.head }),
    )
    return deps.store.surface(sessionId)
  })
}

/** What to leave out after a refusal: the image that it names, those that are too wide like it, or half of the bytes. Null when it is about something else. */
export function mediaRemedy(error: unknown, { messages }: ModelRequest): MediaPlan | null {
  if (error instanceof RefusedMediaError) {
    const refused = blockAt(messages, error.place) ?? newestMedia(messages)
    return refused === undefined ? null : withoutRefused(refused, error)
  }
  if (!(error instanceof ContextOverflowError && error.named.tooManyBytes)) return null
  return (nodes, tool) => planMediaRelief(nodes, { needBytes: mediaBytes(nodes) / 2 }, tool)
}

/** Of images that are too wide all that must leave at once: each further request has all their bytes. */
const withoutRefused =
  (refused: ContentBlock, { tooWide }: RefusedMediaError): MediaPlan =>
  (nodes, tool) => {
    if (tooWide === null) return planMediaRefusal(nodes, refused, tool)
    const { many, pixels } = tooWide
    const wide = planTooWide(nodes, { many, isTooWide: (image) => isWider(image, pixels) }, tool)
    return wide.length > 0 ? wide : planMediaRefusal(nodes, refused, tool)
  }

function isWider({ source }: ContentBlock, pixels: number): boolean {
  const data = typeof source === 'object' && source !== null && 'data' in source ? source.data : undefined
  const size = typeof data === 'string' ? imageSize(data) : undefined
  return size !== undefined && Math.max(size.width, size.height) > pixels
}

type Messages = ModelRequest['messages']

/** Undefined when no image and no document stands there: some clients send messages of another shape than ours. */
function blockAt(messages: Messages, place: MediaPlace | null): ContentBlock | undefined {
  if (place === null) return undefined
  const block = messages[place.message]?.content[place.block]
  const inner =
    block !== undefined && isToolResult(block) && Array.isArray(block.content) ? block.content : []
  const found = place.inner === undefined ? block : inner[place.inner]
  return found !== undefined && isMedia(found) ? found : undefined
}

/** The likeliest: all before it have been accepted once. */
const newestMedia = (messages: Messages): ContentBlock | undefined =>
  messages.flatMap(({ content }) => content.flatMap(mediaIn)).at(-1)
