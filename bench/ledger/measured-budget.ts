import { listShare } from '../../src/shared/compaction/ledger/budget.ts'
import type { LedgerBudget } from '../../src/shared/compaction/ledger/types.ts'

/** What a checkpoint's frame and pointer take beside its body. */
const FRAME_TOKENS = 60
const PROSE = { user: 0.5, plan: 0.08, errors: 0.08, assistant: 0.34 }

/** Everything, the user's words too, within one total: the form in which checkpoints of different makers are compared. */
export function budgetWithin(totalTokens: number, spanTokens: number): LedgerBudget {
  const listTokens = listShare(totalTokens, spanTokens)
  const prose = totalTokens - listTokens - FRAME_TOKENS
  const userTokens = Math.floor(prose * PROSE.user)
  return {
    listTokens,
    userTokens,
    userStartTokens: Math.floor(userTokens / 2),
    planTokens: Math.floor(prose * PROSE.plan),
    errorTokens: Math.floor(prose * PROSE.errors),
    assistantTokens: Math.floor(prose * PROSE.assistant),
    userSharesTotal: true,
  }
}

export function listsOnly(listTokens: number): LedgerBudget {
  return {
    listTokens,
    userTokens: 0,
    userStartTokens: 0,
    planTokens: 0,
    errorTokens: 0,
    assistantTokens: 0,
    userSharesTotal: false,
  }
}
