import { renderAssistantTexts } from './assistant-text.ts'
import { collect, itemsIn } from './collect.ts'
import { renderDone } from './done-calls.ts'
import { baseName } from './file-names.ts'
import { renderProse } from './prose.ts'
import { rankItems } from './rank.ts'
import { selectLists } from './select.ts'
import { type LedgerState, toState } from './state.ts'
import type { CountTokens, Item, LedgerBudget, LedgerMessage } from './types.ts'

export interface LedgerInput {
  /** The messages that the checkpoint replaces, oldest first. */
  readonly span: readonly LedgerMessage[]
  /** The messages that stay: what stands in them word for word is left out of the lists. */
  readonly tail: readonly LedgerMessage[]
  readonly budget: LedgerBudget
  readonly count: CountTokens
  /** Paths below it are written relative to it. */
  readonly workingDirectory?: string | undefined
  /** State of the checkpoint that this span begins with. Its text is then not read again. */
  readonly previous?: LedgerState | undefined
}

/** The parts of a checkpoint that code writes. Each one is empty or a whole section, without a line end behind it. */
export interface Ledger {
  readonly userText: string
  readonly plan: string
  readonly errors: string
  readonly done: string
  readonly earlierSummary: string
  readonly assistantText: string
  readonly lists: string
  /** What the next checkpoint starts from. */
  readonly state: LedgerState
  /** Identifiers that are neither in the lists nor in the tail, the most useful first. */
  readonly unlisted: readonly Item[]
}

/** Line ends between the sections of a checkpoint. */
const JOINT_TOKENS = 6
/** Calls that were done take of the lists what they need, up to a quarter. */
const DONE_TOKENS_MAX = 300
const DONE_SHARE = 0.25

/**
 * Reads names, commands, the user's words, plan and errors out of a span and renders what fits the budget. Pure; linear in
 * the characters of span and tail, 0.1 to 0.3 s for 1 MB.
 */
export function buildLedger(input: LedgerInput): Ledger {
  const { span, tail, budget, count, workingDirectory, previous } = input
  const cut = span.length
  const known = collect(span, previous, workingDirectory)
  const prose = renderProse(known, cut, budget, count)
  const unkept = rankItems(known.items, cut).filter(notAmong(itemsIn(tail, workingDirectory)))
  const doneTokens = Math.min(DONE_TOKENS_MAX, Math.floor(budget.listTokens * DONE_SHARE))
  const done = renderDone(known.done, doneTokens, count)
  const listTokens = budget.listTokens + prose.unusedTokens - count(done) - JOINT_TOKENS
  const lists = selectLists(unkept, listTokens, count)
  const spareTokens = budget.assistantTokens === 0 ? 0 : Math.max(0, listTokens - lists.tokens)
  const assistant = renderAssistantTexts(known.assistantTexts, prose.assistant.tokens + spareTokens, count)
  const { user, plan, errors, earlierSummary } = prose
  const carried = {
    ...known,
    said: user.said,
    assistantTexts: assistant.shown,
    earlierSummary: earlierSummary === '' ? undefined : known.earlierSummary,
  }
  return {
    userText: user.text,
    plan,
    errors,
    done,
    earlierSummary,
    assistantText: assistant.text,
    lists: lists.text,
    unlisted: unkept.slice(lists.taken),
    state: toState(carried, cut),
  }
}

function notAmong(kept: readonly Item[]): (item: Item) => boolean {
  const keys = new Set(kept.map(({ kind, value }) => `${kind} ${value}`))
  for (const { kind, value } of kept) if (kind === 'path') keys.add(`file ${baseName(value)}`)
  return ({ kind, value }) => !keys.has(`${kind} ${value}`)
}
