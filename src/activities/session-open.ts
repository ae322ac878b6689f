import type { z } from 'zod'
import type { openInputSchema, openResultSchema } from '../shared/activity-protocol.ts'
import { SessionError } from '../shared/errors.ts'
import type { SessionRow } from '../shared/ports/store.ts'
import { canonicalJson } from '../shared/session/canonical-json.ts'
import type { Header } from '../shared/session/events.ts'
import { hash53, isConfiguredKey, keys } from '../shared/session/keys.ts'
import { changedSettings, settingsOf } from '../shared/session/settings.ts'
import type { ActivityDeps } from './deps.ts'
import { asOwner, callingRun, currentRun, takeOver, unknownSession } from './owner.ts'
import { resolveHeader } from './resolve-header.ts'
import { resolveOwnHeader } from './resolve-own-header.ts'
import { currentReading, loadSession } from './session-view.ts'

/**
 * First activity of every run: creates the session or makes this run its owner, refuses what the worker cannot serve, and says what waits.
 *
 * @throws SessionError `SessionNotFound` (woken without a start), `SessionClosed`, `InvalidPolicy`, `InvalidInput`, `UnknownModel`, `UnknownTool`, `SessionOwned`, `Fenced`
 */
export async function openSession(
  deps: ActivityDeps,
  input: z.infer<typeof openInputSchema>,
): Promise<z.infer<typeof openResultSchema>> {
  const { sessionId } = input
  const known = await deps.store.session(sessionId)
  const wanted = await wantedHeader(deps, input, known)
  const session =
    known === null
      ? await create(deps, sessionId, wanted)
      : await reopen(deps, known, wanted, input.start !== undefined)
  const [reading, waiting, controls, openTurn] = await Promise.all([
    currentReading(deps, sessionId),
    deps.store.inbox(sessionId, { kind: 'prompt', state: 'waiting' }),
    deps.store.inbox(sessionId, { kind: 'control', state: 'waiting', limit: 1 }),
    openTurnOf(deps, session),
  ])
  return {
    life: session.life,
    reading,
    idleTimeoutMs: session.header.policy.idleTimeoutMs,
    openTurn,
    ...(input.header === undefined ? {} : retriesOf(session)),
    waiting: waiting
      .filter((row) => row.delivery !== 'no-wake')
      .map((row) => ({ requestId: row.requestId, delivery: row.delivery ?? 'next-turn' })),
    controlsWait: controls.length > 0,
  }
}

/** What is asked for, decided, with what the session had where a start leaves something out; null when a message woke the session, which goes on with what it has. */
async function wantedHeader(
  deps: ActivityDeps,
  { start, header, policy, preset }: z.infer<typeof openInputSchema>,
  known: SessionRow | null,
): Promise<Header | null> {
  if (start !== undefined)
    return resolveHeader(deps, changedSettings(known && settingsOf(known.header), start))
  return header === undefined ? null : resolveOwnHeader(deps, { header, policy, preset })
}

const retriesOf = ({ header: { policy } }: SessionRow) => ({
  compactionRetries: policy.compactionRetries,
  maxOverflowRetries: policy.maxOverflowRetries,
})

async function create(deps: ActivityDeps, sessionId: string, header: Header | null): Promise<SessionRow> {
  if (header === null) throw unknownSession(sessionId)
  const actor = callingRun()
  const { firstRunId } = await currentRun(deps, actor)
  return deps.store.createSession({ sessionId, actor, lifeRunId: firstRunId, header })
}

/** `isStart`: the header is of what began this life. Opened again by a reset, it must not take back what a person has configured since. */
async function reopen(
  deps: ActivityDeps,
  known: SessionRow,
  header: Header | null,
  isStart: boolean,
): Promise<SessionRow> {
  const actor = callingRun()
  const { sessionId } = known
  if (known.closed && header === null) {
    throw new SessionError(
      'SessionClosed',
      `Session ${sessionId} was closed: start it again to reopen it. Waiting prompts are kept.`,
    )
  }
  const isOwner = known.owner.workflowId === actor.workflowId && known.owner.runId === actor.runId
  const session = isOwner ? known : await takeOver(deps, sessionId, actor)
  if (header === null || canonicalJson(header) === canonicalJson(session.header)) return session
  if (isStart && (await isConfigured(deps, session))) return session
  await asOwner(deps, sessionId, actor, (owner) =>
    deps.store.append({
      sessionId,
      actor: owner,
      turn: null,
      events: [
        {
          key: headerKey(header, session),
          type: 'request/header',
          turn: null,
          step: null,
          data: header,
          tokens: 0,
        },
      ],
    }),
  )
  return loadSession(deps, sessionId)
}

/** Whether the newest header is of this life, and a request asked for it. */
async function isConfigured({ store }: ActivityDeps, session: SessionRow): Promise<boolean> {
  const { sessionId, life, headerSeq } = session
  const began = life === 1 ? null : await store.eventByKey(sessionId, keys.life(life))
  if (began !== null && headerSeq < began.seq) return false
  const [header] = await store.events(sessionId, { after: headerSeq - 1, limit: 1 })
  return header !== undefined && isConfiguredKey(header.key)
}

const headerKey = (header: Header, session: SessionRow) =>
  keys.headerAfter(hash53(canonicalJson(header)).toString(36), session.headerSeq)

async function openTurnOf(deps: ActivityDeps, session: SessionRow) {
  if (session.openTurn === null) return null
  const [start] = await deps.store.events(session.sessionId, {
    types: ['turn/start'],
    turn: session.openTurn,
    limit: 1,
  })
  return start?.type === 'turn/start' ? { turn: session.openTurn, requestId: start.data.requestId } : null
}
