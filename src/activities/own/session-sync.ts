import type { z } from 'zod'
import { SessionError } from '../../shared/errors.ts'
import type { PlacedEntry, SyncInput, syncResultSchema } from '../../shared/own-protocol.ts'
import type { Actor, SessionRow } from '../../shared/ports/store.ts'
import { canonicalJson } from '../../shared/session/canonical-json.ts'
import type { TurnEndReason } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import { messagesDigest } from '../../shared/session/message-digest.ts'
import { deriveMessages } from '../../shared/session/messages.ts'
import { partsOf, plainContent } from '../../shared/session/plain-messages.ts'
import { promptContent, promptProblem } from '../../shared/session/prompt-content.ts'
import { wellFormed } from '../../shared/session/well-formed.ts'
import { priceContent } from '../../shared/tokens/price.ts'
import type { ActivityDeps } from '../deps.ts'
import { microPass } from '../micro-pass.ts'
import { asOwner, callingRun } from '../owner.ts'
import { currentReading, loadSession } from '../session-view.ts'
import { appendEntries } from './append-entries.ts'
import { type Place, saidEvent } from './place-entries.ts'

type SyncResult = z.infer<typeof syncResultSchema>
type StepOfRequest = NonNullable<SyncInput['current']>

/**
 * Array mode: writes what is new in the caller's messages, ends the turn before and opens the new one where they ask for it, runs the micro pass, and says
 * whether the caller has the messages of the next request.
 *
 * The workflow's array is the truth of what happened: what the log has otherwise, because the workflow was reset and went another way, stays, and the
 * caller's messages are written behind it.
 */
export async function syncMessages(deps: ActivityDeps, input: SyncInput): Promise<SyncResult> {
  const { sessionId, previous, current, prompt, digest, end } = input
  const actor = callingRun()
  const ofGroup = (group: PlacedEntry['group']) => input.entries.filter((entry) => entry.group === group)
  await appendEntries(deps, { sessionId, actor, place: null, entries: ofGroup('before') })
  if (previous !== null) {
    await landEntries(deps, sessionId, actor, previous, ofGroup('previous'))
    if (digest !== null || prompt !== null) await endOpenTurn(deps, sessionId, actor, previous, 'completed')
  }
  if (prompt !== null && current !== null) {
    await endStrayTurn(deps, sessionId, actor, current.requestId)
    await beginTurn(deps, sessionId, actor, current.requestId, prompt)
  }
  const step = current === null ? 1 : await landEntries(deps, sessionId, actor, current, ofGroup('step'))
  if (end !== undefined && current !== null) await endOpenTurn(deps, sessionId, actor, current, end)
  return digest === null ? position(deps, sessionId, step, true) : settle(deps, input, actor, step)
}

/** The micro pass, and the comparison of what both sides have. */
async function settle(deps: ActivityDeps, input: SyncInput, actor: Actor, step: number): Promise<SyncResult> {
  const { sessionId, digest } = input
  const { openTurn, openStep } = await loadSession(deps, sessionId)
  // A step that has not begun owns nothing yet.
  const place = { sessionId, turn: openTurn, step: openTurn === null || openStep === 0 ? null : openStep }
  const surface = await microPass(deps, place, actor)
  return position(deps, sessionId, step, messagesDigest(deriveMessages(surface.nodes)) === digest)
}

async function position(
  deps: ActivityDeps,
  sessionId: string,
  step: number,
  same: boolean,
): Promise<SyncResult> {
  const [reading, { openTurn }] = await Promise.all([
    currentReading(deps, sessionId),
    loadSession(deps, sessionId),
  ])
  return { reading, openTurn, step, same }
}

/** Not through the inbox: a workflow that counts its turns has nothing that waits. */
async function beginTurn(
  deps: ActivityDeps,
  sessionId: string,
  actor: Actor,
  requestId: string,
  prompt: NonNullable<SyncInput['prompt']>,
): Promise<void> {
  const problem = promptProblem(prompt)
  if (problem !== undefined)
    throw new SessionError('InvalidInput', `the prompt of turn ${requestId}: ${problem}`)
  const content = promptContent(prompt)
  const message = { requestId, content, source: 'prompt', tokens: priceContent(content) } as const
  await asOwner(deps, sessionId, actor, (owner) =>
    deps.store.startTurn({ sessionId, actor: owner, requestId, messages: [message] }),
  )
}

