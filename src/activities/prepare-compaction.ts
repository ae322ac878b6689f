import { Context } from '@temporalio/activity'
import type { z } from 'zod'
import type { CompactionActivityInput, prepareResultSchema } from '../shared/activity-protocol.ts'
import {
  forbiddenAttempt,
  NOTHING_PAID,
  type PlanAttemptInput,
  type PlannedAttempt,
  planAttempt,
} from '../shared/compaction/plan-attempt.ts'
import { isSessionError } from '../shared/errors.ts'
import type { Actor, AttemptRow, OpenAttempt } from '../shared/ports/store.ts'
import type { CompactionOutcome } from '../shared/protocol.ts'
import { priceContent } from '../shared/tokens/price.ts'
import { standingTokens } from './control/pins.ts'
import type { ActivityDeps } from './deps.ts'
import { askHook, type Verdict } from './hooks/ask-hook.ts'
import { overheadTokens } from './overhead.ts'
import { asOwner } from './owner.ts'
import { replanned } from './replanned.ts'
import { countReplies, currentReading, isBudgetSpent, loadMeter, loadSession } from './session-view.ts'

export type PrepareResult = z.infer<typeof prepareResultSchema>

/** As the child's run time-out: after it nobody works on the attempt any more. */
const ATTEMPT_MS = 30 * 60_000

/**
 * Opens the attempt: prune copies, frozen plan and `compact/start` in one transaction, or an outcome without a bracket. An attempt that is
 * known comes back as it is and nothing is selected anew.
 *
 * @throws SessionError `InvalidSpan`, `Fenced`
 */
export async function prepareCompaction(
  deps: ActivityDeps,
  input: CompactionActivityInput,
): Promise<PrepareResult> {
  let verdict: Promise<Verdict> | undefined
  // Asked once, however often the plan is made.
  const ask: Ask = (plan, limit) => {
    verdict ??= askHook(deps, input, plan, limit)
    return verdict
  }
  try {
    return await replanned(() => prepareOnce(deps, input, ask))
  } catch (error) {
    if (!isSessionError(error, 'Busy')) throw error
    return { ...toldHooks(deps), kind: 'done', outcome: await refusedAsBusy(deps, input) }
  }
}

type Ask = (plan: PlannedAttempt, limit: number | null) => Promise<Verdict>

async function prepareOnce(
  deps: ActivityDeps,
  input: CompactionActivityInput,
  ask: Ask,
): Promise<PrepareResult> {
  const { sessionId, compactionId, parent } = input
  const known = await deps.store.attempt(sessionId, compactionId)
  if (known !== null) return resultOf(deps, input, known)
  const session = await loadSession(deps, sessionId)
  const { header } = session
  const [surface, meter, budgetSpent, replies, pinTokens] = await Promise.all([
    deps.store.surface(sessionId),
    loadMeter(deps, session),
    isBudgetSpent(deps, session),
    countReplies(deps, sessionId),
    standingTokens(deps, sessionId, header.policy),
  ])
  const planning: PlanAttemptInput = {
    attempt: input,
    header,
    surface,
    meter,
    budgetSpent,
    replies,
    overheadTokens: overheadTokens(header),
    pinTokens,
    price: priceContent,
    nowMs: deps.clock(),
  }
  const plan = planAttempt(planning)
  const verdict = await ask(plan, header.policy.pressureTokens)
  const { focus: _focus, ...rest } = input
  const decided = verdict.focus === undefined ? rest : { ...rest, focus: verdict.focus }
  const row = await asOwner(deps, sessionId, parent, (actor) =>
    deps.store.openAttempt(openRequest(deps, decided, actor, surface.head, judged(planning, plan, verdict))),
  )
  return {
    ...resultOf(deps, input, row),
    ...(verdict.error === undefined ? {} : { hookError: verdict.error }),
  }
}

function judged(planning: PlanAttemptInput, plan: PlannedAttempt, verdict: Verdict): PlannedAttempt {
  const { refused, failed } = verdict
  if (refused !== undefined)
    return forbiddenAttempt(planning, { outcome: 'nothing', reason: 'refused', message: refused })
  if (failed !== undefined)
    return forbiddenAttempt(planning, {
      outcome: 'failed',
      error: { code: 'hook', stage: 'prepare', message: failed },
    })
  return plan
}

function openRequest(
  deps: ActivityDeps,
  input: CompactionActivityInput,
  actor: Actor,
  head: number,
  planned: PlannedAttempt,
): OpenAttempt {
  const { info } = Context.current()
  return {
    sessionId: input.sessionId,
    actor,
    expectedHead: head,
    attempt: {
      compactionId: input.compactionId,
      cause: input.cause,
      turn: input.turn,
      ...(input.focus === undefined ? {} : { focus: input.focus }),
      childWorkflowId: info.workflowExecution?.workflowId ?? '',
      namespace: info.namespace,
      cluster: deps.cluster,
      ...(input.requestIds === undefined ? {} : { requestIds: input.requestIds }),
      deadline: deps.clock() + ATTEMPT_MS,
    },
    copies: planned.copies,
    ...(planned.kind === 'plan' ? { plan: planned.plan } : { void: planned.outcome, meter: planned.meter }),
  }
}

function resultOf(deps: ActivityDeps, input: CompactionActivityInput, row: AttemptRow): PrepareResult {
  const amended = row.focus === input.focus ? {} : { focus: row.focus ?? '' }
  const told = { ...toldHooks(deps), ...amended }
  if (row.state === 'open' && row.plan !== null)
    return { ...told, kind: 'planned', chunks: row.plan.chunkEnds.length }
  if (row.outcome === null)
    throw new Error(`Attempt ${row.compactionId} is ${row.state} without plan and outcome.`)
  return { ...told, kind: 'done', outcome: row.outcome }
}

/** The hooks that the attempt's workflow has to call at its end: with none, it schedules nothing for them. */
function toldHooks({ hooks }: ActivityDeps): Pick<PrepareResult, 'hooks'> {
  const names = (['afterCompaction', 'compactionFailed'] as const).filter(
    (name) => hooks?.[name] !== undefined,
  )
  return names.length === 0 ? {} : { hooks: names }
}

/** No row is written for it, so those who asked are told here. */
async function refusedAsBusy(deps: ActivityDeps, input: CompactionActivityInput): Promise<CompactionOutcome> {
  const { sessionId, requestIds = [], parent } = input
  const rows = requestIds.map((requestId) => ({
    requestId,
    state: 'refused' as const,
    outcome: { error: 'Busy' },
  }))
  if (rows.length > 0)
    await asOwner(deps, sessionId, parent, (actor) => deps.store.settleInbox({ sessionId, actor, rows }))
  const reading = await currentReading(deps, input.sessionId)
  return {
    v: 1,
    compactionId: input.compactionId,
    outcome: 'failed',
    reading,
    tokensBefore: reading.tokens,
    tokensAfter: reading.tokens,
    paid: NOTHING_PAID,
    error: {
      code: 'busy',
      stage: 'prepare',
      message: `Another compaction of session ${input.sessionId} is open.`,
    },
  }
}
