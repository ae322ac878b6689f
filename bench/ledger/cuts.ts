import { buildLedger } from '../../src/shared/compaction/ledger/build-ledger.ts'
import type { LedgerState } from '../../src/shared/compaction/ledger/state.ts'
import type { LedgerMessage } from '../../src/shared/compaction/ledger/types.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import { listsOnly } from './measured-budget.ts'
import { blocksOf, type Items, itemsOf, textOf } from './own-recogniser.ts'
import { type Session, sum } from './sessions.ts'

/** One place where a session is compacted: what goes, what stays, and what the agent used afterwards. */
export interface Cut {
  readonly session: string
  readonly root: string
  /** What the checkpoint replaces. */
  readonly span: readonly LedgerMessage[]
  readonly spanTokens: number
  /** What an earlier compaction of the session left behind, if there was one. */
  readonly previous?: LedgerState | undefined
  /** What stays. */
  readonly tail: readonly LedgerMessage[]
  /** Items that the agent used later and that the span, or what lies before it, held and the tail does not. */
  readonly wanted: Items
  /** Of these: used before a tool result or the user brought them back. */
  readonly unaided: Items
  /** What the real agent wrote at this place. */
  readonly summary?: string
}

const TAIL_TOKENS = 4_000
/** With fewer, one item is worth 5 points and more. */
export const WANTED_MIN = 20

/** Where the real agents compacted; a second one starts from the ledger of the first. */
export function realCuts(session: Session): Cut[] {
  let previous: LedgerState | undefined
  let from = 0
  return session.compactions.map(({ at, spanEnd, summary }) => {
    const cut = makeCut(session, { from, spanEnd, tailEnd: at, previous, summary })
    const { span, tail, root } = cut
    const budget = listsOnly(2_000)
    previous = buildLedger({ span, tail, budget, count: countTokens, workingDirectory: root, previous }).state
    from = spanEnd
    return cut
  })
}

/** Cuts every 10,000 tokens of a session, from 130,000 on every 40,000, with a tail of 4,000 tokens. */
export function syntheticCuts(session: Session, from: number, to = Number.POSITIVE_INFINITY): Cut[] {
  const cuts: Cut[] = []
  let tokens = 0
  let next = from
  for (const [position, size] of session.tokens.entries()) {
    tokens += size
    if (tokens >= to) break
    if (tokens < next) continue
    next = tokens + (tokens < 130_000 ? 10_000 : 40_000)
    const spanEnd = position + 1
    const cut = makeCut(session, { from: 0, spanEnd, tailEnd: tailEnd(session, spanEnd) })
    if (cut.wanted.size >= WANTED_MIN) cuts.push(cut)
  }
  return cuts
}

function tailEnd({ tokens }: Session, spanEnd: number): number {
  let end = spanEnd
  for (let kept = 0; end < tokens.length && kept < TAIL_TOKENS; end++) kept += tokens[end] ?? 0
  return end
}

interface Place {
  readonly from: number
  readonly spanEnd: number
  readonly tailEnd: number
  readonly previous?: LedgerState | undefined
  readonly summary?: string
}

export function makeCut(session: Session, { from, spanEnd, tailEnd: end, previous, summary }: Place): Cut {
  const { name, root, messages } = session
  const tail = messages.slice(spanEnd, end)
  const kept = textOf(tail)
  const held = itemsInMessages(messages.slice(0, spanEnd), root)
  const wanted: Items = new Set()
  const unaided: Items = new Set()
  const brought: Items = new Set()
  for (const block of messages.slice(end).flatMap(blocksOf)) {
    for (const item of itemsOf(block, root)) {
      if (block.by !== 'agent') brought.add(item)
      else if (held.has(item) && !kept.includes(item.slice(item.indexOf(' ') + 1))) {
        if (!wanted.has(item) && !brought.has(item)) unaided.add(item)
        wanted.add(item)
      }
    }
  }
  return {
    session: name,
    root,
    span: messages.slice(from, spanEnd),
    spanTokens: sum(session.tokens.slice(0, spanEnd)),
    previous,
    tail,
    wanted,
    unaided,
    ...(summary === undefined ? {} : { summary }),
  }
}

function itemsInMessages(messages: readonly LedgerMessage[], root: string): Items {
  const items: Items = new Set()
  for (const block of messages.flatMap(blocksOf)) for (const item of itemsOf(block, root)) items.add(item)
  return items
}
