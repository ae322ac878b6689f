import type { z } from 'zod'
import type { landToolInputSchema, WorkEnd } from '../shared/activity-protocol.ts'
import type { ActivityDeps } from './deps.ts'
import { type ExecutedCall, errorResult, executed, messageOf } from './execute-tool.ts'
import { landResult } from './land-result.ts'
import { callingRun } from './owner.ts'
import { currentReading } from './session-view.ts'
import { CHECK_FIRST, type RunToolResult, recordedResult, requireCall } from './tool-call.ts'

/**
 * Appends what came of a call whose work the workflow ran.
 *
 * @throws SessionError `InvalidInput`, `TurnClosed`, `Fenced`
 */
export async function landTool(
  deps: ActivityDeps,
  input: z.infer<typeof landToolInputSchema>,
): Promise<RunToolResult> {
  const recorded = await recordedResult(deps, input)
  if (recorded !== null) return recorded
  const { call, callsInStep } = await requireCall(deps, input)
  const isError = await landResult(deps, {
    input,
    actor: callingRun(),
    call,
    executed: resultOf(call.name, input.end),
    callsInStep,
  })
  return { reading: await currentReading(deps, input.sessionId), isError }
}

function resultOf(name: string, end: WorkEnd): ExecutedCall {
  if ('failure' in end) return errorResult(failureText(name, end.failure))
  try {
    return executed(end)
  } catch (error) {
    return errorResult(`${name} failed: ${messageOf(error)}`)
  }
}

function failureText(
  name: string,
  { kind, message }: Extract<WorkEnd, { failure: unknown }>['failure'],
): string {
  switch (kind) {
    case 'failed':
      return `${name} failed: ${message}`
    case 'no-worker':
      return `${name} was not run: ${message}`
    case 'timeout':
      return `Outcome unknown: ${name} may have done its work, but ${message} ${CHECK_FIRST}`
    case 'too-large':
      return `${name} ran, but its result is larger than Temporal takes and is lost: ${message}`
    case 'crowded':
      return `${name} was not run: the other results of this step are so large that the session's history has no room. Call it again in the next step.`
  }
}
