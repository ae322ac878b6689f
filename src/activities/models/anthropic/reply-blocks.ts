import type { ContentBlock } from '../../../shared/session/content.ts'

/** One block of a reply while it is streamed. */
export interface DraftBlock {
  readonly block: ContentBlock
  /** The input of a call, as far as it was written; undefined when none came in pieces. */
  readonly inputJson: string | undefined
  readonly open: boolean
}

export const draftBlock = (block: ContentBlock): DraftBlock => ({ block, inputJson: undefined, open: true })

/** What the block gets of each known kind of piece. Whatever else stands in one is no part of the message, and would break a signed block. */
const OWN_FIELD = new Map<unknown, string>([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'signature'],
  ['input_json_delta', 'partial_json'],
  ['citations_delta', 'citation'],
])

/**
 * The block with a piece more. Of pieces that are not known, texts and lists join those of the same name, and anything else takes their place, so that
 * blocks which are newer than this code come out whole.
 */
export function grown(
  { block, inputJson, open }: DraftBlock,
  delta: Readonly<Record<string, unknown>>,
): DraftBlock {
  const { type, ...fields } = delta
  const own = OWN_FIELD.get(type)
  const kept = Object.entries(fields).filter(([name]) => own === undefined || name === own)
  const { partial_json: json, citation, ...rest } = Object.fromEntries(kept)
  let next = block
  if (citation !== undefined) next = { ...next, citations: [...listOf(next['citations']), citation] }
  for (const [name, piece] of Object.entries(rest)) next = { ...next, [name]: joined(next[name], piece) }
  const isInput = type === 'input_json_delta' && typeof json === 'string'
  return { block: next, inputJson: isInput ? (inputJson ?? '') + json : inputJson, open }
}

function joined(before: unknown, piece: unknown): unknown {
  if (typeof before === 'string' && typeof piece === 'string') return before + piece
  if (Array.isArray(before) && Array.isArray(piece)) return [...before, ...piece]
  return piece
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The block as the message holds it; undefined when the input of its call is no whole JSON. */
export function finished({ block, inputJson }: DraftBlock): ContentBlock | undefined {
  if (inputJson === undefined || inputJson.trim() === '') return block
  try {
    return { ...block, input: JSON.parse(inputJson) }
  } catch {
    return undefined
  }
}
