/** Reading JSON that others wrote: nothing here throws, and every string that comes out is well-formed Unicode. */

export interface JsonObject {
  readonly [key: string]: unknown
}

/** Deeper values are refused: recursive code on them, `JSON.stringify` included, would end the process's stack. */
const MAX_DEPTH = 500

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const objectAt = (object: JsonObject, key: string): JsonObject | undefined =>
  isObject(object[key]) ? (object[key] as JsonObject) : undefined

export const stringAt = (object: JsonObject, key: string): string | undefined =>
  typeof object[key] === 'string' ? (object[key] as string) : undefined

export const listAt = (object: JsonObject, key: string): readonly unknown[] =>
  Array.isArray(object[key]) ? (object[key] as unknown[]) : []

/** A whole number that is not negative, or undefined. */
export const countAt = (object: JsonObject, key: string): number | undefined => {
  const value = object[key]
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\uFFFD')

export type Parsed = { readonly value: unknown } | { readonly problem: string }

/** Parses one JSON text, with or without a byte order mark. The problem is a sentence for a report. */
export function parseJson(text: string): Parsed {
  let value: unknown
  try {
    value = JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text)
  } catch (error) {
    return { problem: error instanceof Error ? wellFormed(error.message) : 'not JSON' }
  }
  if (isDeep(value)) return { problem: `nested deeper than ${MAX_DEPTH} levels` }
  return { value: /\p{Surrogate}|\\u[dD][89a-fA-F]/u.test(text) ? allWellFormed(value) : value }
}

function isDeep(root: unknown): boolean {
  let level = typeof root === 'object' && root !== null ? [root] : []
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true
    const next: object[] = []
    for (const node of level)
      for (const value of Object.values(node))
        if (typeof value === 'object' && value !== null) next.push(value)
    level = next
  }
  return false
}

/** Replaces lone surrogates in every string and key. The value is not deep. */
function allWellFormed(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value)
  if (Array.isArray(value)) return value.map(allWellFormed)
  if (!isObject(value)) return value
  // fromEntries, because an assignment would set the prototype when a key is `__proto__`.
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [wellFormed(key), allWellFormed(each)]),
  )
}

export type Line =
  | { readonly line: number; readonly kind: 'record'; readonly record: JsonObject }
  | { readonly line: number; readonly kind: 'broken'; readonly problem: string }
  | { readonly line: number; readonly kind: 'comment' }

/** The lines of a JSONL text that are not blank, numbered from 1. Comment lines begin with `//`. */
export function* readLines(text: string): Generator<Line> {
  let line = 0
  for (let start = 0; start <= text.length; ) {
    const found = text.indexOf('\n', start)
    const end = found === -1 ? text.length : found
    line++
    const body = text.slice(start, end).trim()
    start = end + 1
    if (body === '') continue
    if (body.startsWith('//')) {
      yield { line, kind: 'comment' }
      continue
    }
    const parsed = parseJson(body)
    if ('value' in parsed && isObject(parsed.value)) yield { line, kind: 'record', record: parsed.value }
    else yield { line, kind: 'broken', problem: brokenProblem(parsed, found === -1) }
  }
}

function brokenProblem(parsed: Parsed, atEnd: boolean): string {
  if ('value' in parsed) return 'JSON, but not an object'
  return atEnd ? `the file ends inside this line (${parsed.problem})` : parsed.problem
}
