import { ApplicationFailure } from '@temporalio/activity'
import {
  appendMessages,
  endTurn,
  recordedReply,
  sessionRequest,
  startTurn,
} from 'durable-compaction/activity'
import { isToolUse, type Message, type SessionStore } from 'durable-compaction/core'
import { askClerk, orderStatus } from './clerk.ts'

/** Log mode: the messages are in the store. What goes back to the workflow is small, whatever the size of the conversation. */
export const logActivities = (store: SessionStore) => ({
  beginTurn: (sessionId: string, requestId: string, text: string) =>
    startTurn(store, sessionId, { requestId, message: { role: 'user', content: text } }),

  async think(sessionId: string, turn: number, step: number) {
    const { messages, recorded } = await sessionRequest(store, sessionId, { turn, step })
    if (recorded) return recorded // An earlier attempt of this activity was paid and died behind its write.
    const { message, usage } = await askClerk(step, messages)
    return appendMessages(store, sessionId, { turn, step, entries: [{ message, usage }] })
  },

  async act(sessionId: string, turn: number, step: number, callId: string) {
    const reply = await recordedReply(store, sessionId, { turn, step })
    const call = reply?.content.filter(isToolUse).find(({ id }) => id === callId)
    if (call === undefined) throw ApplicationFailure.nonRetryable(`Step ${step} has no call ${callId}.`)
    const entries = [{ message: await orderStatus(call) }]
    return (await appendMessages(store, sessionId, { turn, step, entries })).reading
  },

  finishTurn: (sessionId: string, turn: number) => endTurn(store, sessionId, { turn, reason: 'completed' }),
})

/** Array mode: nothing of ours. */
export const arrayActivities = {
  askModel: (step: number, messages: readonly Message[]) => askClerk(step, messages),
  runTool: orderStatus,
}
