import type { Actor } from '../shared/ports/store.ts'
import type { ToolUseBlock } from '../shared/session/content.ts'
import type { ActivityDeps } from './deps.ts'
import type { ExecutedCall } from './execute-tool.ts'
import { resultEvent } from './intake.ts'
import { asOwner } from './owner.ts'
import type { RunToolInput } from './tool-call.ts'
import { writePaid } from './write-paid.ts'

interface Landing {
  readonly input: RunToolInput
  readonly actor: Actor
  readonly call: ToolUseBlock
  readonly executed: ExecutedCall
  /** Calls of the step that tools run for. */
  readonly callsInStep: number
}

/** Appends a result, cut at intake. Returns what the log says of `isError`. */
export async function landResult(deps: ActivityDeps, landing: Landing): Promise<boolean> {
  const { input, actor, call, executed, callsInStep } = landing
  const { sessionId, turn } = input
  const outcome = { callId: call.id, name: call.name, ...executed }
  const event = await resultEvent(deps, { place: input, actor, outcome, callsInStep })
  const written = await writePaid(() =>
    asOwner(deps, sessionId, actor, (owner) =>
      deps.store.append({ sessionId, actor: owner, turn, events: [event] }),
    ),
  )
  const [recorded] = written.events
  return recorded?.type === 'tool/result' ? recorded.data.isError : executed.isError
}
