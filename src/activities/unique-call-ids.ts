import { type ContentBlock, isToolUse } from '../shared/session/content.ts'
import type { SurfaceNode } from '../shared/session/events.ts'

/** The API refuses a request in which two calls have one id: a call whose id is taken gets a numbered one, before it is written. */
export function uniqueCallIds(
  content: readonly ContentBlock[],
  surface: readonly SurfaceNode[],
): readonly ContentBlock[] {
  const taken = new Set(
    surface.flatMap((node) =>
      node.type === 'assistant/message' ? node.data.content.filter(isToolUse).map((call) => call.id) : [],
    ),
  )
  return content.map((block) => {
    if (!isToolUse(block)) return block
    const id = freeId(block.id, taken)
    taken.add(id)
    return id === block.id ? block : { ...block, id }
  })
}

function freeId(id: string, taken: ReadonlySet<string>): string {
  if (!taken.has(id)) return id
  for (let n = 2; ; n++) {
    const candidate = `${id}-${n}`
    if (!taken.has(candidate)) return candidate
  }
}
