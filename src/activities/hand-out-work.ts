import type { ToolWork } from '../shared/activity-protocol.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Actor } from '../shared/ports/store.ts'
import type { ActivityTool, ActivityToolContext } from '../shared/ports/tool.ts'
import type { ToolUseBlock } from '../shared/session/content.ts'
import { utf8Bytes } from '../shared/session/prompt-content.ts'
import type { ActivityDeps } from './deps.ts'
import { checkedInput, type ExecutedCall, errorResult, timeoutOf } from './execute-tool.ts'
import { OUTCOME_UNKNOWN, type RunToolInput } from './tool-call.ts'
import { claimCall } from './tool-claim.ts'

interface Handed {
  readonly tool: ActivityTool
  readonly call: ToolUseBlock
  readonly input: RunToolInput
  readonly actor: Actor
  readonly context: ActivityToolContext
}

/**
 * What the workflow is to run for a call, or the result that the call has without being run. A claim that handed it to this very run is no obstacle: its attempt
 * died before the workflow heard of the work, which it hears of once.
 */
export async function handOutWork(
  deps: ActivityDeps,
  { tool, call, input, actor, context }: Handed,
): Promise<{ readonly work: ToolWork } | ExecutedCall> {
  const checked = checkedInput(tool, call.input)
  if ('problem' in checked) return errorResult(checked.problem)
  const bytes = utf8Bytes(JSON.stringify(checked.value) ?? '')
  if (bytes > LIMITS.handedInputBytes)
    return errorResult(
      `The input of ${tool.name} has ${bytes} bytes as JSON, allowed are ${LIMITS.handedInputBytes}: give less, or where it can be read.`,
    )
  const { first, handedByThisRun } = await claimCall(deps, input, actor, { handed: true })
  if (!first && !handedByThisRun && tool.idempotent !== true) return OUTCOME_UNKNOWN
  const { type, taskQueue, queueTimeoutMs, heartbeatTimeoutMs } = tool.activity
  return {
    work: {
      activity: type,
      ...(taskQueue === undefined ? {} : { taskQueue }),
      input: checked.value,
      context,
      timeoutMs: timeoutOf(tool),
      queueTimeoutMs,
      ...(heartbeatTimeoutMs === undefined ? {} : { heartbeatTimeoutMs }),
      attempts: 1 + (tool.retries ?? 0),
    },
  }
}
