import { LETTER } from './characters.ts'
import { EXTENSION, WHOLE_NAME } from './file-names.ts'

/** Patterns of the kinds that need no look at the text around them. Each loop has one class: all of them are linear. */

export const LINK = /https?:\/\/[^\s"'`<>)\]}\\|,;]+/g
export const LINK_MAX_CHARS = 200

/** The first dot of a word and all behind it; `BEFORE_DOT` is what stands in front of that dot. */
export const FROM_DOT = new RegExp(`\\.[${LETTER}.-]*`, 'g')
export const BEFORE_DOT = new RegExp(`(?<=(?<![${LETTER}@/.-])([${LETTER}][${LETTER}-]{0,99}))`, 'y')
/** The file name at the beginning of such a word. Letters of another script may touch its end. */
export const FILE_NAME = new RegExp(`^.{0,120}\\.(?:${EXTENSION})(?![\\w-])`)
export const WHOLE_FILE = new RegExp(`(?<![\\w@/.-])(?:${WHOLE_NAME})(?![\\w-])`, 'g')

/** Names of system and package manager errors: any word in capitals that begins with E would take in `EXAMPLE` too. */
const SYSTEM_ERRORS =
  'ACCES|ADDRINUSE|ADDRNOTAVAIL|AGAIN|AI_AGAIN|ALREADY|BADENGINE|BADF|BADPLATFORM|BUSY|CANCELED|CHILD|CONNABORTED|CONNREFUSED|' +
  'CONNRESET|DEADLK|DESTADDRREQ|DQUOT|EXIST|FAULT|FBIG|HOSTDOWN|HOSTUNREACH|ILSEQ|INPROGRESS|INTEGRITY|INTR|INVAL|IO|' +
  'ISCONN|ISDIR|JSONPARSE|LIFECYCLE|LOOP|MFILE|MLINK|MSGSIZE|NAMETOOLONG|NEEDAUTH|NETDOWN|NETRESET|NETUNREACH|NFILE|' +
  'NOBUFS|NODEV|NOENT|NOEXEC|NOLCK|NOMEM|NOSPC|NOSYS|NOTCACHED|NOTCONN|NOTDIR|NOTEMPTY|NOTSOCK|NOTSUP|NOTTY|NXIO|' +
  'OPNOTSUPP|OTP|OVERFLOW|PERM|PIPE|PROTO|RANGE|RESOLVE|ROFS|SOCKETTIMEDOUT|SPIPE|SRCH|STALE|TARGET|TIME|TIMEDOUT|' +
  'UNSUPPORTEDPROTOCOL|USAGE|XDEV'

export const ERROR_CODE = new RegExp(
  [
    '\\b[A-Z]\\w*(?:Error|Exception|Warning|Failure|Timeout)\\b',
    `\\bE(?:${SYSTEM_ERRORS})\\b`,
    '\\b(?:TS|CVE-|RFC ?|SC|E|W|F)\\d{3,5}(?:-\\d+)?\\b',
    '\\bSIG[A-Z]{3,5}\\b',
    '\\bHTTP[ /]\\d{3}\\b',
    '\\b(?:exit|status|return) ?code:? [1-9]\\d{0,3}\\b',
  ].join('|'),
  'g',
)

/** Words with a dash in them: `dashedKind` tells ids, names and prose apart. */
export const DASHED = /(?<!\w|\w-)[A-Za-z0-9]\w*(?:-\w+(?:\.\d{1,3}\b)*)+(?!-)/g
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TICKET = /^(?!(?:UTF|ISO|SHA|AES|MD|RSA|GPT|UTC|GMT|US|EN)-)[A-Z]{2,10}-\d{1,6}$/
const SHORT_ID = /^[a-z]\w{1,30}-(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{3,6}(?:\.\d{1,3})?$/
const KEBAB = /^[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+(?:\.\d+)*){2,}$/
const VERSIONED = /^[A-Za-z][A-Za-z0-9]*-\d+(?:\.\d+)+$/
const SHORT_KEBAB = /^[A-Za-z][A-Za-z0-9]*-[A-Za-z0-9]+$/

/** `marked`: in quotes or backticks, or a CSS selector. */
export function dashedKind(word: string, marked: boolean): 'id' | 'name' | undefined {
  if (UUID.test(word) || TICKET.test(word) || SHORT_ID.test(word)) return 'id'
  const isName = KEBAB.test(word) || VERSIONED.test(word) || (marked && SHORT_KEBAB.test(word))
  return isName && isNameLength(word) ? 'name' : undefined
}

/** Dotted words in small letters; `isHost` asks for a dash, since without one they are mostly members of objects. */
export const DOTTED = /(?<![\w@/.-])[a-z0-9-]+(?:\.[a-z0-9-]+)+(?![\w-])/g
const HOST = /^[a-z0-9][^.]*(?:\.[a-z0-9][^.]*)*\.[a-z][^.]+$/
const HOST_CHARS = 100

export function isHost(word: string): boolean {
  return word.includes('-') && word.length <= HOST_CHARS && HOST.test(word) && !/-\.|-$/.test(word)
}

/** A module where it is imported: elsewhere its dots cannot be told from those of members. */
export const IMPORTED = /(?<=\b(?:import|from|package) )[a-z_]\w{0,40}(?:\.\w{1,40})+/g

/** `#12`, and hexadecimal words, which `isHexId` looks at. */
export const NUMBER_ID = /(?<![\w&])#\d{1,6}\b/g
export const HEX_ID = /\b[0-9a-f]{7,40}\b/g

export function isHexId(word: string): boolean {
  return /\d/.test(word) && /[a-f]/.test(word)
}

export const MODULE_NAME = /\b[A-Z]\w{0,40}(?:\.[A-Z]\w{0,40})+/g
/** A word with a capital or an underscore after its first letter; `isName` decides. */
export const WORD_NAME = /(?<!\w)_{0,2}[A-Za-z][a-z0-9]*[A-Z_]\w*/g

export function isNameLength(name: string): boolean {
  return name.length >= 6 && name.length <= 59
}

/** camelCase, PascalCase with two humps, snake_case, SCREAMING_CASE. */
export function isName(word: string): boolean {
  if (!isNameLength(word)) return false
  const bare = word.replace(/^_+|_+$/g, '')
  return /[a-z0-9]_[a-z0-9]|[A-Z0-9]_[A-Z0-9]/i.test(bare) || /[a-z0-9][A-Z]|[A-Z]{2}[a-z]/.test(bare)
}
