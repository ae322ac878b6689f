import type { SurfaceMeasure } from '../ports/store.ts'
import type { Header } from '../session/events.ts'
import type { MeterState } from './meter.ts'
import { takeReading } from './pressure.ts'

export interface UndoInput {
  readonly snapshot: SurfaceMeasure
  /** Seq of the checkpoint, which is on the surface. */
  readonly checkpoint: number
  /** Of the nodes that it shadows, by our counter. */
  readonly shadowedTokenCount: number
  readonly header: Header
  readonly overheadTokens: number
  readonly meter: MeterState
  readonly nowMs: number
}

export interface PlannedUndo {
  readonly tokensBefore: number
  /** Estimated: no usage was measured on the surface that returns. */
  readonly tokensAfter: number
  /** The pressure limit; without one what fits the window; null: nothing bounds it. */
  readonly limit: number | null
  /** Below the limit. */
  readonly fits: boolean
}

/** What the next request would have with the checkpoint's messages back in its place. Pure. */
export function planUndo({ snapshot, checkpoint, shadowedTokenCount, ...rest }: UndoInput): PlannedUndo {
  const { policy } = rest.header
  const restored: SurfaceMeasure = {
    head: snapshot.head + 1,
    generation: snapshot.generation + 1,
    nodes: snapshot.nodes.map((node) =>
      node.seq === checkpoint ? { ...node, tokens: shadowedTokenCount } : node,
    ),
  }
  const tokensAfter = takeReading({ ...rest, snapshot: restored }).tokens
  const { contextWindow, replyMaxTokens, pressureTokens } = policy
  const limit = pressureTokens ?? (contextWindow === null ? null : contextWindow - replyMaxTokens)
  return {
    tokensBefore: takeReading({ ...rest, snapshot }).tokens,
    tokensAfter,
    limit,
    fits: limit === null || tokensAfter < limit,
  }
}
