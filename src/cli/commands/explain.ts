import type { AttemptRow, SessionStore } from '../../shared/ports/store.ts'
import type { Run } from '../action.ts'
import { attemptOf } from '../attempt-of.ts'
import { NotFound } from '../exit-codes.ts'
import { accountOf } from '../explain/account.ts'
import { describeAccount } from '../explain/describe.ts'
import { pricesFrom } from '../prices.ts'
import { readLog } from '../read-log.ts'

export interface ExplainOptions {
  readonly prices?: string
}

/** One compaction: named by its workflow id, by session and id, or by the session alone (its newest). */
export const explain: Run<ExplainOptions> = async (setting, [first = '', second], { prices }) => {
  const [sessionId = '', named] = first.split('/compact/')
  const compactionId = second ?? named
  const { store } = await setting.stored(sessionId)
  const row =
    compactionId === undefined
      ? await newestAttempt(store, sessionId)
      : await attemptOf(store, sessionId, compactionId)
  const [events, inbox] = await Promise.all([
    readLog(store, sessionId),
    store.inbox(sessionId, { kind: 'compaction', limit: 10_000 }),
  ])
  const account = accountOf({
    row,
    events,
    inbox,
    prices: pricesFrom(prices),
  })
  setting.output.result(account, describeAccount(account))
}

async function newestAttempt(store: SessionStore, sessionId: string): Promise<AttemptRow> {
  const [newest] = await store.attempts({ sessionId, limit: 1 })
  if (newest !== undefined) return newest
  throw new NotFound(`Session ${sessionId} has not compacted.`)
}
