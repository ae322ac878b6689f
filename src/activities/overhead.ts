import type { Header } from '../shared/session/events.ts'
import { priceText, priceTools } from '../shared/tokens/price.ts'

interface Overhead {
  readonly systemTokens: number
  readonly toolsTokens: number
}

const cache = new WeakMap<Header, Overhead>()

/** Tokens of our counter for system and tools: part of every request, on no surface. */
export function overheadOf(header: Header): Overhead {
  const known = cache.get(header)
  if (known !== undefined) return known
  const overhead = { systemTokens: priceText(header.system), toolsTokens: priceTools(header.tools) }
  cache.set(header, overhead)
  return overhead
}

export function overheadTokens(header: Header): number {
  const { systemTokens, toolsTokens } = overheadOf(header)
  return systemTokens + toolsTokens
}
