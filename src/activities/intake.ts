import { measureContent } from '../shared/compaction/prune.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Actor } from '../shared/ports/store.ts'
import { offersHistory } from '../shared/recall/history-tool.ts'
import type { ContentBlock } from '../shared/session/content.ts'
import type { NewEvent } from '../shared/session/events.ts'
import { keepBytes } from '../shared/session/keep-bytes.ts'
import { keys } from '../shared/session/keys.ts'
import { cutToTokens, MAX_CHARS_PER_TOKEN } from '../shared/tokens/cut-to-tokens.ts'
import { priceContent } from '../shared/tokens/price.ts'
import type { ActivityDeps } from './deps.ts'
import type { StepPlace } from './open-step.ts'
import { asOwner } from './owner.ts'
import { loadSession } from './session-view.ts'
import { writePaid } from './write-paid.ts'

export interface ToolOutcome {
  readonly callId: string
  readonly name: string
  readonly content: readonly ContentBlock[]
  readonly isError: boolean
}

interface Intake {
  readonly place: StepPlace
  readonly actor: Actor
  readonly outcome: ToolOutcome
  /** Calls of the step that share half of the window. */
  readonly callsInStep: number
}

/** The event of a result. One over the intake limit is cut, and its whole output is written first. */
export async function resultEvent(deps: ActivityDeps, intake: Intake): Promise<NewEvent<'tool/result'>> {
  const { place, outcome, callsInStep } = intake
  const { sessionId, turn, step } = place
  const { callId, name, isError } = outcome
  const { header } = await loadSession(deps, sessionId)
  const { policy } = header
  const share =
    policy.contextWindow === null
      ? Number.POSITIVE_INFINITY
      : Math.floor(policy.contextWindow / 2 / callsInStep)
  const limit = Math.min(policy.toolResultMaxTokens, share)
  const kept = keepBytes(outcome.content, LIMITS.toolOutputBytes)
  const fits = kept.droppedBytes === 0 && fitsIn(kept.content, limit)
  const full = fits ? undefined : await writeOutput(deps, intake, kept)
  const content =
    full === undefined
      ? kept.content
      : cutToTokens(kept.content, limit, { seq: full, historyTool: offersHistory(header) })
  return {
    key: keys.toolResult(turn, step, callId),
    type: 'tool/result',
    turn,
    step,
    data: { callId, name, content: [...content], isError, ...(full === undefined ? {} : { full }) },
    tokens: priceContent(content),
    surfaceOp: 'append',
  }
}

/** Counting many megabytes would stop the heartbeats: what has too many characters is over without being counted. */
const fitsIn = (content: readonly ContentBlock[], limit: number): boolean =>
  measureContent(content) <= limit * MAX_CHARS_PER_TOKEN && priceContent(content) <= limit

async function writeOutput(
  deps: ActivityDeps,
  { place, actor, outcome: { callId, name } }: Intake,
  kept: ReturnType<typeof keepBytes>,
): Promise<number> {
  const { sessionId, turn, step } = place
  const event: NewEvent<'tool/output'> = {
    key: keys.toolOutput(turn, step, callId),
    type: 'tool/output',
    turn,
    step,
    data: { callId, name, content: [...kept.content], droppedBytes: kept.droppedBytes },
    tokens: 0,
  }
  const written = await writePaid(() =>
    asOwner(deps, sessionId, actor, (owner) =>
      deps.store.append({ sessionId, actor: owner, turn, events: [event] }),
    ),
  )
  const [output] = written.events
  if (output === undefined) throw new Error(`The output of call ${callId} was written and is not in the log.`)
  return output.seq
}
