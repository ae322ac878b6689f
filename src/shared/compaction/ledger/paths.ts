import { DRIVE, LETTER, UNSPACED, WIDE } from './characters.ts'
import { baseName, EXTENSION, isFileName } from './file-names.ts'

export const PATH_MAX_CHARS = 250
/** Shorter ones are options of a program (`/c`) or flags of a pattern (`/g`). */
const DIRECTORY_MIN_CHARS = 4
const EVERYWHERE = /^\/(?:dev|bin|proc|usr\/bin)(?:\/|$)/

/** The first slash of a path and all behind it; `BEFORE_SLASH` is what stands in front of that slash. */
export const FROM_SLASH = new RegExp(`/[${LETTER}@.+[\\]/-]*`, 'g')
export const BEFORE_SLASH = new RegExp(
  `(?<=((?:(?<![A-Za-z])${DRIVE}:|~)?[${LETTER}@.+[\\]-]{0,${PATH_MAX_CHARS}}))`,
  'y',
)

const PART = `(?:[${LETTER}@.+-]|\\[[\\w.]+\\])+`
const PATH_IN_BRACKETS = new RegExp(`(?:${DRIVE}:/|~/|\\.{1,2}/|/)?(?:${PART}/)*${PART}/?`, 'g')
const HAS_LETTER = new RegExp(`[A-Za-z${WIDE}]`)
const HAS_WIDE = new RegExp(`[${WIDE}]`)
/** A known ending directly followed by a script without blanks ends the file name. */
const GLUED_AFTER = new RegExp(`(?<=\\.(?:${EXTENSION}))(?=[${UNSPACED}])`)
const GLUED_BEFORE = new RegExp(`^[${UNSPACED}]+(?=[\\w~.@])`)

export interface FoundPath {
  readonly kind: 'path' | 'directory'
  readonly value: string
}

export interface PathContext {
  /** Normalised, with a slash at the end; empty: paths stay as they are. */
  readonly root: string
  /** Text of a person or a model, where words of a script without blanks may touch a path. */
  readonly prose: boolean
  /** Whether this path is known already, which settles such a case. */
  readonly known: (path: string) => boolean
}

/** The root for `PathContext` from a working directory such as `/repo`, `C:\repo` or nothing. */
export function pathRoot(workingDirectory: string | undefined): string {
  if (!workingDirectory) return ''
  const root = workingDirectory.replaceAll('\\', '/').replace(/\/+$/, '')
  return root === '' ? '' : `${root}/`
}

/** The paths in one run of path characters; `before` is the character in front of it. */
export function pathsInToken(token: string, before: string, context: PathContext): FoundPath[] {
  if (token.length > PATH_MAX_CHARS || /[~$}]/.test(before)) return []
  const pieces = /[[\]]/.test(token) ? (token.match(PATH_IN_BRACKETS) ?? []) : [token]
  const found: FoundPath[] = []
  for (const piece of pieces) {
    if (!piece.includes('/')) continue
    const tag = before === '<' && piece.startsWith('/')
    if (tag) continue
    const parts = HAS_WIDE.test(piece) ? unglue(piece, context) : [piece]
    for (const part of parts) {
      const path = toPath(part, context.root)
      if (path) found.push(path)
    }
  }
  return found
}

function unglue(piece: string, { root, prose, known }: PathContext): string[] {
  return piece.split(GLUED_AFTER).map((part, index) => {
    if (index === 0 && (!prose || known(relativeTo(root, part)))) return part
    return part.replace(GLUED_BEFORE, '')
  })
}

function toPath(raw: string, root: string): FoundPath | undefined {
  const value = relativeTo(root, raw.replace(/(?<!\/\.?)[.@+-]+$/, ''))
  if (value.includes('//') || !HAS_LETTER.test(value)) return undefined
  if (isFileName(baseName(value))) return { kind: 'path', value }
  const directory = value.length > 1 ? value.replace(/\/$/, '') : value
  return isDirectory(value, raw) ? { kind: 'directory', value: directory } : undefined
}

/** Two slashes or a sign that no prose has (`/x`, `~`, `.`, `@`, `_`, `-`); not `map/2`, `Read/Write`, or `12/05/2024`. */
function isDirectory(value: string, raw: string): boolean {
  if (/^[\w.]+\/\d[\d-]*$/.test(value) || EVERYWHERE.test(value)) return false
  if (/^[A-Z][a-z]+(?:\/[A-Z][a-z]+)+$/.test(value)) return false
  if (value.length < DIRECTORY_MIN_CHARS) return false
  const slashes = value.split('/').length - 1
  return slashes >= 2 || /^[/~.@]/.test(raw) || /[_.-]/.test(value)
}

/** Takes `./` and the working directory away. */
function relativeTo(root: string, path: string): string {
  if (root !== '' && path.startsWith(root)) return path.slice(root.length)
  const sameDrive = /^[A-Za-z]:/.test(root) && path.toLowerCase().startsWith(root.toLowerCase())
  if (sameDrive) return path.slice(root.length)
  return path.replace(/^(?:\.\/)+/, '')
}

/** The path that a tool names as its target, taken whole, also with blanks in it; nothing when it cannot be one. */
export function targetPath(value: string, root: string): string | undefined {
  const path = relativeTo(root, value.trim().replaceAll('\\', '/'))
  if (path === '' || path.length > PATH_MAX_CHARS || /[\n\r"*?<>|]/.test(path) || path.endsWith('/'))
    return undefined
  return path
}
