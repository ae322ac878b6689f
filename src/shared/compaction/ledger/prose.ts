import { type AssistantTexts, renderAssistantTexts, renderEarlierSummary } from './assistant-text.ts'
import { recentErrors, renderErrors } from './open-errors.ts'
import { renderPlan } from './plan.ts'
import type { CountTokens, Known, LedgerBudget } from './types.ts'
import { type SelectedWords, selectUserWords } from './user-words.ts'

/** Of the assistant's share: for what a model wrote of the time before this span. */
const EARLIER_SUMMARY_SHARE = 0.75

export interface Prose {
  readonly user: SelectedWords
  readonly plan: string
  readonly errors: string
  readonly earlierSummary: string
  readonly assistant: AssistantTexts
  /** What these parts did not use of what they share with the lists. */
  readonly unusedTokens: number
}

/** The sections in front of the lists. `cut` is the number of messages of the span. */
export function renderProse(known: Known, cut: number, budget: LedgerBudget, count: CountTokens): Prose {
  const { userTokens, userStartTokens, planTokens, errorTokens, assistantTokens } = budget
  const user = selectUserWords({
    said: known.said,
    budgetTokens: userTokens,
    startTokens: userStartTokens,
    count,
  })
  const plan = renderPlan(known.plan, planTokens, count)
  const errors = renderErrors(recentErrors(known.errors, cut), errorTokens, count)
  const summaryRoom = Math.floor(assistantTokens * EARLIER_SUMMARY_SHARE)
  const earlierSummary = renderEarlierSummary(known.earlierSummary ?? '', summaryRoom, count)
  const room = assistantTokens - count(earlierSummary)
  const assistant = renderAssistantTexts(known.assistantTexts, room, count)
  const unused = [
    planTokens - count(plan),
    errorTokens - count(errors),
    room - assistant.tokens,
    budget.userSharesTotal ? userTokens - user.tokens : 0,
  ]
  return {
    user,
    plan,
    errors,
    earlierSummary,
    assistant,
    unusedTokens: unused.reduce((sum, tokens) => sum + tokens, 0),
  }
}
