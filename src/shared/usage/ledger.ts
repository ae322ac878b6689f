import { z } from 'zod'
import { type NewEvent, type Usage, usageSchema } from '../session/events.ts'
import { isLostCallKey } from '../session/keys.ts'
import { LONG_PROMPTS, promptClass } from './prompt-class.ts'

/**
 * What a paid call was for: `turn`, a reply that stands in the log; `summary`, an accepted answer of a compaction; `retry`, the accepted answer to a
 * corrective request; `discarded`, a call whose answer stands nowhere: refused by the gate, failed or cancelled on its way, or too late.
 */
export const usagePurposeSchema = z.enum(['turn', 'summary', 'retry', 'discarded'])
export type UsagePurpose = z.infer<typeof usagePurposeSchema>

const count = z.int().nonnegative()

export const usageTotalSchema = z.strictObject({
  requests: count,
  /** Of these, the ones whose tokens nobody told. */
  unknownRequests: count,
  ...usageSchema.shape,
})
export type UsageTotal = z.infer<typeof usageTotalSchema>

export const usageLineSchema = z.strictObject({
  purpose: usagePurposeSchema,
  provider: z.string(),
  model: z.string(),
  /** The prompts (input and cache) of these requests had more tokens than this, and not more than the next limit. */
  promptAbove: z.literal([0, ...LONG_PROMPTS]),
  ...usageTotalSchema.shape,
})
export type UsageLine = z.infer<typeof usageLineSchema>

/** Every paid call of a log or of one attempt, summed, in a fixed order. */
export type UsageLedger = readonly UsageLine[]

export interface UsedCall {
  readonly purpose: UsagePurpose
  readonly provider: string
  readonly model: string
  /** Null: nobody told. */
  readonly usage: Usage | null
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
export const NO_TOTAL: UsageTotal = { requests: 0, unknownRequests: 0, ...NO_USAGE }

/** More models than anybody uses: a provider that names each reply's model anew must not make the session's row grow for ever. */
const MAX_LINES = 100
const OTHER_MODEL = 'other'

/** The call that an event is the record of, or null. */
export function usedCall(event: NewEvent): UsedCall | null {
  switch (event.type) {
    case 'assistant/message': {
      const { provider, model, usage, interrupted } = event.data
      // One of no turn came with an imported conversation, and this session did not pay for it; the call of one that was interrupted counts itself.
      if (usage === null && (event.turn === null || interrupted === true)) return null
      return { purpose: 'turn', provider, model, usage }
    }
    case 'assistant/lost': {
      const { provider, model, usage } = event.data
      return { purpose: 'discarded', provider, model, usage: usage ?? null }
    }
    case 'compact/call': {
      const { provider, model, usage, purpose, accepted } = event.data
      const kept = accepted && !isLostCallKey(event.key)
      return {
        purpose: kept ? (purpose === 'retry' ? 'retry' : 'summary') : 'discarded',
        provider,
        model,
        usage: usage ?? null,
      }
    }
    default:
      return null
  }
}

/** The ledger after one more event. Cost: O(lines), which are few. */
export function withEvent(ledger: UsageLedger, event: NewEvent): UsageLedger {
  const call = usedCall(event)
  return call === null ? ledger : withCall(ledger, call)
}

function withCall(ledger: UsageLedger, call: UsedCall): UsageLedger {
  const line = lineOf(call)
  const at = ledger.findIndex((other) => nameOf(other) === nameOf(line))
  const found = ledger[at]
  if (found !== undefined) return ledger.with(at, { ...found, ...addTotals(found, line) })
  if (ledger.length >= MAX_LINES && call.model !== OTHER_MODEL)
    return withCall(ledger, { ...call, model: OTHER_MODEL })
  return [...ledger, line].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}

function lineOf({ purpose, provider, model, usage }: UsedCall): UsageLine {
  return {
    purpose,
    provider,
    model,
    promptAbove: promptClass(usage ?? NO_USAGE),
    requests: 1,
    unknownRequests: usage === null ? 1 : 0,
    ...(usage ?? NO_USAGE),
  }
}

const nameOf = ({ provider, model, purpose, promptAbove }: UsageLine): string =>
  `${provider}/${model} ${purpose} ${promptAbove}`

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  }
}

/** The counts of two lines or totals, and nothing else of them. */
export function addTotals(a: UsageTotal, b: UsageTotal): UsageTotal {
  return {
    requests: a.requests + b.requests,
    unknownRequests: a.unknownRequests + b.unknownRequests,
    ...addUsage(a, b),
  }
}

/** Every paid call of a log. */
export const ledgerOf = (events: Iterable<NewEvent>): UsageLedger =>
  [...events].reduce(withEvent, [] as UsageLedger)

export const totalOf = (ledger: UsageLedger): UsageTotal => ledger.reduce(addTotals, NO_TOTAL)
