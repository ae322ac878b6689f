const LONE_SURROGATE = /\p{Surrogate}/gu

/** The JSON value, a text as a rule, with every lone surrogate in its strings replaced by U+FFFD: providers and stores refuse ill-formed Unicode. */
export function wellFormed<T>(value: T): T {
  return mended(value) as T
}

function mended(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(LONE_SURROGATE, '\ufffd')
  if (Array.isArray(value)) return value.map(mended)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [mended(key), mended(part)]))
}

/** The first `length` UTF-16 units of a text, one less when that would split a surrogate pair. */
export const headOf = (value: string, length: number): string =>
  value.slice(0, length).replace(/[\ud800-\udbff]$/, '')

/** The last `length` UTF-16 units of a text, one less when that would split a surrogate pair. */
export const tailOf = (value: string, length: number): string =>
  length <= 0 ? '' : value.slice(-length).replace(/^[\udc00-\udfff]/, '')
