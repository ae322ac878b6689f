import { proxyActivities } from '@temporalio/workflow'
import { compactionHooks } from 'durable-compaction/workflow'
import type { logActivities } from './activities.ts'
import { REQUEST } from './clerk.ts'

const { beginTurn, think, act, finishTurn } = proxyActivities<ReturnType<typeof logActivities>>({
  startToCloseTimeout: '10s', // A worker that was killed is noticed after this: these activities send no heartbeat.
})

/** An agent of one's own, its messages in the session store. */
export async function logAgent(sessionId: string, question: string): Promise<string> {
  const hooks = compactionHooks({ sessionId, request: REQUEST, policy: { thresholdTokens: 14_000 } })
  await hooks.open()
  const { turn, reading: first } = await beginTurn(sessionId, 'question-1', question)
  let reading = first
  for (let step = 1; ; step++) {
    await hooks.preStep({ turn, step, reading }) // Compacts under pressure; otherwise no event of history.
    const reply = await thinkOrRecover(step)
    reading = reply.reading
    if (reply.calls.length === 0) break
    for (const { id } of reply.calls) reading = await act(sessionId, turn, step, id)
  }
  await finishTurn(sessionId, turn)
  return hooks
    .history()
    .map(({ compactionId, outcome }) => `${compactionId} ${outcome}`)
    .join(', ')

  async function thinkOrRecover(step: number): ReturnType<typeof think> {
    for (;;) {
      try {
        return await think(sessionId, turn, step)
      } catch (error) {
        if (!(await hooks.requestError(error, { turn, step }))) throw error
      }
    }
  }
}
