import { z } from 'zod'
import type { ToolOutput } from '../../../shared/ports/tool.ts'
import { type ContentBlock, text } from '../../../shared/session/content.ts'

// Results of MCP tools in the vocabulary of the Messages API. What a model cannot be shown is named.

const resourceSchema = z.looseObject({
  uri: z.string(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  blob: z.string().optional(),
})
const blockSchema = z.looseObject({ type: z.string() })
/** Open: blocks of a newer protocol must not fail a call that has done its work. */
export const mcpResultSchema = z.looseObject({
  content: z.array(blockSchema).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})

const imageSchema = z.looseObject({ type: z.literal('image'), data: z.string(), mimeType: z.string() })
const audioSchema = z.looseObject({ type: z.literal('audio'), data: z.string(), mimeType: z.string() })
const embeddedSchema = z.looseObject({ type: z.literal('resource'), resource: resourceSchema })
const linkSchema = z.looseObject({
  type: z.literal('resource_link'),
  uri: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  mimeType: z.string().optional(),
})
const textSchema = z.looseObject({ type: z.literal('text'), text: z.string() })

/** `structuredContent` counts where there is nothing else: servers repeat it as text. */
export function mcpOutput({
  content = [],
  structuredContent,
  isError = false,
}: z.infer<typeof mcpResultSchema>): ToolOutput {
  const blocks = content.flatMap(blocksOf)
  if (blocks.length > 0 || structuredContent === undefined) return { content: blocks, isError }
  return { content: JSON.stringify(structuredContent), isError }
}

function blocksOf(block: z.infer<typeof blockSchema>): ContentBlock[] {
  const said = textSchema.safeParse(block)
  if (said.success) return [text(said.data.text)]
  const image = imageSchema.safeParse(block)
  if (image.success) return [mediaBlock(image.data.mimeType, image.data.data, 'an image')]
  const audio = audioSchema.safeParse(block)
  if (audio.success) return [notShown('audio', audio.data.mimeType, audio.data.data)]
  const link = linkSchema.safeParse(block)
  if (link.success) {
    const { uri, name, description, mimeType } = link.data
    return [text(`[resource ${[name, uri, mimeType, description].filter(Boolean).join(', ')}]`)]
  }
  const embedded = embeddedSchema.safeParse(block)
  if (embedded.success) return resourceBlocks(embedded.data.resource)
  return [text(JSON.stringify(block))]
}

function resourceBlocks({ uri, mimeType, ...rest }: z.infer<typeof resourceSchema>): ContentBlock[] {
  const label = `[resource ${[uri, mimeType].filter(Boolean).join(', ')}]`
  if (rest.blob !== undefined)
    return [text(label), mediaBlock(mimeType ?? 'application/octet-stream', rest.blob, 'a resource')]
  return [text(`${label}\n${rest.text ?? ''}`)]
}

const IMAGE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

function mediaBlock(mediaType: string, data: string, what: string): ContentBlock {
  const source = { type: 'base64', media_type: mediaType, data }
  if (IMAGE_TYPES.includes(mediaType)) return { type: 'image', source }
  if (mediaType === 'application/pdf') return { type: 'document', source }
  return notShown(what, mediaType, data)
}

const notShown = (what: string, mediaType: string, base64: string): ContentBlock =>
  text(`[${what} of type ${mediaType} with ${Math.floor((base64.length * 3) / 4)} bytes is not shown]`)
