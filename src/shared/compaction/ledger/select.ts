import { renderLists } from './layout.ts'
import type { CountTokens, Item } from './types.ts'

export interface SelectedLists {
  readonly text: string
  readonly tokens: number
  /** How many of the ranked items were taken; the text stands for exactly these. */
  readonly taken: number
}

/**
 * The longest prefix of the ranking whose rendered text fits the budget, by binary search: about 12 counts of texts of at
 * most twice the budget. One ranking over all kinds, no quotas.
 */
export function selectLists(
  ranked: readonly Item[],
  budgetTokens: number,
  count: CountTokens,
): SelectedLists {
  let best: SelectedLists = { text: '', tokens: 0, taken: 0 }
  let tooMany = Math.min(ranked.length, Math.max(0, Math.floor(budgetTokens))) + 1
  while (best.taken + 1 < tooMany) {
    const taken = Math.floor((best.taken + tooMany) / 2)
    const text = renderLists(ranked.slice(0, taken))
    const tokens = count(text)
    if (tokens <= budgetTokens) best = { text, tokens, taken }
    else tooMany = taken
  }
  return best
}
