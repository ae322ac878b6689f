import { z } from 'zod'
import { rankItems } from './rank.ts'
import type { Item, Known, OpenError } from './types.ts'

const CARRIED_ITEMS_MAX = 800
const CARRIED_ERRORS_MAX = 20
const CARRIED_TEXTS_MAX = 40

const itemSchema = z.object({
  kind: z.enum(['link', 'path', 'directory', 'file', 'error', 'name', 'id', 'value', 'command', 'line']),
  value: z.string(),
  n: z.number(),
  /** Messages between the last mention and the checkpoint. */
  last: z.number(),
  label: z.string().optional(),
  owner: z.string().optional(),
  ownerEdited: z.boolean().optional(),
  edits: z.number().optional(),
  uncommitted: z.boolean().optional(),
  runs: z.number().optional(),
  failed: z.boolean().optional(),
})
const wordsSchema = z.object({
  text: z.string(),
  cut: z.object({ at: z.number(), tokens: z.number() }).optional(),
  note: z.enum(['answer', 'rejection']).optional(),
  seq: z.number().optional(),
})

/** What a checkpoint carries to the next one, in `compact/summary.ledger`: plain JSON, at most 800 items. */
export const ledgerStateSchema = z.object({
  v: z.literal(1),
  items: z.array(itemSchema).max(CARRIED_ITEMS_MAX),
  said: z.object({
    start: z.array(wordsSchema),
    newest: z.array(wordsSchema),
    leftOut: z.number(),
  }),
  plan: z
    .object({
      open: z.array(z.object({ text: z.string(), active: z.boolean() })),
      done: z.number(),
      lastDone: z.string().optional(),
    })
    .optional(),
  errors: z.array(z.object({ key: z.string(), command: z.string(), detail: z.string(), last: z.number() })),
  /** Successful calls with an effect that nothing else tells, oldest first. */
  done: z.array(z.object({ call: z.string(), result: z.string(), times: z.number() })).optional(),
  /** The newest assistant texts that were printed, oldest first. */
  assistantTexts: z.array(z.string()),
  /** A model's summary that this checkpoint took over because it had no model itself. */
  earlierSummary: z.string().optional(),
})

export type LedgerState = z.infer<typeof ledgerStateSchema>

/** The state after a span of `cut` messages: positions become ages, so that the next span can go on from them. */
export function toState(known: Known, cut: number): LedgerState {
  const state = {
    v: 1 as const,
    items: rankItems(known.items, cut)
      .slice(0, CARRIED_ITEMS_MAX)
      .map((item) => ({ ...item, last: cut - item.last })),
    said: {
      start: [...known.said.start],
      newest: [...known.said.newest],
      leftOut: known.said.leftOut,
    },
    plan: known.plan && { ...known.plan, open: [...known.plan.open] },
    errors: known.errors.slice(-CARRIED_ERRORS_MAX).map((error) => ({ ...error, last: cut - error.last })),
    done: known.done.length === 0 ? undefined : [...known.done],
    assistantTexts: known.assistantTexts.slice(-CARRIED_TEXTS_MAX),
    earlierSummary: known.earlierSummary,
  }
  return JSON.parse(JSON.stringify(state)) as LedgerState
}

/** Items and errors of a carried state, with ages turned into positions before the new span. */
export function fromState(state: LedgerState | undefined): { items: Item[]; errors: OpenError[] } {
  return {
    items: (state?.items ?? []).map((item) => ({ ...item, last: -item.last })),
    errors: (state?.errors ?? []).map((error) => ({ ...error, last: -error.last })),
  }
}
