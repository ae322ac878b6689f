import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import {
  appendMessages,
  endTurn,
  recordedReply,
  sessionRequest,
  startTurn,
} from '../../src/activities/index.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import type { MessageLike } from '../../src/shared/session/plain-messages.ts'

// A user's own activities, with a model that calls a tool until its last step.

export interface OwnTestOptions {
  readonly store: SessionStore
  /** Characters of a request above which the model refuses it as too long. Default: never. */
  readonly refuseAbove?: (sessionId: string) => number
  /** Words of one result. Default 2,200: five fill the window. */
  readonly words?: (sessionId: string) => number
  /** Called with each request that the model answers. */
  readonly onRequest?: (sessionId: string, messages: readonly MessageLike[]) => void
  /** Stands in the model's replies: another one for each call makes it a model that never says the same. */
  readonly nonce?: (sessionId: string) => string
  /** Runs before a result is stored or returned. */
  readonly onTool?: (sessionId: string, step: number) => Promise<void> | void
}

export type OwnTestActivities = ReturnType<typeof ownTestActivities>

const usageOf = (messages: readonly MessageLike[]) => ({
  input_tokens: Math.ceil(JSON.stringify(messages).length / 4),
  output_tokens: 20,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
})

export function ownTestActivities(options: OwnTestOptions) {
  const { store } = options
  const wordsOf = (sessionId: string) => options.words?.(sessionId) ?? 2_200
  const answer = (
    sessionId: string,
    turn: number,
    step: number,
    steps: number,
    messages: readonly MessageLike[],
  ) => {
    const chars = JSON.stringify(messages).length
    const most = options.refuseAbove?.(sessionId) ?? Number.POSITIVE_INFINITY
    if (chars > most)
      throw ApplicationFailure.nonRetryable(
        `400 prompt is too long: ${chars} tokens > ${most} maximum`,
        'BadRequestError',
      )
    options.onRequest?.(sessionId, messages)
    const call = { type: 'tool_use', id: `call_${turn}_${step}`, name: 'words', input: { step } }
    return {
      message: {
        role: 'assistant' as const,
        content:
          step < steps
            ? [{ type: 'text', text: `Step ${step}.${options.nonce?.(sessionId) ?? ''}` }, call]
            : [{ type: 'text', text: 'Done.' }],
      },
      usage: usageOf(messages),
      callId: step < steps ? call.id : null,
    }
  }
  const resultOf = (sessionId: string, callId: string, step: number): MessageLike => ({
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: callId,
        content: `${step}: ${'word '.repeat(wordsOf(sessionId))}`,
      } as {
        type: string
      },
    ],
  })
  return {
    begin: (sessionId: string, requestId: string) =>
      startTurn(store, sessionId, {
        requestId,
        message: { role: 'user', content: `Count on, ${requestId}.` },
      }),

    async think(sessionId: string, turn: number, step: number, steps: number) {
      Context.current().heartbeat()
      const { messages, recorded } = await sessionRequest(store, sessionId, { turn, step })
      if (recorded) return recorded
      const { message, usage } = answer(sessionId, turn, step, steps, messages)
      return appendMessages(store, sessionId, { turn, step, entries: [{ message, usage }] })
    },

    async act(sessionId: string, turn: number, step: number, callId: string) {
      Context.current().heartbeat()
      await options.onTool?.(sessionId, step)
      const reply = await recordedReply(store, sessionId, { turn, step })
      if (reply === null) throw ApplicationFailure.nonRetryable('no reply')
      const entries = [{ message: resultOf(sessionId, callId, step) }]
      return (await appendMessages(store, sessionId, { turn, step, entries })).reading
    },

    finish: (sessionId: string, turn: number) => endTurn(store, sessionId, { turn, reason: 'completed' }),

    /** Array mode: nothing but the model and its tool. */
    async reply(
      sessionId: string,
      turn: number,
      step: number,
      steps: number,
      messages: readonly MessageLike[],
    ) {
      Context.current().heartbeat()
      const { message, usage, callId } = answer(sessionId, turn, step, steps, messages)
      await options.onTool?.(sessionId, step)
      return { message, usage, results: callId === null ? null : resultOf(sessionId, callId, step) }
    },

    /** Compares what the workflow has with what the store makes of its surface. */
    async record(sessionId: string, turn: number, step: number, messages: readonly MessageLike[]) {
      const { nodes } = await store.surface(sessionId)
      const stored = JSON.stringify(deriveMessages(nodes))
      if (stored !== JSON.stringify(messages))
        throw ApplicationFailure.nonRetryable(
          `t${turn}.s${step}: the workflow has ${JSON.stringify(messages).slice(0, 1500)}, the store ${stored.slice(0, 1500)}`,
          'NotEqual',
        )
    },
  }
}
