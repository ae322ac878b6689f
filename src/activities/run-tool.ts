import { Context, cancellationSignal } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import type { ToolWork } from '../shared/activity-protocol.ts'
import type { Actor } from '../shared/ports/store.ts'
import { HISTORY_TOOL, offersHistory } from '../shared/recall/history-tool.ts'
import type { ToolUseBlock } from '../shared/session/content.ts'
import { keys } from '../shared/session/keys.ts'
import { answerHistory } from './answer-history.ts'
import type { ActivityDeps } from './deps.ts'
import { type ExecutedCall, errorResult, executeTool } from './execute-tool.ts'
import { handOutWork } from './hand-out-work.ts'
import { landResult } from './land-result.ts'
import { callingRun } from './owner.ts'
import { currentReading } from './session-view.ts'
import {
  OUTCOME_UNKNOWN,
  type RequiredCall,
  type RunToolInput,
  type RunToolResult,
  recordedResult,
  requireCall,
} from './tool-call.ts'
import { claimCall } from './tool-claim.ts'
import { untilAborted } from './until-aborted.ts'

/**
 * Runs one call of a step and appends its result, or says what the workflow is to run for it. Only the first claim runs a tool that is not idempotent. A
 * tool's failure is an error result that the model reads, not a failure of the activity, unless its rule says that it is run again.
 *
 * @throws SessionError `TurnClosed`, `Fenced`; Temporal's cancel
 */
export async function runTool(deps: ActivityDeps, input: RunToolInput): Promise<RunToolResult> {
  const actor = callingRun()
  const recorded = await recordedResult(deps, input)
  if (recorded !== null) return recorded
  const required = await requireCall(deps, input)
  const { call, callsInStep } = required
  const executed = await execute(deps, input, required, actor)
  if ('work' in executed)
    return { reading: await currentReading(deps, input.sessionId), isError: false, work: executed.work }
  failForRetry(deps, call, executed)
  const isError = await landResult(deps, { input, actor, call, executed, callsInStep })
  return { reading: await currentReading(deps, input.sessionId), isError }
}

/**
 * Temporal runs a failed attempt again, as often as the tool's rule says; the last one lands its error. What the tool said is not in the failure, which
 * stands in history and in the worker's log: it may hold secrets.
 */
function failForRetry({ tools }: ActivityDeps, { name }: ToolUseBlock, { failed }: ExecutedCall) {
  const { retries = 0 } = tools.find((tool) => tool.name === name) ?? {}
  const { attempt } = Context.current().info
  if (failed !== true || attempt > retries) return
  throw ApplicationFailure.retryable(`${name} failed in attempt ${attempt} and is run again`, 'ToolFailed')
}

/** Only what the session offers its model runs, whatever else this worker has. */
async function execute(
  deps: ActivityDeps,
  input: RunToolInput,
  { call, session }: RequiredCall,
  actor: Actor,
): Promise<ExecutedCall | { readonly work: ToolWork }> {
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
  const { sessionId, turn, step, callId } = input
  const context = {
    sessionId,
    callId: call.id,
    idempotencyKey: `${sessionId}.${keys.toolResult(turn, step, callId)}`,
  }
  if ('activity' in tool) return handOutWork(deps, { tool, call, input, actor, context })
  const claim = await claimCall(deps, input, actor)
  if (!claim.first && tool.idempotent !== true) return OUTCOME_UNKNOWN
  return executeTool(tool, call, { ...context, signal: cancellationSignal() })
}
