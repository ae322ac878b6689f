import { Context, cancellationSignal } from '@temporalio/activity'
import { TemporalFailure } from '@temporalio/common'
import type { z } from 'zod'
import type { CompactionActivityInput, summarizeResultSchema } from '../shared/activity-protocol.ts'
import { LEAST_SUMMARY_TOKENS } from '../shared/compaction/checkpoint-budget.ts'
import { deterministicSummarizer } from '../shared/compaction/deterministic-summarizer.ts'
import { modelSummarizer } from '../shared/compaction/model-summarizer.ts'
import { NOTHING_PAID } from '../shared/compaction/plan-attempt.ts'
import { isSessionError, type SessionError } from '../shared/errors.ts'
import type { AttemptRow, SessionRow, StoredSummary, SurfaceSnapshot } from '../shared/ports/store.ts'
import { type SummarizeInput, type Summarizer, SummaryFailed } from '../shared/ports/summarizer.ts'
import { archivePath, archiveSurface } from './archive/archive-surface.ts'
import { checkpointSource } from './checkpoint-source.ts'
import type { ActivityDeps } from './deps.ts'
import { ATTEMPTS_OF_UNKNOWN } from './model-failed.ts'
import { asOwner } from './owner.ts'
import { paidCalls } from './paid-calls.ts'
import { loadMeter, loadSession } from './session-view.ts'
import { plannedSpan, summaryInput } from './summary-input.ts'

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
  const summarizeInput = await inputOf(deps, row, session, surface)
  if (summarizeInput === null) return failed(NOTHING_PAID, 'changed', 'The span is no longer on the surface.')
  return run(deps, input, session, summarizeInput, surface.head)
}

async function run(
  deps: ActivityDeps,
  input: CompactionActivityInput,
  session: SessionRow,
  work: SummarizeInput,
  requestHead: number,
): Promise<SummarizeResult> {
  const { sessionId, compactionId, turn, parent } = input
  const signal = cancellationSignal()
  const paid = paidCalls({ deps, sessionId, compactionId, turn, actor: parent, signal, requestHead })
  const { stored, problem } =
    noRoom(session, work) ?? (await attempted(summarizerOf(deps, session), work, { signal, paid }))
  const { fallbackReason } = stored
  if (fallbackReason !== undefined && !mayFallBack(session, input, fallbackReason))
    return failed(paid.spent(), 'summary', `No acceptable summary (${fallbackReason}): ${problem}`)
  await asOwner(deps, sessionId, parent, (actor) =>
    deps.store.recordSummary({ sessionId, actor, compactionId, summary: stored }),
  )
  return { kind: 'summarized', paid: paid.spent(), deterministic: stored.summary === null }
}

/** When frame and pins leave a checkpoint of this span no room for a summary, nobody is paid for one that would be refused. */
function noRoom({ header }: SessionRow, { limitTokens }: SummarizeInput): Attempted | undefined {
  if (header.policy.summarizer === 'deterministic' || limitTokens >= LEAST_SUMMARY_TOKENS) return undefined
  return {
    stored: { summary: null, fallbackReason: 'overflow' },
    problem: `Frame and pins of the checkpoint leave ${limitTokens} tokens for a summary, it needs ${LEAST_SUMMARY_TOKENS}. The session is unchanged; unpin some, raise the threshold, or compact more at once.`,
  }
}

async function attempted(
  summarizer: Summarizer,
  work: SummarizeInput,
  context: Parameters<Summarizer['summarize']>[1],
): Promise<Attempted> {
  try {
    return { stored: { summary: await summarizer.summarize(work, context) } }
  } catch (error) {
    const reason = error instanceof SummaryFailed ? error.reason : 'failed'
    if (error instanceof SummaryFailed || (!context.signal.aborted && isFinal(error)))
      return { stored: { summary: null, fallbackReason: reason }, problem: (error as Error).message }
    throw error
  }
}

interface Attempted {
  readonly stored: StoredSummary
  /** In words, beside a `fallbackReason`. */
  readonly problem?: string
}

/** Attempts of the activity that end by a failure; after them a provider that is still away counts as failed, so that the policy's fallback is reached. */
const LAST_ATTEMPT = 8

/** Whether another attempt could not help. */
function isFinal(error: unknown): boolean {
  const { attempt } = Context.current().info
  if (isSessionError(error)) return FINAL[error.name]?.(error, attempt) ?? false
  return !(error instanceof TemporalFailure) && attempt >= ATTEMPTS_OF_UNKNOWN
}

const FINAL: { readonly [name: string]: (error: SessionError, attempt: number) => boolean } = {
  UnknownModel: () => true,
  ModelFailed: ({ details }, attempt) =>
    details['retryable'] !== true || attempt >= LAST_ATTEMPT || waitsTooLong(details['retryAfterMs']),
}

/** Whether Temporal would end the activity instead of waiting for another attempt. */
function waitsTooLong(delayMs: unknown): boolean {
  const { scheduledTimestampMs, scheduleToCloseTimeoutMs } = Context.current().info
  return typeof delayMs === 'number' && Date.now() + delayMs > scheduledTimestampMs + scheduleToCloseTimeoutMs
}

function summarizerOf(deps: ActivityDeps, session: SessionRow): Summarizer {
  if (session.header.policy.summarizer === 'deterministic') return deterministicSummarizer()
  return deps.summarizer ?? modelSummarizer(deps.models)
}

/** `overflow`: only an attempt that the turn cannot do without, or a summary whose own request cannot be made to fit. */
function mayFallBack(session: SessionRow, input: CompactionActivityInput, reason: string): boolean {
  const { summaryFallback } = session.header.policy
  if (summaryFallback !== 'overflow') return summaryFallback === 'always'
  return input.cause === 'context-overflow' || reason === 'overflow'
}

/** Null when a node of the plan has left the surface. */
async function inputOf(
  deps: ActivityDeps,
  row: AttemptRow,
  session: SessionRow,
  surface: SurfaceSnapshot,
): Promise<SummarizeInput | null> {
  const span = plannedSpan(row, surface)
  if (span === null) return null
  const source = await checkpointSource(deps, session, span, archivePath(session, row))
  return summaryInput({ session, row, surface, span, source, meter: await loadMeter(deps, session) })
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
