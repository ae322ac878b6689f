import type { z } from 'zod'
import type { runToolInputSchema, runToolResultSchema } from '../shared/activity-protocol.ts'
import { SessionError } from '../shared/errors.ts'
import type { SessionRow } from '../shared/ports/store.ts'
import type { ToolUseBlock } from '../shared/session/content.ts'
import { keys } from '../shared/session/keys.ts'
import { callsOf, runningCalls } from './code-answers.ts'
import type { ActivityDeps } from './deps.ts'
import { errorResult } from './execute-tool.ts'
import { currentReading, loadSession } from './session-view.ts'

export type RunToolInput = z.infer<typeof runToolInputSchema>
export type RunToolResult = z.infer<typeof runToolResultSchema>

export const CHECK_FIRST = 'Check what it did before you call it again.'
export const OUTCOME_UNKNOWN = errorResult(
  `Outcome unknown: this call was interrupted after it had begun, and was not repeated. ${CHECK_FIRST}`,
)

/** What the log says of a call that has its result. */
export async function recordedResult(
  deps: ActivityDeps,
  { sessionId, turn, step, callId }: RunToolInput,
): Promise<RunToolResult | null> {
  const recorded = await deps.store.eventByKey(sessionId, keys.toolResult(turn, step, callId))
  if (recorded?.type !== 'tool/result') return null
  return { reading: await currentReading(deps, sessionId), isError: recorded.data.isError }
}

export interface RequiredCall {
  readonly call: ToolUseBlock
  readonly session: SessionRow
  /** Calls of the step that tools run for. */
  readonly callsInStep: number
}

/** @throws SessionError `InvalidInput` for a call that the step does not have */
export async function requireCall(
  deps: ActivityDeps,
  { sessionId, turn, step, callId }: RunToolInput,
): Promise<RequiredCall> {
  const session = await loadSession(deps, sessionId)
  const reply = await deps.store.eventByKey(sessionId, keys.assistant(turn, step))
  const call =
    reply?.type === 'assistant/message' ? callsOf(reply).find(({ id }) => id === callId) : undefined
  if (reply?.type !== 'assistant/message' || call === undefined)
    throw new SessionError(
      'InvalidInput',
      `Step ${step} of turn ${turn} has no call ${JSON.stringify(callId)}.`,
    )
  return { call, session, callsInStep: runningCalls(reply, session.header).length }
}
