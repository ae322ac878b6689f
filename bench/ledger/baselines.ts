import { collect } from '../../src/shared/compaction/ledger/collect.ts'
import type { Item } from '../../src/shared/compaction/ledger/types.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'
import type { Cut } from './cuts.ts'
import { textOf } from './own-recogniser.ts'

/** Plainer ways to spend the same tokens. All but the first list the ledger's own items, so that only rank and layout differ. */
export const BASELINES = ['newest raw text', 'frequency', 'recency', 'freq × recency'] as const
export type Baseline = (typeof BASELINES)[number]

/** A function from a budget to the text of a baseline. */
export function baselines(cut: Cut): Record<Baseline, (budgetTokens: number) => string> {
  const { span, tail, root, previous } = cut
  const kept = textOf(tail)
  const items = collect(span, previous, root).items.filter(({ value }) => !kept.includes(value))
  const ranked = (score: (item: Item) => number) => {
    const values = items.toSorted((a, b) => score(b) - score(a)).map(({ value }) => value)
    return (budgetTokens: number) => longestPrefix(values, budgetTokens)
  }
  const age = ({ last }: Item) => 40 / (40 + span.length - last)
  const text = textOf(span.slice(-400))
  return {
    'newest raw text': (budgetTokens) => newestText(text, budgetTokens),
    frequency: ranked(({ n }) => n),
    recency: ranked(({ last }) => last),
    'freq × recency': ranked((item) => Math.log(1 + item.n) * age(item)),
  }
}

function longestPrefix(values: readonly string[], budgetTokens: number): string {
  let fits = 0
  let tooMany = Math.min(values.length, budgetTokens) + 1
  while (fits + 1 < tooMany) {
    const taken = Math.floor((fits + tooMany) / 2)
    if (countTokens(values.slice(0, taken).join(' ')) <= budgetTokens) fits = taken
    else tooMany = taken
  }
  return values.slice(0, fits).join(' ')
}

function newestText(text: string, budgetTokens: number): string {
  let newest = text.slice(-budgetTokens * 6)
  for (;;) {
    const tokens = countTokens(newest)
    if (tokens <= budgetTokens) return newest
    newest = newest.slice(Math.max(1, Math.floor((newest.length * (tokens - budgetTokens)) / tokens)))
  }
}
