import { type CheckpointSource, planCheckpoint } from '../shared/compaction/checkpoint.ts'
import { type MeterState, ratioOf } from '../shared/compaction/meter.ts'
import type { AttemptRow, SessionRow, SurfaceSnapshot } from '../shared/ports/store.ts'
import type { SummarizeInput } from '../shared/ports/summarizer.ts'
import type { Header, SurfaceNode } from '../shared/session/events.ts'
import { deriveMessages } from '../shared/session/messages.ts'
import { countTokens } from '../shared/tokens/counter.ts'
import { priceContent } from '../shared/tokens/price.ts'
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
}

/** What a summarizer is asked, of what the store holds alone: so its requests can be built again byte for byte. Null without a plan. */
export function summaryInput(parts: SummaryParts): SummarizeInput | null {
  const { session, row, surface, span, source, meter } = parts
  const { plan } = row
  const last = span.at(-1)
  if (plan === null || last === undefined) return null
  const { policy } = session.header
  const { budget } = planCheckpoint(source)
  const request = turnRequest(session.sessionId, summaryHeader(session), surface.nodes, 0)
  return {
    span: deriveMessages(span),
    chunks: splitAt(span, plan.chunkEnds).map(deriveMessages),
    request: { ...request, purpose: 'summary', maxTokens: policy.summaryMaxTokens },
    lastSeq: last.seq,
    ...(row.focus === undefined ? {} : { focus: row.focus }),
    maxTokens: policy.summaryMaxTokens,
    askTokens: budget.summaryAskTokens,
    limitTokens: budget.summaryLimitTokens,
    spanTokens: plan.shadowedTokenCount,
    usageRatio: ratioOf(meter, `${request.provider}/${request.model}`),
    ...(row.cause === 'context-overflow' && isOwnModel(session, request)
      ? { refusedTokens: plan.tokensBefore + policy.replyMaxTokens }
      : {}),
    countTokens,
    priceContent,
  }
}

/** The summary goes to the policy's summarizer; with the session's own model the request repeats the last one's prefix. */
function summaryHeader(session: Session): Header {
  const { summarizer } = session.header.policy
  if (summarizer === 'deterministic')
    return {
      ...session.header,
      provider: session.header.provider ?? 'none',
      model: session.header.model ?? 'none',
    }
  const isOwn = isOwnModel(session, summarizer)
  // Settings of one model may be invalid for another, and without a shared cache nothing is gained by keeping them.
  return {
    ...session.header,
    provider: summarizer.provider,
    model: summarizer.model,
    sampling: isOwn ? session.header.sampling : {},
  }
}

const isOwnModel = (
  { header }: Session,
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
