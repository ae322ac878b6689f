import { KEY_PART_PATTERN } from '../limits.ts'
import { asUserBlock, type ContentBlock, isText, text } from './content.ts'
import { hash53 } from './keys.ts'
import { INTERRUPTED_RESULT } from './repair.ts'
import { isOurs, type ToolAnswer, type ToolCall, type ToolPairing } from './tool-pairs.ts'

/** Gives each client call the id that it has in the request: its own where the API takes it and it is free, else one derived from it. */
export function wireIds({ calls }: ToolPairing): ReadonlyMap<ToolCall, string> {
  const taken = new Set(calls.filter((call) => !isOurs(call)).map(({ callId }) => callId))
  const lastNumber = new Map<string, number>()
  const ids = new Map<ToolCall, string>()
  for (const call of calls.filter(isOurs)) {
    const { callId } = call
    const plain = KEY_PART_PATTERN.test(callId) ? callId : `call_${hash53(callId).toString(36)}`
    let id = plain
    let n = lastNumber.get(plain) ?? 1
    while (taken.has(id)) id = `${plain.slice(0, 54)}_${++n}`
    lastNumber.set(plain, n)
    taken.add(id)
    ids.set(call, id)
  }
  return ids
}

/** A call as the API takes it: input an object, name and id of its alphabet, every other field untouched. */
export function wireCall(block: ContentBlock, id: string): ContentBlock {
  const { input } = block
  const name = typeof block['name'] === 'string' ? block['name'] : ''
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  const plainName = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 128) || 'unnamed'
  if (isObject && id === block['id'] && plainName === name) return block
  return {
    ...block,
    id,
    name: plainName,
    input: isObject ? input : input === undefined ? {} : { value: input },
  }
}

export interface WireResult {
  readonly result: ContentBlock
  /** Blocks of an error result that are no text, which the API takes only beside it. */
  readonly beside: readonly ContentBlock[]
}

/** The result of a call as the API takes it: never empty, an error of text alone. */
export function wireResult(id: string, answer: ToolAnswer | undefined): WireResult {
  const isError = answer?.isError ?? true
  const said = (answer?.content ?? INTERRUPTED_RESULT.content).filter((block) => !isBlank(block))
  const content = said.map(asUserBlock)
  const inside = isError ? content.filter(isText) : content
  const result = {
    ...(answer?.block ?? {}),
    type: 'tool_result',
    tool_use_id: id,
    content: inside.length > 0 ? inside : [text(isError ? '(error without a message)' : '(no output)')],
    ...(isError ? { is_error: true } : {}),
  }
  return { result, beside: isError ? content.filter((block) => !isText(block)) : [] }
}

/** A result whose call is not on the surface, as what the user says: nothing is dropped, and no result stands without its call. */
export function strayResult({ callId, name, content }: ToolAnswer): ContentBlock[] {
  const label = `[Result of a call that is no longer shown: ${name || 'tool'}, ${callId}]`
  const said = content.filter((block) => !isBlank(block))
  return [text(label), ...said.map(asUserBlock)]
}

/** Blocks that the API refuses as empty: blank text, reasoning without a signature, a compaction without content. */
export function isBlank(block: ContentBlock): boolean {
  switch (block.type) {
    case 'text':
      return typeof block['text'] !== 'string' || block['text'].trim() === ''
    case 'thinking':
      return typeof block['signature'] !== 'string' || block['signature'] === ''
    case 'redacted_thinking':
      return typeof block['data'] !== 'string' || block['data'] === ''
    case 'compaction':
      return block['content'] === null || block['content'] === undefined || block['content'] === ''
    default:
      return false
  }
}
