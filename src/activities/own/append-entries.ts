import { learnFromUsage } from '../../shared/compaction/meter.ts'
import { modelKeyOf } from '../../shared/compaction/pressure.ts'
import type { Actor } from '../../shared/ports/store.ts'
import { type ContentBlock, isToolUse } from '../../shared/session/content.ts'
import type { NewEvent } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import { type MessagePart, partsOf } from '../../shared/session/plain-messages.ts'
import type { ActivityDeps } from '../deps.ts'
import { resultEvent } from '../intake.ts'
import { openStep } from '../open-step.ts'
import { overheadTokens } from '../overhead.ts'
import { asOwner } from '../owner.ts'
import { loadMeter, loadSession } from '../session-view.ts'
import { writePaid } from '../write-paid.ts'
import {
  looseResultEvent,
  type NumberedEntry,
  type Place,
  replyEvent,
  saidEvent,
  usageOf,
} from './place-entries.ts'

interface Appending {
  readonly sessionId: string
  readonly actor: Actor
  readonly place: Place
  readonly entries: readonly NumberedEntry[]
}

/**
 * Writes messages of a step, or of no turn. What the log has under its key stays as it is: a retry writes nothing. Each reply with its usage goes by itself, so
 * that the meter learns from the surface that the reply's request was made of.
 *
 * @throws SessionError `TurnClosed`, `Fenced`
 */
export async function appendEntries(deps: ActivityDeps, appending: Appending): Promise<void> {
  const { sessionId, actor, place, entries } = appending
  if (place !== null) await openStep(deps, { sessionId, ...place }, actor)
  const calls = await knownCalls(deps, appending)
  for (const entry of entries) {
    const events: NewEvent[] = []
    for (const part of partsOf(entry.message)) events.push(await eventOf(deps, appending, entry, part, calls))
    await appendMissing(deps, appending, entry, events)
  }
}

async function eventOf(
  deps: ActivityDeps,
  { sessionId, actor, place }: Appending,
  entry: NumberedEntry,
  part: MessagePart,
  { names, inStep }: KnownCalls,
): Promise<NewEvent> {
  if (part.kind === 'said') return saidEvent(entry, part.content, place)
  if (part.kind === 'reply') {
    const { header } = await loadSession(deps, sessionId)
    return replyEvent(entry, part.content, place, header)
  }
  const name = names.get(part.callId) ?? ''
  if (place === null) return looseResultEvent(entry, part, name)
  const { callId, content, isError } = part
  const outcome = { callId, name, content, isError }
  return resultEvent(deps, {
    place: { sessionId, ...place },
    actor,
    outcome,
    callsInStep: Math.max(1, inStep),
  })
}

async function appendMissing(
  deps: ActivityDeps,
  { sessionId, actor, place }: Appending,
  entry: NumberedEntry,
  all: readonly NewEvent[],
): Promise<void> {
  const recorded = await deps.store.eventsByKeys(
    sessionId,
    all.map((event) => event.key),
  )
  const known = new Set(recorded.map((event) => event.key))
  const events = all.filter((event) => !known.has(event.key))
  if (events.length === 0) return
  const meter = await learned(deps, sessionId, entry, events)
  await writePaid(() =>
    asOwner(deps, sessionId, actor, (owner) =>
      deps.store.append({
        sessionId,
        actor: owner,
        turn: place?.turn ?? null,
        events,
        ...(meter === undefined ? {} : { meter }),
      }),
    ),
  )
}

async function learned(
  deps: ActivityDeps,
  sessionId: string,
  entry: NumberedEntry,
  [reply]: readonly NewEvent[],
): Promise<unknown> {
  const usage = usageOf(entry.usage)
  if (usage === null || reply?.type !== 'assistant/message') return undefined
  const session = await loadSession(deps, sessionId)
  const [meter, snapshot] = await Promise.all([loadMeter(deps, session), deps.store.measure(sessionId)])
  return learnFromUsage(meter, {
    usage,
    modelKey: modelKeyOf(session.header),
    nodes: snapshot.nodes,
    overheadTokens: overheadTokens(session.header),
    replyTokens: reply.tokens,
    generation: snapshot.generation,
    headSeq: snapshot.head,
  })
}

interface KnownCalls {
  readonly names: ReadonlyMap<string, string>
  /** Calls of the step's reply, which share the room for results. */
  readonly inStep: number
}

/** A result does not say of which tool it is: its call does, in what is sent, in the step's reply, or further back. */
async function knownCalls(deps: ActivityDeps, { sessionId, place, entries }: Appending): Promise<KnownCalls> {
  const parts = entries.flatMap((entry) => partsOf(entry.message))
  const names = new Map<string, string>()
  const learn = (content: readonly ContentBlock[]) => {
    for (const block of content) if (isToolUse(block)) names.set(block.id, block.name)
  }
  for (const part of parts) if (part.kind === 'reply') learn(part.content)
  if (place !== null) {
    const reply = await deps.store.eventByKey(sessionId, keys.assistant(place.turn, place.step))
    if (reply?.type === 'assistant/message') learn(reply.data.content)
  }
  const inStep = names.size
  const lacksSome = parts.some((part) => part.kind === 'result' && !names.has(part.callId))
  if (!lacksSome) return { names, inStep }
  for (const node of (await deps.store.surface(sessionId)).nodes)
    if (node.type === 'assistant/message') learn(node.data.content)
  return { names, inStep }
}
