import { Context, cancellationSignal } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import type { z } from 'zod'
import type { runToolInputSchema, runToolResultSchema } from '../shared/activity-protocol.ts'
import { SessionError } from '../shared/errors.ts'
import type { Actor, SessionRow } from '../shared/ports/store.ts'
import { HISTORY_TOOL, offersHistory } from '../shared/recall/history-tool.ts'
import { isText, type ToolUseBlock } from '../shared/session/content.ts'
import { keys } from '../shared/session/keys.ts'
import { answerHistory } from './answer-history.ts'
import { callsOf, runningCalls } from './code-answers.ts'
import type { ActivityDeps } from './deps.ts'
import { type ExecutedCall, errorResult, executeTool } from './execute-tool.ts'
import { landResult } from './land-result.ts'
import { callingRun } from './owner.ts'
import { currentReading, loadSession } from './session-view.ts'
import { claimCall } from './tool-claim.ts'
import { untilAborted } from './until-aborted.ts'

export type RunToolInput = z.infer<typeof runToolInputSchema>
export type RunToolResult = z.infer<typeof runToolResultSchema>

/**
 * Runs one call of a step and appends its result. Only the first claim runs a tool that is not idempotent. A tool's failure is an error result that
 * the model reads, not a failure of the activity, unless its rule says that it is run again.
 *
 * @throws SessionError `TurnClosed`, `Fenced`; Temporal's cancel
 */
export async function runTool(deps: ActivityDeps, input: RunToolInput): Promise<RunToolResult> {
  const { sessionId, turn, step, callId } = input
  const actor = callingRun()
  const recorded = await deps.store.eventByKey(sessionId, keys.toolResult(turn, step, callId))
  if (recorded?.type === 'tool/result')
    return { reading: await currentReading(deps, sessionId), isError: recorded.data.isError }
  const session = await loadSession(deps, sessionId)
  const reply = await deps.store.eventByKey(sessionId, keys.assistant(turn, step))
  const call =
    reply?.type === 'assistant/message' ? callsOf(reply).find(({ id }) => id === callId) : undefined
  if (reply?.type !== 'assistant/message' || call === undefined)
    throw new SessionError(
      'InvalidInput',
      `Step ${step} of turn ${turn} has no call ${JSON.stringify(callId)}.`,
    )
  const executed = await execute(deps, input, { call, session, actor })
  failForRetry(deps, call, executed)
  const callsInStep = runningCalls(reply, session.header).length
  const isError = await landResult(deps, { input, actor, call, executed, callsInStep })
  return { reading: await currentReading(deps, sessionId), isError }
}

/** Temporal runs a failed attempt again, as often as the tool's rule says; the last one lands its error. */
function failForRetry({ tools }: ActivityDeps, { name }: ToolUseBlock, { failed, content }: ExecutedCall) {
  const { retries = 0 } = tools.find((tool) => tool.name === name) ?? {}
  if (failed !== true || Context.current().info.attempt > retries) return
  const [said] = content.filter(isText)
  throw ApplicationFailure.retryable(said?.text.slice(0, FAILURE_CHARS), 'ToolFailed')
}

/** It stands in history when the attempt after it begins. */
const FAILURE_CHARS = 500

interface Called {
  readonly call: ToolUseBlock
  readonly session: SessionRow
  readonly actor: Actor
}

/** Only what the session offers its model runs, whatever else this worker has. */
async function execute(
  deps: ActivityDeps,
  input: RunToolInput,
  { call, session, actor }: Called,
): Promise<ExecutedCall> {
  const offered = session.header.tools.map(({ name }) => name)
  if (call.name === HISTORY_TOOL.name && offersHistory(session.header)) {
    await claimCall(deps, input, actor)
    return untilAborted(answerHistory(deps, session, call), cancellationSignal())
  }
  const tool = deps.tools.find(({ name }) => name === call.name && offered.includes(name))
  if (tool === undefined)
    return errorResult(
      `There is no tool ${JSON.stringify(call.name)}. Tools: ${offered.join(', ') || 'none'}.`,
    )
  const claimed = await claimCall(deps, input, actor)
  if (!claimed && tool.idempotent !== true) {
    return errorResult(
      'Outcome unknown: this call was interrupted after it had begun, and was not repeated. Check what it did before you call it again.',
    )
  }
  return executeTool(tool, call, {
    sessionId: input.sessionId,
    callId: call.id,
    idempotencyKey: `${input.sessionId}.${keys.toolResult(input.turn, input.step, input.callId)}`,
    signal: cancellationSignal(),
  })
}
