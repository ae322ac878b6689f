import { cancellationSignal } from '@temporalio/activity'
import type { z } from 'zod'
import { SessionError } from '../shared/errors.ts'
import type { Actor } from '../shared/ports/store.ts'
import type { Tool } from '../shared/ports/tool.ts'
import type { runToolInputSchema, runToolResultSchema } from '../shared/protocol.ts'
import { isToolUse, type ToolUseBlock } from '../shared/session/content.ts'
import { keys } from '../shared/session/keys.ts'
import type { ActivityDeps } from './deps.ts'
import { type ExecutedCall, errorResult, executeTool } from './execute-tool.ts'
import { landResult } from './land-result.ts'
import { callingRun } from './owner.ts'
import { currentReading } from './session-view.ts'
import { claimCall } from './tool-claim.ts'

export type RunToolInput = z.infer<typeof runToolInputSchema>
export type RunToolResult = z.infer<typeof runToolResultSchema>

/**
 * Runs one call of a step and appends its result. Only the first claim runs a tool that is not idempotent. A tool's failure is an error result that
 * the model reads, not a failure of the activity.
 *
 * @throws SessionError `TurnClosed`, `Fenced`; Temporal's cancel
 */
export async function runTool(deps: ActivityDeps, input: RunToolInput): Promise<RunToolResult> {
  const { sessionId, turn, step, callId } = input
  const actor = callingRun()
  const recorded = await deps.store.eventByKey(sessionId, keys.toolResult(turn, step, callId))
  if (recorded?.type === 'tool/result')
    return { reading: await currentReading(deps, sessionId), isError: recorded.data.isError }
  const step_ = await callsOfStep(deps, input)
  const call = step_.find((candidate) => candidate.id === callId)
  if (call === undefined)
    throw new SessionError(
      'InvalidInput',
      `Step ${step} of turn ${turn} has no call ${JSON.stringify(callId)}.`,
    )
  const executed = await execute(deps, input, call, actor)
  const isError = await landResult(deps, { input, actor, call, executed, callsInStep: step_.length })
  return { reading: await currentReading(deps, sessionId), isError }
}

async function callsOfStep(
  deps: ActivityDeps,
  { sessionId, turn, step }: RunToolInput,
): Promise<ToolUseBlock[]> {
  const assistant = await deps.store.eventByKey(sessionId, keys.assistant(turn, step))
  return assistant?.type === 'assistant/message' ? assistant.data.content.filter(isToolUse) : []
}

async function execute(
  deps: ActivityDeps,
  input: RunToolInput,
  call: ToolUseBlock,
  actor: Actor,
): Promise<ExecutedCall> {
  const tool = deps.tools.find((candidate) => candidate.name === call.name)
  if (tool === undefined)
    return errorResult(`There is no tool ${JSON.stringify(call.name)}. Tools: ${toolNames(deps.tools)}.`)
  const claimed = await claimCall(deps, input, actor)
  if (!claimed && tool.idempotent !== true) {
    return errorResult(
      'Outcome unknown: this call was interrupted after it had begun, and was not repeated. Check what it did before you call it again.',
    )
  }
  return executeTool(tool, call, {
    sessionId: input.sessionId,
    callId: call.id,
    signal: cancellationSignal(),
  })
}

const toolNames = (tools: readonly Tool[]) => tools.map((tool) => tool.name).join(', ') || 'none'
