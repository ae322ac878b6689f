import type { z } from 'zod'
import type {
  appendInputSchema,
  positionInputSchema,
  positionResultSchema,
  StepResult,
} from '../../shared/own-protocol.ts'
import { isToolUse } from '../../shared/session/content.ts'
import { keys } from '../../shared/session/keys.ts'
import type { ActivityDeps } from '../deps.ts'
import { endTurn } from '../end-turn.ts'
import { callingRun } from '../owner.ts'
import { currentReading, loadSession } from '../session-view.ts'
import { appendEntries } from './append-entries.ts'
import { numbered } from './place-entries.ts'

/** Appends messages of a step, and ends the turn behind them when asked. */
export async function appendToStep(
  deps: ActivityDeps,
  { sessionId, turn, step, entries, end }: z.infer<typeof appendInputSchema>,
): Promise<StepResult> {
  const actor = callingRun()
  await appendEntries(deps, { sessionId, actor, place: { turn, step }, entries: numbered(entries) })
  if (end !== undefined) await endTurn(deps, { v: 1, sessionId, turn, ...end })
  return stepResult(deps, { sessionId, turn, step })
}

/** What the log says of a step: its reply, and what that waits for. */
export async function stepResult(
  deps: ActivityDeps,
  { sessionId, turn, step }: { readonly sessionId: string; readonly turn: number; readonly step: number },
): Promise<StepResult> {
  const [reading, reply] = await Promise.all([
    currentReading(deps, sessionId),
    deps.store.eventByKey(sessionId, keys.assistant(turn, step)),
  ])
  if (reply?.type !== 'assistant/message') return { reading, stopReason: null, calls: [] }
  const calls = reply.data.content.filter(isToolUse)
  const results = await deps.store.eventsByKeys(
    sessionId,
    calls.map(({ id }) => keys.toolResult(turn, step, id)),
  )
  const answered = new Set(results.map((event) => event.key))
  return {
    reading,
    stopReason: reply.data.stopReason,
    calls: calls
      .filter(({ id }) => !answered.has(keys.toolResult(turn, step, id)))
      .map(({ id, name }) => ({ id, name })),
  }
}

/** Where the session stands: its reading, and the turn that is open. */
export async function positionOf(
  deps: ActivityDeps,
  { sessionId }: z.infer<typeof positionInputSchema>,
): Promise<z.infer<typeof positionResultSchema>> {
  const [reading, { openTurn }] = await Promise.all([
    currentReading(deps, sessionId),
    loadSession(deps, sessionId),
  ])
  return { reading, openTurn }
}
