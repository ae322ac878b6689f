import type { CompactionPlan } from '../ports/store.ts'
import type { Span } from '../protocol.ts'
import type { Lost, SurfaceNode, Usage } from '../session/events.ts'
import { buildCheckpoint, type CheckpointSource, planCheckpoint } from './checkpoint.ts'
import { type CheckpointBudget, LEAST_SUMMARY_TOKENS } from './checkpoint-budget.ts'
import { ratioOf } from './meter.ts'
import { type PlanAttemptInput, planAttempt } from './plan-attempt.ts'
import { modelKeyOf, takeReading } from './pressure.ts'

/** What a compaction would do now. All tokens but `checkpointTokens` and `spanTokens` are the provider's, estimated. */
export type CompactionPreview =
  | {
      readonly outcome: 'nothing'
      readonly reason: string
      readonly tokensBefore: number
    }
  | {
      readonly outcome: 'compacted'
      readonly span: Span
      /** Messages that would be replaced, and those that would stay as they are. */
      readonly messages: number
      readonly kept: number
      readonly tokensBefore: number
      /** With a checkpoint that code writes alone; one with a model's summary is about as long. */
      readonly tokensAfter: number
      /** Of our counter. */
      readonly spanTokens: number
      readonly checkpointTokens: number
      /** As that checkpoint would say of itself. */
      readonly lost: Lost
      /** `provider/model` of the summary, null when code writes it. */
      readonly model: string | null
      /** Model calls without retries, and their tokens together. Cache reads: what the provider's prompt cache holds if it was used lately. */
      readonly calls: number
      readonly usage: Usage
    }

export interface PreviewInput extends Omit<PlanAttemptInput, 'attempt'> {
  readonly span?: Span
  readonly focus?: string
  /** The sources of a checkpoint of exactly these nodes. */
  readonly sourceOf: (nodes: readonly SurfaceNode[]) => Promise<CheckpointSource>
}

/** Plans a person's compaction as prepare does, and writes nothing. @throws SessionError `InvalidSpan` */
export async function previewCompaction(input: PreviewInput): Promise<CompactionPreview> {
  const { span, focus = '', sourceOf, ...state } = input
  const { surface, header, meter, overheadTokens } = state
  const cause = span === undefined ? 'manual' : 'region'
  const attempt = {
    compactionId: 'preview',
    cause,
    turn: null,
    ...(span === undefined ? {} : { span }),
  } as const
  const planned = planAttempt({ ...state, attempt })
  if (planned.kind === 'void') {
    const { reason = 'nothing', tokensBefore } = planned.outcome
    return { outcome: 'nothing', reason, tokensBefore }
  }
  const { plan } = planned
  const shadowed = new Set(plan.shadowedSeqs)
  const nodes = surface.nodes.filter((node) => shadowed.has(node.seq))
  const source = await sourceOf(nodes)
  const last = surface.nodes.findIndex((node) => node.seq === plan.shadowedSeqs.at(-1))
  const built = buildCheckpoint({ ...source, tail: surface.nodes.slice(last + 1), summary: null })
  const left = surface.nodes.filter((node) => !shadowed.has(node.seq))
  const checkpoint = { seq: surface.head, type: 'user/message' as const, tokens: input.price(built.content) }
  const { tokens: tokensAfter } = takeReading({
    snapshot: { head: surface.head, generation: surface.generation + 1, nodes: [...left, checkpoint] },
    header,
    overheadTokens,
    meter,
    nowMs: state.nowMs,
  })
  return {
    outcome: 'compacted',
    span: { start: plan.shadowedSeqs[0] ?? 0, end: plan.shadowedSeqs.at(-1) ?? 0 },
    messages: nodes.length,
    kept: left.length,
    tokensBefore: plan.tokensBefore,
    tokensAfter,
    spanTokens: plan.shadowedTokenCount,
    checkpointTokens: built.tokens,
    lost: built.lost,
    ...priceOf(input, plan, planCheckpoint(source).budget, source.countTokens(focus)),
  }
}

/** About what the instruction of a summary has, by our counter. */
const INSTRUCTION_TOKENS = 700

function priceOf(
  { header, meter, surface, overheadTokens }: PreviewInput,
  plan: CompactionPlan,
  { summaryAskTokens, summaryLimitTokens }: CheckpointBudget,
  focusTokens: number,
): { model: string | null; calls: number; usage: Usage } {
  const { summarizer } = header.policy
  const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  if (summarizer === 'deterministic' || summaryLimitTokens < LEAST_SUMMARY_TOKENS)
    return { model: null, calls: 0, usage: none }
  const model = modelKeyOf(summarizer)
  const ratio = ratioOf(meter, model)
  const chunks = plan.chunkEnds.length
  const calls = chunks === 1 ? 1 : chunks + 1
  const instructions = Math.ceil(ratio * calls * INSTRUCTION_TOKENS)
  const outputTokens = Math.ceil(ratio * calls * (summaryAskTokens + focusTokens))
  // The session's own model gets the conversation as it stands; another one, or one that reads parts, the span.
  const isReplay = chunks === 1 && model === modelKeyOf(header)
  const { anchor } = meter
  const isCached = isReplay && anchor?.generation === surface.generation && anchor.modelKey === model
  const cacheReadTokens = isCached ? Math.min(anchor.contextTokens, plan.tokensBefore) : 0
  const read = isReplay
    ? plan.tokensBefore
    : Math.ceil(ratio * (plan.shadowedTokenCount + chunks * overheadTokens)) +
      (chunks === 1 ? 0 : outputTokens)
  return {
    model,
    calls,
    usage: { ...none, inputTokens: read - cacheReadTokens + instructions, outputTokens, cacheReadTokens },
  }
}