/** Writes the entries of a turn's step. @returns the step of the next reply */
async function landEntries(
  deps: ActivityDeps,
  sessionId: string,
  actor: Actor,
  at: StepOfRequest,
  entries: readonly PlacedEntry[],
): Promise<number> {
  if (entries.length === 0) return at.step
  const place = await placeFor(deps, sessionId, at, entries)
  await appendEntries(deps, { sessionId, actor, place, entries })
  // Behind all that the ended turn has, so that nothing of it is taken for what comes next.
  const newest = place === null ? (await deps.store.turnByRequest(sessionId, at.requestId))?.step : undefined
  const step = place?.step ?? Math.max(at.step, newest ?? 0)
  return entries.some(({ message }) => message.role === 'assistant') ? step + 1 : step
}

/**
 * The step that the entries belong to: theirs, unless the log has another reply there. A turn that has ended meanwhile takes no more: then the open turn does,
 * and where none is open they belong to no turn.
 */
async function placeFor(
  deps: ActivityDeps,
  sessionId: string,
  { requestId, step }: StepOfRequest,
  entries: readonly PlacedEntry[],
): Promise<Place> {
  const [session, turn] = await Promise.all([
    loadSession(deps, sessionId),
    deps.store.turnByRequest(sessionId, requestId),
  ])
  const known = turn?.turn ?? null
  const first = known === null ? null : await placeOfReply(deps, session, { turn: known, step }, entries)
  if (first !== null && (first.isRecorded || known === session.openTurn)) return first.place
  const { openTurn, openStep } = session
  if (openTurn === null) return null
  return (await placeOfReply(deps, session, { turn: openTurn, step: Math.max(1, openStep) }, entries)).place
}

async function placeOfReply(
  deps: ActivityDeps,
  session: SessionRow,
  { turn, step }: NonNullable<Place>,
  entries: readonly PlacedEntry[],
): Promise<{ place: NonNullable<Place>; isRecorded: boolean }> {
  const { sessionId, openTurn, openStep } = session
  const reply = entries.find(({ message, reply: n }) => message.role === 'assistant' && n === 0)
  if (reply === undefined) {
    // Results and what the user says may follow a reply of this step that came before.
    const place = { turn, step }
    const first = firstKey(entries, place)
    const recorded = first === undefined ? null : await deps.store.eventByKey(sessionId, first)
    return { place, isRecorded: recorded !== null }
  }
  const content = canonicalJson(wellFormed(plainContent(reply.message.content)))
  for (let at = step; ; at++) {
    const recorded = await deps.store.eventByKey(sessionId, keys.assistant(turn, at))
    if (recorded?.type === 'assistant/message' && canonicalJson(recorded.data.content) === content)
      return { place: { turn, step: at }, isRecorded: true }
    if (recorded === null && (turn !== openTurn || at >= openStep))
      return { place: { turn, step: at }, isRecorded: false }
  }
}

function firstKey(entries: readonly PlacedEntry[], place: NonNullable<Place>): string | undefined {
  const [entry] = entries
  const [part] = entry === undefined ? [] : partsOf(entry.message)
  if (entry === undefined || part === undefined) return undefined
  if (part.kind === 'result') return keys.toolResult(place.turn, place.step, part.callId)
  return saidEvent(entry, part.content, place).key
}

/** Ends the caller's turn, unless it has ended. */
async function endOpenTurn(
  deps: ActivityDeps,
  sessionId: string,
  actor: Actor,
  { requestId }: StepOfRequest,
  reason: TurnEndReason,
): Promise<void> {
  const turn = await deps.store.turnByRequest(sessionId, requestId)
  if (turn === null) return
  await asOwner(deps, sessionId, actor, (owner) =>
    deps.store.endTurn({ sessionId, actor: owner, turn: turn.turn, reason }),
  )
}

/** A turn that is open and not the caller's was left by a run that knew more: before a reset, or without what it carried. */
async function endStrayTurn(
  deps: ActivityDeps,
  sessionId: string,
  actor: Actor,
  requestId: string,
): Promise<void> {
  const { openTurn } = await loadSession(deps, sessionId)
  if (openTurn === null || (await deps.store.turnByRequest(sessionId, requestId)) !== null) return
  await asOwner(deps, sessionId, actor, (owner) =>
    deps.store.endTurn({ sessionId, actor: owner, turn: openTurn, reason: 'interrupted' }),
  )
}
