import { cancellationSignal } from '@temporalio/activity'
import type { z } from 'zod'
import type { CompactionActivityInput, summarizeResultSchema } from '../shared/activity-protocol.ts'
import { LEAST_SUMMARY_TOKENS } from '../shared/compaction/checkpoint-budget.ts'
import { deterministicSummarizer } from '../shared/compaction/deterministic-summarizer.ts'
import { modelSummarizer } from '../shared/compaction/model-summarizer.ts'
import { NOTHING_PAID } from '../shared/compaction/plan-attempt.ts'
import { summaryModels } from '../shared/compaction/policy-schema.ts'
import { callsOfModel } from '../shared/compaction/summary-run.ts'
import type { AttemptRow, SessionRow, SurfaceSnapshot } from '../shared/ports/store.ts'
import type { PaidCalls, SummarizeInput } from '../shared/ports/summarizer.ts'
import { archivePath, archiveSurface } from './archive/archive-surface.ts'
import { checkpointSource } from './checkpoint-source.ts'
import type { ActivityDeps } from './deps.ts'
import { type Asked, type Attempted, firstSummary } from './first-summary.ts'
import { asOwner } from './owner.ts'
import { paidCalls } from './paid-calls.ts'
import { isBudgetSpent, loadMeter, loadSession } from './session-view.ts'
import { plannedSpan, type SummaryParts, summaryInput } from './summary-input.ts'

export type SummarizeResult = z.infer<typeof summarizeResultSchema>

/**
 * Makes the model's part of the checkpoint and keeps it with the attempt. Resumes after the last stored call. When no summary is accepted the policy decides:
 * the deterministic checkpoint, or the failure `summary`.
 *
 * @throws SessionError `Fenced`; Temporal's cancel; a provider's retryable failure
 */
export async function summarize(
  deps: ActivityDeps,
  input: CompactionActivityInput,
): Promise<SummarizeResult> {
  const { sessionId, compactionId } = input
  const row = await deps.store.attempt(sessionId, compactionId)
  if (row?.summary !== undefined)
    return { kind: 'summarized', paid: NOTHING_PAID, deterministic: row.summary.summary === null }
  if (row === null || row.state !== 'open' || row.plan === null) {
    return failed(
      NOTHING_PAID,
      'interrupted',
      `Attempt ${compactionId} is ${row?.state ?? 'absent'}: it was closed by another.`,
    )
  }
  const [session, surface] = await Promise.all([loadSession(deps, sessionId), deps.store.surface(sessionId)])
  const unwritten = await archiveSurface(deps, session, row, surface)
  if (unwritten !== undefined) return failed(NOTHING_PAID, 'archive', unwritten)
  const work = await workOf(deps, row, session, surface)
  if (work === null) return failed(NOTHING_PAID, 'changed', 'The span is no longer on the surface.')
  return run(deps, input, work)
}

async function run(
  deps: ActivityDeps,
  input: CompactionActivityInput,
  { parts, work }: Work,
): Promise<SummarizeResult> {
  const { sessionId, compactionId, turn, parent } = input
  const { session, surface } = parts
  const signal = cancellationSignal()
  const requestHead = surface.head
  const paid = paidCalls({ deps, sessionId, compactionId, turn, actor: parent, signal, requestHead })
  const { stored, problem } =
    noRoom(session, work) ??
    (await noBudget(deps, session, input)) ??
    (await firstSummary(deps, input, asked(deps, { parts, work }, { signal, paid })))
  const { fallbackReason } = stored
  if (fallbackReason !== undefined && !mayFallBack(session, input, fallbackReason))
    return failed(paid.spent(), 'summary', `No acceptable summary (${fallbackReason}): ${problem}`)
  await asOwner(deps, sessionId, parent, (actor) =>
    deps.store.recordSummary({ sessionId, actor, compactionId, summary: stored }),
  )
  return { kind: 'summarized', paid: paid.spent(), deterministic: stored.summary === null }
}

/** Code, or a summarizer of the worker's own, stands for every model that the policy names. */
function asked(
  deps: ActivityDeps,
  { parts, work }: Work,
  context: { readonly signal: AbortSignal; readonly paid: PaidCalls },
): Asked {
  const { signal, paid } = context
  const { policy } = parts.session.header
  const own = policy.summarizer === 'deterministic' ? deterministicSummarizer() : deps.summarizer
  if (own !== undefined) return { models: [], ask: () => own.summarize(work, context), signal }
  const models = summaryModels(policy)
  const ask = (place: number) => {
    const model = models[place]
    const request = place === 0 || model === undefined ? work : summaryInput({ ...parts, model })
    if (request === null) throw new Error('A plan that the first model was given has nothing for another.')
    return modelSummarizer(deps.models).summarize(request, { signal, paid: callsOfModel(paid, place) })
  }
  return { models, ask, signal }
}

/** When frame and pins leave a checkpoint of this span no room for a summary, nobody is paid for one that would be refused. */
function noRoom({ header }: SessionRow, { limitTokens }: SummarizeInput): Attempted | undefined {
  if (header.policy.summarizer === 'deterministic' || limitTokens >= LEAST_SUMMARY_TOKENS) return undefined
  return {
    stored: { summary: null, fallbackReason: 'overflow' },
    problem: `Frame and pins of the checkpoint leave ${limitTokens} tokens for a summary, it needs ${LEAST_SUMMARY_TOKENS}. The session is unchanged; unpin some, raise the threshold, or compact more at once.`,
  }
}

/** The attempt that a turn cannot do without is free when the budget is used up. One that has paid goes on. */
async function noBudget(
  deps: ActivityDeps,
  session: SessionRow,
  { cause, compactionId }: CompactionActivityInput,
): Promise<Attempted | undefined> {
  if (session.header.policy.summarizer === 'deterministic' || cause !== 'context-overflow') return undefined
  if (!(await isBudgetSpent(deps, session, compactionId))) return undefined
  return {
    stored: { summary: null, fallbackReason: 'budget-spent' },
    problem:
      "The policy's compactionBudget is used up, and its summaryFallback allows no checkpoint by code.",
  }
}

/** `overflow`: only an attempt that the turn cannot do without, or a summary whose own request cannot be made to fit. */
function mayFallBack(session: SessionRow, input: CompactionActivityInput, reason: string): boolean {
  const { summaryFallback } = session.header.policy
  if (summaryFallback !== 'overflow') return summaryFallback === 'always'
  return input.cause === 'context-overflow' || reason === 'overflow'
}

interface Work {
  readonly parts: SummaryParts & { readonly session: SessionRow }
  /** What the policy's summarizer is asked. */
  readonly work: SummarizeInput
}

/** Null when a node of the plan has left the surface. */
async function workOf(
  deps: ActivityDeps,
  row: AttemptRow,
  session: SessionRow,
  surface: SurfaceSnapshot,
): Promise<Work | null> {
  const span = plannedSpan(row, surface)
  if (span === null) return null
  const source = await checkpointSource(deps, session, span, archivePath(session, row))
  const parts = { session, row, surface, span, source, meter: await loadMeter(deps, session) }
  const work = summaryInput(parts)
  return work === null ? null : { parts, work }
}

const failed = (
  paid: SummarizeResult['paid'],
  code: 'summary' | 'changed' | 'archive' | 'interrupted',
  message: string,
): SummarizeResult => ({
  kind: 'failed',
  paid,
  error: { code, stage: 'summarize', message },
})
