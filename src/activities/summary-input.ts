import { type CheckpointSource, planCheckpoint } from '../shared/compaction/checkpoint.ts'
import { chunkLimit, planChunks } from '../shared/compaction/chunks.ts'
import { type MeterState, ratioOf } from '../shared/compaction/meter.ts'
import { type SummaryModel, summaryModels } from '../shared/compaction/policy-schema.ts'
import type { AttemptRow, CompactionPlan, SessionRow, SurfaceSnapshot } from '../shared/ports/store.ts'
import type { SummarizeInput } from '../shared/ports/summarizer.ts'
import type { Header, SurfaceNode } from '../shared/session/events.ts'
import { deriveMessages } from '../shared/session/messages.ts'
import { countTokens } from '../shared/tokens/counter.ts'
import { priceContent } from '../shared/tokens/price.ts'
import { overheadTokens } from './overhead.ts'
import { turnRequest } from './turn-request.ts'

type Session = Pick<SessionRow, 'sessionId' | 'header'>
type Attempt = Pick<AttemptRow, 'plan' | 'cause' | 'focus'>

/** The nodes of an attempt's plan, in surface order; null when one of them has left the surface. */
export function plannedSpan({ plan }: Attempt, { nodes }: SurfaceSnapshot): readonly SurfaceNode[] | null {
  if (plan === null) return null
  const shadowed = new Set(plan.shadowedSeqs)
  const span = nodes.filter((node) => shadowed.has(node.seq))
  return span.length === plan.shadowedSeqs.length && span.length > 0 ? span : null
}

export interface SummaryParts {
  readonly session: Session
  readonly row: Attempt
  readonly surface: SurfaceSnapshot
  readonly span: readonly SurfaceNode[]
  readonly source: CheckpointSource
  readonly meter: MeterState
  /** Who is asked; default: the policy's summarizer. */
  readonly model?: SummaryModel
}

/** What a summarizer is asked, of what the store holds alone: so its requests can be built again byte for byte. Null without a plan. */
export function summaryInput(parts: SummaryParts): SummarizeInput | null {
  const { session, row, surface, span, source, meter } = parts
  const { policy } = session.header
  const [first] = summaryModels(policy)
  const asked = parts.model ?? first
  const { plan } = row
  const last = span.at(-1)
  if (plan === null || last === undefined) return null
  const { budget } = planCheckpoint(source)
  const request = turnRequest(session.sessionId, summaryHeader(session, asked), surface.nodes, 0)
  return {
    span: deriveMessages(span),
    chunks: splitAt(span, chunkEndsFor(parts, plan)).map(deriveMessages),
    request: { ...request, purpose: 'summary', maxTokens: policy.summaryMaxTokens },
    lastSeq: last.seq,
    ...(row.focus === undefined ? {} : { focus: row.focus }),
    maxTokens: policy.summaryMaxTokens,
    askTokens: budget.summaryAskTokens,
    limitTokens: budget.summaryLimitTokens,
    spanTokens: plan.shadowedTokenCount,
    ...(asked?.window ? { contextWindow: asked.window } : {}),
    usageRatio: ratioOf(meter, `${request.provider}/${request.model}`),
    ...(row.cause === 'context-overflow' && isOwnModel(session, request)
      ? { refusedTokens: plan.tokensBefore + policy.replyMaxTokens }
      : {}),
    countTokens,
    priceContent,
  }
}

/**
 * The plan's chunks are those of the policy's summarizer. Another model's follow from header and span alone, which stand while the attempt is open: they are the
 * same after a crash.
 */
function chunkEndsFor(
  { session: { header }, span, model }: SummaryParts,
  plan: CompactionPlan,
): readonly number[] {
  if (model === undefined) return plan.chunkEnds
  const { provider, window } = model
  const policy = {
    summarizer: { provider, model: model.model },
    summarizerWindow: window,
    summaryMaxTokens: header.policy.summaryMaxTokens,
  }
  return planChunks(span, chunkLimit(policy, { overheadTokens: overheadTokens(header) }))
}

/** The summary goes to the model that is asked; with the session's own model the request repeats the last one's prefix. */
function summaryHeader({ header }: Session, asked: SummaryModel | undefined): Header {
  if (asked === undefined)
    return { ...header, provider: header.provider ?? 'none', model: header.model ?? 'none' }
  const { provider, model } = asked
  // Settings of one model may be invalid for another, and without a shared cache nothing is gained by keeping them.
  return { ...header, provider, model, sampling: isOwnModel({ header }, asked) ? header.sampling : {} }
}

const isOwnModel = (
  { header }: Pick<Session, 'header'>,
  other: { readonly provider: string; readonly model: string },
): boolean => other.provider === header.provider && other.model === header.model

function splitAt(span: readonly SurfaceNode[], ends: readonly number[]): SurfaceNode[][] {
  const chunks: SurfaceNode[][] = [[]]
  for (const node of span) {
    chunks.at(-1)?.push(node)
    if (ends.includes(node.seq)) chunks.push([])
  }
  return chunks.filter((chunk) => chunk.length > 0)
}
