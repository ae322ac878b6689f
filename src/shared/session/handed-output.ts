import { LIMITS } from '../limits.ts'
import { asUserBlock, type ContentBlock, contentSchema, text } from './content.ts'
import { keepBytes } from './keep-bytes.ts'
import { utf8Bytes } from './prompt-content.ts'

/**
 * What is kept of the return value of an activity that is a tool's work: text, a `ToolOutput`, or else its JSON; as JSON at most `maxBytes` long, what is
 * cut is counted.
 */
export function handedOutput(
  returned: unknown,
  maxBytes: number = LIMITS.handedOutputBytes,
): { content: ContentBlock[]; isError: boolean } {
  const { content, isError } = contentOf(returned)
  let kept = keepBytes(content, maxBytes)
  // Escapes make JSON longer than its text, by how much is only known of what is kept.
  for (let most = maxBytes; jsonBytes(kept.content) > maxBytes && most > 0; ) {
    most = Math.floor((most * maxBytes) / (jsonBytes(kept.content) + 1)) - 1
    kept = keepBytes(content, Math.max(0, most))
  }
  const note = text(
    `[${kept.droppedBytes} more bytes were not kept: of the result of this tool ${maxBytes} bytes pass through the session's history]`,
  )
  return { content: kept.droppedBytes === 0 ? [...kept.content] : [...kept.content, note], isError }
}

const jsonBytes = (content: readonly ContentBlock[]): number => utf8Bytes(JSON.stringify(content))

function contentOf(returned: unknown): { content: readonly ContentBlock[]; isError: boolean } {
  if (returned === undefined || returned === null) return { content: [], isError: false }
  if (typeof returned === 'string') return { content: [text(returned)], isError: false }
  return toolOutput(returned) ?? { content: [text(JSON.stringify(returned))], isError: false }
}

/** Only what has nothing else beside `content` and `isError`: any other object with a `content` is the user's own. */
function toolOutput(returned: unknown): { content: readonly ContentBlock[]; isError: boolean } | undefined {
  if (typeof returned !== 'object' || returned === null || !('content' in returned)) return undefined
  const { content, isError = false, ...others } = returned as Record<string, unknown>
  if (Object.keys(others).length > 0 || typeof isError !== 'boolean') return undefined
  if (typeof content === 'string') return { content: [text(content)], isError }
  const blocks = contentSchema.safeParse(content)
  return blocks.success ? { content: blocks.data.map(asUserBlock), isError } : undefined
}
