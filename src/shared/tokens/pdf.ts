import { decodeBase64, decodedLength } from './base64.ts'

/** The API refuses PDFs of more pages. */
const MAX_PAGES = 600
/** Pages of a document that is only referred to, and so cannot be looked at. */
const UNKNOWN_PAGES = 10
/** Bytes of one page, where nothing in the file tells the number of pages. */
const PAGE_BYTES = 50_000
/** Characters of base64 that are searched at each end of the file; a multiple of four. */
const SEARCHED_CHARS = 1 << 19
/** The model sees a page as a picture: 33 × 47 patches for A4, and 1,575 to 1,600 tokens in measurements … */
const PICTURE_TOKENS = 1600
/** … and as text: about a token for two bytes of compressed page. Anthropic puts the whole page at 3,000 at most. */
const TOKENS_PER_BYTE = 1 / 2
const MAX_TEXT_TOKENS = 1400

/** The price of a PDF behind a URL or a file id: ten full pages. Usage corrects it after the first request. */
export const unknownPdfTokens = UNKNOWN_PAGES * (PICTURE_TOKENS + MAX_TEXT_TOKENS)

/**
 * Tokens of a PDF in base64: for each page 1,600 for its picture and, for its text, half of the page's bytes, at most
 * 1,400. Measured pages cost 1,600 (scanned) to 2,500 (text, tables); a scanned page is overrated, since its bytes are
 * no text. Looks at the first and last 384 KB of the file only.
 */
export function pdfTokens(base64: string): number {
  const bytes = decodedLength(base64)
  const pages = Math.max(1, Math.min(MAX_PAGES, pageCount(base64, bytes)))
  return pages * (PICTURE_TOKENS + Math.min(MAX_TEXT_TOKENS, Math.ceil((bytes / pages) * TOKENS_PER_BYTE)))
}

/** What a page tree or a linearization header states; else the page objects or their streams; else by size. */
function pageCount(base64: string, bytes: number): number {
  const tail = Math.max(SEARCHED_CHARS, (base64.length - SEARCHED_CHARS) & ~3)
  const text = decodeLatin1(base64, 0, SEARCHED_CHARS) + decodeLatin1(base64, tail, base64.length)
  const stated = statedPages(text)
  if (stated > 0) return stated
  const found = Math.max(pageObjects(text), contentStreams(text))
  return Math.ceil(found > 0 ? (found * bytes) / text.length : bytes / PAGE_BYTES)
}

function statedPages(text: string): number {
  let pages = 0
  for (const dictionary of text.split('>>')) {
    const stated = /\/Type\s*\/Pages\b/.test(dictionary)
      ? /\/Count\s+(\d{1,6})/.exec(dictionary)
      : /\/Linearized\b/.test(dictionary) && /\/N\s+(\d{1,6})/.exec(dictionary)
    if (stated) pages = Math.max(pages, Number(stated[1]))
  }
  return pages
}

const pageObjects = (text: string): number => text.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0

/** Page objects may be compressed, their content streams never are; these have a length, and nothing that other streams have. */
function contentStreams(text: string): number {
  const streams = text.match(/<<[^<>]*>>\s*stream\b/g) ?? []
  return streams.filter((stream) => !/\/(?:Type|Subtype|Length1|FunctionType|N)\b/.test(stream)).length
}

function decodeLatin1(base64: string, from: number, to: number): string {
  const bytes = new Uint8Array(SEARCHED_CHARS)
  const length = decodeBase64(base64, from, Math.min(to, base64.length), bytes, 0)
  let text = ''
  for (let at = 0; at < length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, Math.min(at + 8192, length)))
  }
  return text
}
