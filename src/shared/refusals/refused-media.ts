import { type MediaPlace, RefusedMediaError, type TooWide } from '../ports/model.ts'
import { errorFields } from './error-fields.ts'
import { redact } from './redact.ts'

/** `messages.3.content.1.image.source…`, `messages.2.content.0.tool_result.content.4.image…`, `messages[3].content[1].image_url`. */
const PLACE =
  /\bmessages[.[](\d+)\]?\.content[.[](\d+)\]?(?:\.(?:tool_result\.)?content[.[](\d+)\]?)?\.(?:image|document|file)/

/** What providers say of an image or a document that they cannot use. */
const WORDS =
  /could not process (?:image|pdf|document)|(?:image|pdf) (?:dimensions? )?exceeds?\b|image dimensions|(?:image|pdf|document)(?: specified)? (?:was|is) (?:not valid|invalid|too large|password protected)|invalid (?:image|base64)|unsupported image|image (?:data|format|url)\b.{0,60}\b(?:invalid|unsupported|not supported|could not)|unable to (?:process|read|download) (?:the )?(?:image|input image|file)|does not match the provided media type|media type .{0,80}appears to be/i

/** The refusal of one image or document, read from whatever a client threw; null for anything else. Samples: test/pure/refused-media.test.ts. */
export function refusedMediaOf(error: unknown): RefusedMediaError | null {
  const { status, text } = errorFields(error)
  if (status !== undefined && (status < 400 || status >= 500 || status === 429)) return null
  const place = placeIn(text)
  if (place === null && !WORDS.test(text)) return null
  return new RefusedMediaError(redact(error instanceof Error ? error.message : text), place, tooWideIn(text))
}

const TOO_WIDE = /dimensions? exceeds? max allowed size( for many-image requests)?: (\d+) pixels/i

function tooWideIn(text: string): TooWide | null {
  const [, many, pixels] = TOO_WIDE.exec(text) ?? []
  return pixels === undefined ? null : { pixels: Number(pixels), many: many !== undefined }
}

function placeIn(text: string): MediaPlace | null {
  const [, message, block, inner] = PLACE.exec(text) ?? []
  if (message === undefined || block === undefined) return null
  return {
    message: Number(message),
    block: Number(block),
    ...(inner === undefined ? {} : { inner: Number(inner) }),
  }
}
