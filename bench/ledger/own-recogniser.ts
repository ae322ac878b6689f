import type { LedgerBlock, LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'

/**
 * Finds what a later message may refer to. Written apart from the ledger's own recognisers: it splits text into words
 * and looks at each word, shares no pattern with them, and so disagrees with them in detail.
 */

/** `kind value` of everything that one text holds; kinds are path, directory, name, command, link, id, error, value. */
export type Items = Set<string>

export interface Block {
  readonly by: 'user' | 'agent' | 'world'
  readonly text: string
  readonly commands: readonly string[]
}

/** The readable text of a message's blocks, and who wrote each: tool results and injected text are the world's. */
export function blocksOf(message: LedgerMessage): Block[] {
  return message.blocks.map((block) => {
    const fields = block as LedgerBlock & Record<string, unknown>
    if (block.type === 'tool_use') {
      const strings = stringsIn(fields['input'])
      return { by: 'agent', text: strings.join('\n'), commands: commandStrings(fields['input']) }
    }
    if (block.type === 'tool_result')
      return { by: 'world', text: stringsIn(fields['content']).join('\n'), commands: [] }
    const text = block.type === 'text' ? String(fields['text']) : ''
    const by = message.role === 'assistant' ? 'agent' : message.source === 'context' ? 'world' : 'user'
    return { by, text, commands: [] }
  })
}

/** The text of messages as a model reads it, thinking left out. */
export function textOf(messages: readonly LedgerMessage[]): string {
  return messages.flatMap((message) => blocksOf(message).map(({ text }) => text)).join('\n')
}

function stringsIn(value: unknown, key = ''): string[] {
  if (typeof value === 'string') return ['type', 'data', 'media_type', 'id'].includes(key) ? [] : [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([inner, entry]) => stringsIn(entry, inner))
}

function commandStrings(input: unknown): string[] {
  const fields = typeof input === 'object' && input !== null ? Object.entries(input) : []
  return fields
    .filter(([key, value]) => /^(?:command|cmd)$/.test(key) && typeof value === 'string')
    .map(([, v]) => String(v))
}

const WORD_BREAK = /[\s"'`<>(){}[\],;|=*…→“”‘’]+/
const FILE =
  /^[\p{L}\p{N}_][\p{L}\p{N}_.+-]*\.(?:[cm]?[jt]sx?|py|exs?|heex|rb|go|rs|java|kt|cs|cpp|hpp|php|swift|sh|sql|css|scss|html?|json[lc]?|ya?ml|toml|ini|cfg|conf|lock|md|rst|txt|csv|png|svg|xml|ps1|bat|log|env)$/u
/** Keys and other encoded data: forty characters and more without a dot, digits between letters of both cases. */
const ENCODED = /^(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=(?:[^.\d]*\d+[A-Za-z+/]){3})[\w+/=-]{40,}$/
const ENDING = /\.[a-z][a-z0-9]{0,7}$/i

/** Everything that one block holds. `root`: paths below it count as relative. */
export function itemsOf({ text, commands }: Block, root: string): Items {
  const items: Items = new Set()
  for (const raw of text.replaceAll('\\\\', '/').replaceAll('\\', '/').split(WORD_BREAK)) {
    const word = raw.replace(/^[:!?&~-]+(?=[\p{L}\p{N}_#$@])|[.:!?&~/-]+$/gu, '')
    if (word.length >= 3 && word.length <= 200 && !ENCODED.test(word)) addWord(items, word, root)
  }
  for (const command of commands) for (const head of heads(command)) items.add(`command ${head}`)
  return items
}

function addWord(items: Items, word: string, root: string): void {
  if (/^https?:\/\/./.test(word)) {
    items.add(`link ${word}`)
    return
  }
  const place = word.replace(/:\d+(?::\d+)?$/, '')
  if (place.includes('/')) {
    const path = place.startsWith(root) ? place.slice(root.length) : place.replace(/^\.\//, '')
    if (!/^[\p{L}\p{N}_./~@:+-]*[\p{L}_][\p{L}\p{N}_./~@:+-]*$/u.test(path) || path.includes('//')) return
    if (ENDING.test(path)) items.add(`path ${path}`)
    else if (path.split('/').length > 2 && !/^\/(?:dev|proc|bin|usr)\//.test(path))
      items.add(`directory ${path}`)
    return
  }
  if (FILE.test(place)) {
    items.add(`path ${place}`)
    return
  }
  for (const part of word.split(/[^\w$#-]+/)) addPart(items, part)
  if (/^(?:v?\d+\.\d+\.\d+|localhost:\d+|\d{4}-\d\d-\d\d)$/.test(word)) items.add(`value ${word}`)
}

function addPart(items: Items, part: string): void {
  if (/^[A-Z]\w+(?:Error|Exception)$/.test(part) || /^E(?:NOENT|ACCES|EXIST|CONN\w+|PIPE|PERM)$/.test(part)) {
    items.add(`error ${part}`)
  } else if (/^#\d{1,6}$/.test(part) || /^[A-Z]{2,8}-\d{2,6}$/.test(part)) items.add(`id ${part}`)
  else if (/^[0-9a-f]{7,40}$/.test(part) && /\d/.test(part) && /[a-f]/.test(part)) items.add(`id ${part}`)
  else if (/^\d{4,8}$/.test(part)) {
    if (!/^(?:19|20)\d\d$|^\d0+$/.test(part)) items.add(`value ${part}`)
  } else if (part.length >= 6 && part.length < 60 && isName(part)) items.add(`name ${part.replace(/^#/, '')}`)
}

function isName(part: string): boolean {
  if (!/^#?[A-Za-z_$][\w$-]*$/.test(part)) return false
  const humps = /^[_$]*[a-z]+[a-z0-9]*[A-Z]/.test(part) || /^[A-Z][a-z0-9]+[A-Z]\w*[a-z]/.test(part)
  const parts = part.split('-')
  if (parts.length > 1) return parts.length > 2 && parts.every((each) => /^[a-z0-9]+$/.test(each))
  return humps || /[A-Za-z0-9]_[A-Za-z0-9]/.test(part)
}

const KNOWN =
  /^(?:ls|cat|cd|grep|rg|sed|find|git|echo|head|tail|mkdir|rm|cp|mv|pwd|wc|sort|awk|for|do|done|while|if|then|else|fi|test|true|sleep|export|which|printf|touch|chmod|xargs|tee|diff|uniq|cut|tr|kill|ps)$/

function heads(command: string): string[] {
  return command
    .replace(/<<-?\s*['"]?(\w+)['"]?[\s\S]*?\n\s*\1\s*(?=\n|$)/g, '')
    .split(/&&|\|\||[;|\n]/)
    .map((part) => part.trim().split(/\s+/))
    .filter(
      ([program = '', sub = '']) =>
        /^[\w./-]+$/.test(program) && !KNOWN.test(program) && /^[a-z][\w:-]*$/.test(sub),
    )
    .map(([program, sub]) => `${program} ${sub}`)
}
