import { isSpent, NOTHING_SPENT, type Spending, spendingOf } from '../shared/compaction/compaction-budget.ts'
import { type MeterState, meterFrom, withFirstRatio } from '../shared/compaction/meter.ts'
import { modelKeyOf, takeReading } from '../shared/compaction/pressure.ts'
import type { SessionRow, SurfaceMeasure } from '../shared/ports/store.ts'
import type { Reading } from '../shared/protocol.ts'
import type { Header } from '../shared/session/events.ts'
import type { ActivityDeps } from './deps.ts'
import { overheadTokens } from './overhead.ts'
import { unknownSession } from './owner.ts'

/** @throws SessionError `SessionNotFound` */
export async function loadSession(deps: ActivityDeps, sessionId: string): Promise<SessionRow> {
  const session = await deps.store.session(sessionId)
  if (session === null) throw unknownSession(sessionId)
  return session
}

/** What was learned of the session's model; before the first usage what its client says of itself. */
export async function loadMeter(deps: ActivityDeps, { sessionId, header }: SessionRow): Promise<MeterState> {
  const stored = await deps.store.meter(sessionId)
  const meter = meterFrom(stored)
  const { provider, model } = header
  if (provider === null || model === null) return meter
  return withFirstRatio(meter, modelKeyOf(header), deps.models[provider]?.firstUsageRatio?.(model))
}

/** The reading that every session activity returns, from prices alone: no body is read. */
export async function currentReading(deps: ActivityDeps, sessionId: string): Promise<Reading> {
  const session = await loadSession(deps, sessionId)
  const [snapshot, meter, budgetSpent, replies] = await Promise.all([
    deps.store.measure(sessionId),
    loadMeter(deps, session),
    isBudgetSpent(deps, session),
    countReplies(deps, sessionId),
  ])
  return readingOf({ header: session.header, snapshot, meter, budgetSpent, replies, nowMs: deps.clock() })
}

/** Replies of the session so far: the index of the next one, and the breaker's count of steps. */
export const countReplies = (deps: ActivityDeps, sessionId: string): Promise<number> =>
  deps.store.countEvents(sessionId, 'assistant/message')

/** What the session's compactions have cost; nothing is read without a budget. @param except an attempt that is not counted */
export async function loadSpending(
  { store }: ActivityDeps,
  { sessionId, header }: SessionRow,
  except?: string,
): Promise<Spending> {
  if (header.policy.compactionBudget === undefined) return NOTHING_SPENT
  const paid = await store.attemptUsage(sessionId)
  return spendingOf(paid.filter(({ compactionId }) => compactionId !== except).map(({ usage }) => usage))
}

export const isBudgetSpent = async (
  deps: ActivityDeps,
  session: SessionRow,
  except?: string,
): Promise<boolean> => isSpent(session.header.policy, await loadSpending(deps, session, except))

export interface Measured {
  readonly header: Header
  readonly snapshot: SurfaceMeasure
  readonly meter: MeterState
  readonly budgetSpent: boolean
  readonly replies: number
  readonly nowMs: number
}

export const readingOf = ({ replies, ...measured }: Measured): Reading =>
  takeReading({ ...measured, overheadTokens: overheadTokens(measured.header), step: replies })
