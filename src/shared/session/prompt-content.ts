import { LIMITS } from '../limits.ts'
import { type ContentBlock, contentSchema, isText, isUserBlock, text } from './content.ts'

/** A prompt as content blocks. */
export const promptContent = (message: string | readonly ContentBlock[]): readonly ContentBlock[] =>
  typeof message === 'string' ? [text(message)] : message

/** Why a prompt cannot be accepted, in one sentence, or undefined. Used by the client and by the activities. */
export function promptProblem(message: string | readonly ContentBlock[]): string | undefined {
  const blocks = promptContent(message)
  if (!contentSchema.safeParse(blocks).success)
    return 'the content must be text or a list of content blocks, each with a type'
  if (blocks.some((block) => block.type === 'text' && !isText(block)))
    return 'a block of type text must have a text'
  const hasContent = blocks.some((block) => !isText(block) || block.text.trim() !== '')
  if (!hasContent) return 'the content is empty or blank: send text or at least one content block'
  const forbidden = blocks.find((block) => !isUserBlock(block))
  if (forbidden !== undefined)
    return `a block of type ${forbidden.type} cannot stand in a prompt: allowed are text, image, document and search_result`
  const textBytes = blocks.reduce((sum, block) => sum + (isText(block) ? utf8Bytes(block.text) : 0), 0)
  if (textBytes > LIMITS.promptTextBytes)
    return `text of ${textBytes} bytes, allowed are ${LIMITS.promptTextBytes}: put the rest in a file that a tool reads`
  const mediaBytes = blocks.reduce((sum, block) => sum + base64Bytes(block), 0)
  if (mediaBytes > LIMITS.promptMediaBytes)
    return `images of ${mediaBytes} bytes, allowed are ${LIMITS.promptMediaBytes}: send smaller ones`
  return undefined
}

/** Length in UTF-8 without encoding. */
export function utf8Bytes(value: string): number {
  let bytes = 0
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i)
    const pair = unit >= 0xd800 && unit <= 0xdbff && (value.charCodeAt(i + 1) & 0xfc00) === 0xdc00
    if (pair) i++
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : pair ? 4 : 3
  }
  return bytes
}

function base64Bytes(block: ContentBlock): number {
  const source = block['source']
  if (typeof source !== 'object' || source === null || !('data' in source) || typeof source.data !== 'string')
    return 0
  return Math.floor((source.data.length * 3) / 4)
}
