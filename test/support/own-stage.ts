import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { WorkflowFailedError } from '@temporalio/client'
import { ActivityFailure, ApplicationFailure } from '@temporalio/common'
import type { Message } from '../../src/shared/session/content.ts'
import type { MessageLike } from '../../src/shared/session/plain-messages.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { runHistory } from './history.ts'
import { type OwnSessions, openOwnSessions, ownModel } from './own-sessions.ts'

// What one file's tests of workflows that are not ours share: one worker, and by session what its model does.

export interface OwnStage extends OwnSessions {
  /** The model refuses requests of more characters. */
  readonly refuseAbove: Map<string, number>
  /** Words of a result. */
  readonly words: Map<string, number>
  /** The model never says the same twice. */
  readonly talkative: Set<string>
  requestsOf(sessionId: string): readonly (readonly MessageLike[])[]
  /** Types of the activities that a run scheduled. */
  activitiesOf(sessionId: string, runId?: string): Promise<string[]>
  typesOf(sessionId: string): Promise<string[]>
}

export const agentOf = (sessionId: string) => `agent-of-${sessionId}`

export async function openOwnStage(): Promise<OwnStage> {
  const refuseAbove = new Map<string, number>()
  const words = new Map<string, number>()
  const talkative = new Set<string>()
  const requests = new Map<string, (readonly MessageLike[])[]>()
  let replies = 0
  const requestsOf = (sessionId: string) => requests.get(sessionId) ?? []
  const own = await openOwnSessions(
    {
      refuseAbove: (sessionId) => refuseAbove.get(sessionId) ?? Number.POSITIVE_INFINITY,
      words: (sessionId) => words.get(sessionId) ?? 2_200,
      onRequest: (sessionId, messages) =>
        void requests.set(sessionId, [...requestsOf(sessionId), JSON.parse(JSON.stringify(messages))]),
      nonce: (sessionId) => (talkative.has(sessionId) ? ` Reply ${++replies}.` : ''),
    },
    ownModel(async (request, { signal }) => {
      const asked = JSON.stringify(request.messages.at(-1))
      if (asked.includes('held')) await sleep(60_000, undefined, { signal })
      const text = 'Words are counted one by one; go on.'
      return { content: [{ type: 'text', text }], stopReason: 'end_turn', usage: null }
    }),
  )
  return {
    ...own,
    refuseAbove,
    words,
    talkative,
    requestsOf,
    async activitiesOf(sessionId, runId) {
      const { events } = await runHistory(own.client, agentOf(sessionId), runId)
      return events.flatMap(({ type, name = '' }) => (type === 'ACTIVITY_TASK_SCHEDULED' ? [name] : []))
    },
    typesOf: async (sessionId) => (await own.log(sessionId)).map(({ type }) => type),
  }
}

export function assertValid(messages: readonly MessageLike[]): void {
  assert.deepEqual(requestProblems(messages as Message[]), [])
}

export function rootMessage(error: unknown): string {
  const wraps = error instanceof WorkflowFailedError || error instanceof ActivityFailure
  if (wraps && error.cause !== undefined) return rootMessage(error.cause)
  return error instanceof ApplicationFailure ? error.message : String(error)
}
