import type { SurfaceNode } from '../session/events.ts'
import { unitsOf } from '../session/tool-pairing.ts'
import { firstRatio } from './meter.ts'
import type { ResolvedPolicy } from './policy-schema.ts'
import { WINDOW_RESERVE_TOKENS } from './policy-sizes.ts'

/** Smaller chunks would cost more in instructions than they carry. */
const LEAST_CHUNK_TOKENS = 1_000

/**
 * Tokens of our counter that one chunk of a span may have, so that its request and its summary fit the summarizer's window. Infinity when nobody
 * knows that window: the whole span goes in one call.
 *
 * @param overheadTokens price of system and tools, which go along
 */
export function chunkLimit(
  policy: Pick<ResolvedPolicy, 'summarizer' | 'summarizerWindow' | 'summaryMaxTokens'>,
  options: { readonly overheadTokens?: number; readonly ratio?: number } = {},
): number {
  const { summarizer, summarizerWindow, summaryMaxTokens } = policy
  if (summarizer === 'deterministic' || summarizerWindow === null) return Number.POSITIVE_INFINITY
  const ratio = options.ratio ?? firstRatio(`${summarizer.provider}/${summarizer.model}`)
  const room =
    (summarizerWindow - summaryMaxTokens - WINDOW_RESERVE_TOKENS) / ratio - (options.overheadTokens ?? 0)
  return Math.max(LEAST_CHUNK_TOKENS, Math.floor(room))
}

/**
 * Splits a span into chunks of whole units, each within `maxTokensPerChunk` unless one unit alone is larger, and of about the same size.
 *
 * @returns the last seq of each chunk, in surface order; empty for an empty span
 */
export function planChunks(nodes: readonly SurfaceNode[], maxTokensPerChunk: number): number[] {
  const units = unitsOf(nodes)
  const total = units.reduce((sum, { tokens }) => sum + tokens, 0)
  const even = total / Math.max(1, Math.ceil(total / maxTokensPerChunk))
  const ends: number[] = []
  let size = 0
  for (const [index, unit] of units.entries()) {
    size += unit.tokens
    const next = units[index + 1]
    if (next !== undefined && size < even && size + next.tokens <= maxTokensPerChunk) continue
    const last = nodes[unit.to]
    if (last !== undefined) ends.push(last.seq)
    size = 0
  }
  return ends
}
