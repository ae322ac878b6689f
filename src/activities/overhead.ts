import type { Header } from '../shared/session/events.ts'
import { priceText, priceTools } from '../shared/tokens/price.ts'

const cache = new WeakMap<Header, number>()

/** Tokens of our counter for system and tools: part of every request, on no surface. */
export function overheadTokens(header: Header): number {
  const known = cache.get(header)
  if (known !== undefined) return known
  const tokens = priceText(header.system) + priceTools(header.tools)
  cache.set(header, tokens)
  return tokens
}
