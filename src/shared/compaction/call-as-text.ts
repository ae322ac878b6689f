import { CALL_JSON, CALL_TAGS } from './call-markup.ts'

/**
 * The beginning of a call that a reply writes as text, or undefined: markup of a call, or the placeholder that stands for an old result. What stands in code
 * (fenced, indented, inline) or in a quote is shown to somebody, and so are JSON amid a sentence and a placeholder amid other lines.
 */
export function callAsText(text: string): string | undefined {
  const said = outsideBlocks(text).replace(CODE_SPAN, '`…`')
  const starts = CALL_MARKUP.flatMap((pattern) => pattern.exec(said)?.index ?? [])
  if (starts.length > 0) return said.slice(Math.min(...starts)).trim()
  const lines = said.split('\n').filter((line) => line.trim() !== '')
  return [lines[0], lines.at(-1)].find((line) => line?.trimStart().startsWith(PLACEHOLDER))?.trim()
}

const PLACEHOLDER = '[Previous: used '

const CALL_MARKUP = [
  ...CALL_TAGS,
  ...CALL_JSON.map(({ source }) => new RegExp(`^[ \\t]*(?:[\\[{"].*)?${source}`, 'm')),
]

/** Inline code on one line, or over two. A mere mention of three backticks, which CommonMark pairs with the next one, is none. */
const CODE_SPAN = /(?<!`)(?:(`+)(?!`)[^\n]*?(?<!`)\1(?!`)|(`{1,2})(?!`)[^\n]+\n[^\n]+?(?<!`)\2(?!`))/g

/** The beginning of a code block, also in a list. */
const FENCE = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}(?!.*`)|~{3,})/
/** One that models put behind the text of a line. */
const FENCE_BEHIND = /^(?! {0,3}>)(?!.*```[^`].*```).*(?<!`)(`{3,})[\w-]*$/
const QUOTE = /^ {0,3}>/
const INDENTED = /^(?: {4}| {0,3}\t)/

/** The text with blank lines in the place of code blocks and quotes, as CommonMark has them. */
function outsideBlocks(text: string): string {
  const lines = text.split('\n')
  const lastFence = lines.findLastIndex((line) => line.trimStart().startsWith('```'))
  let end: RegExp | undefined
  let isBroken = true
  return lines
    .map((line, index) => {
      if (end !== undefined) {
        if (end.test(line)) end = undefined
        return ''
      }
      const fence = FENCE.exec(line)?.[1]
      const behind = index < lastFence ? FENCE_BEHIND.exec(line)?.[1] : undefined
      if (fence !== undefined) end = new RegExp(`^\\s*${fence}${fence[0]}*\\s*$`)
      else if (behind !== undefined) end = new RegExp(`^\\s*${behind}`)
      // Behind a line of a paragraph an indented one goes on with it.
      const isSaid = fence === undefined && !QUOTE.test(line) && !(isBroken && INDENTED.test(line))
      isBroken = !isSaid || line.trim() === ''
      return isSaid ? line : ''
    })
    .join('\n')
}
