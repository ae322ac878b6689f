import type { SurfaceMeasure } from '../ports/store.ts'
import type { Reading } from '../protocol.ts'
import type { Header } from '../session/events.ts'
import { breakerHolds } from './breaker.ts'
import { contextTokens, type MeterState, ratioOf } from './meter.ts'

export interface ReadingInput {
  /** Places and prices are enough. */
  readonly snapshot: SurfaceMeasure
  readonly header: Header
  /** Price of system and tools. */
  readonly overheadTokens: number
  readonly meter: MeterState
  /** The policy's `compactionBudget` is used up. Default false. */
  readonly budgetSpent?: boolean
  /** Price of input that is not on the surface yet. Default 0. */
  readonly pendingTokens?: number
  /** Number of the session's replies so far, for the breaker; left out between turns. */
  readonly step?: number
  readonly nowMs: number
}

/** What the next request would take of the window, and whether that must start a compaction. Linear in the number of nodes. */
export function takeReading(input: ReadingInput): Reading {
  const {
    snapshot,
    header,
    overheadTokens,
    meter,
    budgetSpent = false,
    pendingTokens = 0,
    step,
    nowMs,
  } = input
  const { head, generation, nodes } = snapshot
  const modelKey = modelKeyOf(header)
  const tokens = contextTokens({ nodes, generation, overheadTokens, meter, modelKey, pendingTokens })
  const limit = header.policy.pressureTokens
  const reading = { headSeq: head, generation, tokens, limit, ...whyOff(header, budgetSpent) }
  if (limit === null || tokens < limit) return { ...reading, pressure: 'none' }
  if (ratioOf(meter, modelKey) * overheadTokens >= limit) return { ...reading, pressure: 'overhead' }
  if (budgetSpent) return { ...reading, pressure: 'held' }
  const holds = breakerHolds(meter.breaker, {
    settings: header.policy.breaker,
    nowMs,
    ...(step === undefined ? {} : { stepIndex: step }),
    surfaceTokens: nodes.reduce((sum, node) => sum + node.tokens, 0),
  })
  return { ...reading, pressure: holds ? 'held' : 'over' }
}

/** Only where the policy compacts by itself: one that says otherwise needs no reason. */
function whyOff({ policy, model }: Header, budgetSpent: boolean): Pick<Reading, 'off'> {
  const isUnknown =
    policy.auto && model !== null && policy.contextWindow === null && policy.pressureTokens === null
  if (isUnknown) return { off: 'window-unknown' }
  return budgetSpent ? { off: 'budget-spent' } : {}
}

/** `provider/model` of a header, the key of the meter's ratios. */
export const modelKeyOf = ({ provider, model }: Pick<Header, 'provider' | 'model'>): string =>
  `${provider ?? ''}/${model ?? ''}`
