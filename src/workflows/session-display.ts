import { setCurrentDetails, upsertMemo, workflowInfo } from '@temporalio/workflow'
import { detailsOf, memoOf, type SessionState } from './session-state.ts'

/** Key of the session's memo, for lists of workflows. */
const MEMO_KEY = 'durableCompaction'

/** For the Temporal UI, as often as wanted: costs no history. */
export function showDetails(session: SessionState): void {
  setCurrentDetails(detailsOf(session))
}

/** For lists of workflows: one event of history when something changed, so only with turns, never with steps. */
export function showMemo(session: SessionState): void {
  showDetails(session)
  const memo = memoOf(session)
  if (JSON.stringify(workflowInfo().memo?.[MEMO_KEY]) !== JSON.stringify(memo))
    upsertMemo({ [MEMO_KEY]: memo })
}
