import { measureContent } from '../shared/compaction/prune.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Actor } from '../shared/ports/store.ts'
import type { ContentBlock, ToolUseBlock } from '../shared/session/content.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { cutToTokens, MAX_CHARS_PER_TOKEN } from '../shared/tokens/cut-to-tokens.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { ActivityDeps } from './deps.ts'
import type { ExecutedCall } from './execute-tool.ts'
import { keepBytes } from './keep-bytes.ts'
import { asOwner } from './owner.ts'
import type { RunToolInput } from './run-tool.ts'
import { loadSession } from './session-view.ts'
import { writePaid } from './write-paid.ts'

interface Landing {
  readonly input: RunToolInput
  readonly actor: Actor
  readonly call: ToolUseBlock
  readonly executed: ExecutedCall
  /** Calls of the step that tools run for. */
  readonly callsInStep: number
}

/** Appends a result; one over the intake limit is cut, and its whole output is written before it. Returns what the log says of `isError`. */
export async function landResult(deps: ActivityDeps, landing: Landing): Promise<boolean> {
  const { input, actor, call, executed, callsInStep } = landing
  const { sessionId, turn, step } = input
  const { policy } = (await loadSession(deps, sessionId)).header
  const share =
    policy.contextWindow === null
      ? Number.POSITIVE_INFINITY
      : Math.floor(policy.contextWindow / 2 / callsInStep)
  const limit = Math.min(policy.toolResultMaxTokens, share)
  const kept = keepBytes(executed.content, LIMITS.toolOutputBytes)
  const fits = kept.droppedBytes === 0 && fitsIn(kept.content, limit)
  const full = fits ? undefined : await writeOutput(deps, landing, kept)
  const content = full === undefined ? kept.content : cutToTokens(kept.content, limit, full)
  const event: NewEvent<'tool/result'> = {
    key: keys.toolResult(turn, step, call.id),
    type: 'tool/result',
    turn,
    step,
    data: {
      callId: call.id,
      name: call.name,
      content: [...content],
      isError: executed.isError,
      ...(full === undefined ? {} : { full }),
    },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
  const written = await writePaid(() =>
    asOwner(deps, sessionId, actor, (owner) =>
      deps.store.append({ sessionId, actor: owner, turn, events: [event] }),
    ),
  )
  const [recorded] = written.events
  return recorded?.type === 'tool/result' ? recorded.data.isError : executed.isError
}

/** Counting many megabytes would stop the heartbeats: what has too many characters is over without being counted. */
const fitsIn = (content: readonly ContentBlock[], limit: number): boolean =>
  measureContent(content) <= limit * MAX_CHARS_PER_TOKEN && priceContent(content) <= limit

async function writeOutput(
  deps: ActivityDeps,
  { input, actor, call }: Landing,
  kept: ReturnType<typeof keepBytes>,
): Promise<number> {
  const { sessionId, turn, step } = input
  const event: NewEvent<'tool/output'> = {
    key: keys.toolOutput(turn, step, call.id),
    type: 'tool/output',
    turn,
    step,
    data: { callId: call.id, name: call.name, content: [...kept.content], droppedBytes: kept.droppedBytes },
    tokens: 0,
  }
  const written = await writePaid(() =>
    asOwner(deps, sessionId, actor, (owner) =>
      deps.store.append({ sessionId, actor: owner, turn, events: [event] }),
    ),
  )
  const [output] = written.events
  if (output === undefined)
    throw new Error(`The output of call ${call.id} was written and is not in the log.`)
  return output.seq
}
