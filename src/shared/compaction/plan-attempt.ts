import type { CompactionPlan, SurfaceSnapshot } from '../ports/store.ts'
import type { CompactionInput, CompactionOutcome, Paid, Reading } from '../protocol.ts'
import { offersHistory } from '../recall/history-tool.ts'
import type { ContentBlock } from '../session/content.ts'
import type { Header, NewEvent, SurfaceNode } from '../session/events.ts'
import { meterAfterPass } from './after-pass.ts'
import { chunkLimit, planChunks } from './chunks.ts'
import { type MeterState, ratioOf } from './meter.ts'
import { planMicro } from './micro.ts'
import { modelKeyOf, takeReading } from './pressure.ts'
import { cheaperCopies, planPrune, type ShadowCopy, shadowEvents } from './prune.ts'
import { selectSpan } from './span.ts'

export interface PlanAttemptInput {
  readonly attempt: Pick<CompactionInput, 'compactionId' | 'cause' | 'turn' | 'span'>
  readonly header: Header
  readonly surface: SurfaceSnapshot
  readonly meter: MeterState
  /** Replies of the session so far. */
  readonly replies: number
  /** Price of system and tools. */
  readonly overheadTokens: number
  /** The policy's `compactionBudget` is used up. Default false. */
  readonly budgetSpent?: boolean
  /** Price of the pins that stand in every checkpoint. Default 0. */
  readonly pinTokens?: number
  readonly price: (content: readonly ContentBlock[]) => number
  readonly nowMs: number
}

export type PlannedAttempt = { readonly copies: readonly NewEvent[] } & (
  | { readonly kind: 'plan'; readonly plan: CompactionPlan }
  | { readonly kind: 'void'; readonly outcome: CompactionOutcome; readonly meter: MeterState }
)

export const NOTHING_PAID: Paid = {
  calls: 0,
  reused: 0,
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
}

/** Causes that prune before they select; a person's request takes the span as it is. */
const PRUNES = new Set(['pressure', 'context-overflow', 'tool'])

/** Decides an attempt on one consistent surface: copies first, then the span on what the copies leave. @throws SessionError `InvalidSpan` */
export function planAttempt(input: PlanAttemptInput): PlannedAttempt {
  const { attempt, header, surface, meter, overheadTokens, pinTokens = 0 } = input
  const { policy } = header
  const before = readingAt(input, surface)
  if (input.budgetSpent && (attempt.cause === 'pressure' || attempt.cause === 'tool'))
    return forbiddenAttempt(input, { outcome: 'nothing', reason: 'budget-spent' })
  const shortened = applyCopies(input, PRUNES.has(attempt.cause) ? shortenResults(input) : [])
  const copies = shortened.events
  const after = copies.length === 0 ? before : readingAt(input, shortened.surface)
  const end = (kind: 'pruned' | 'nothing', reason?: string) =>
    voidAttempt(input, shortened, {
      said: { outcome: kind, ...(reason === undefined ? {} : { reason }) },
      before,
      after,
    })
  if (attempt.cause === 'pressure' && after.pressure !== 'over') {
    return copies.length > 0
      ? end('pruned')
      : end('nothing', after.pressure === 'none' ? 'below-threshold' : after.pressure)
  }
  const { nodes } = shortened.surface
  const span = attempt.span === undefined ? {} : { span: attempt.span }
  const ratio = ratioOf(meter, modelKeyOf(header))
  const selected = selectSpan({
    nodes,
    cause: attempt.cause,
    policy,
    turn: attempt.turn,
    ...span,
    ratio,
    overheadTokens,
    pinTokens,
  })
  if (selected.kind === 'nothing')
    return copies.length > 0 ? end('pruned', selected.reason) : end('nothing', selected.reason)
  const shadowed = new Set(selected.seqs)
  const chosen = nodes.filter((node) => shadowed.has(node.seq))
  return {
    kind: 'plan',
    copies,
    plan: {
      shadowedSeqs: selected.seqs,
      shadowedTokenCount: selected.tokens,
      generation: shortened.surface.generation,
      chunkEnds: planChunks(chosen, chunkLimit(policy, { overheadTokens })),
      tokensBefore: before.tokens,
      checkpointTokens: policy.checkpointTokens,
    },
  }
}

/** The attempt that a hook or the budget did not allow: nothing is shortened, nothing selected. */
export function forbiddenAttempt(
  input: PlanAttemptInput,
  said: Pick<CompactionOutcome, 'outcome' | 'reason' | 'message' | 'error'>,
): PlannedAttempt {
  const before = readingAt(input, input.surface)
  return voidAttempt(input, { events: [], surface: input.surface }, { said, before, after: before })
}

const readingAt = (
  { header, overheadTokens, meter, budgetSpent = false, replies, nowMs }: PlanAttemptInput,
  snapshot: SurfaceSnapshot,
): Reading => takeReading({ snapshot, header, overheadTokens, meter, budgetSpent, step: replies, nowMs })

/** Micro placeholders where they pay, shorter copies of the other large results; a node is shadowed once. */
function shortenResults({ attempt, header, surface, meter, overheadTokens }: PlanAttemptInput): ShadowCopy[] {
  const historyTool = offersHistory(header)
  const micro = planMicro(surface.nodes, header.policy, historyTool)
  const taken = new Set(micro.map((copy) => copy.target.seq))
  const pruned = planPrune(surface.nodes, header.policy, {
    unseen: attempt.cause === 'context-overflow',
    ratio: ratioOf(meter, modelKeyOf(header)),
    overheadTokens,
    historyTool,
  })
  return [...micro, ...pruned.filter((copy) => !taken.has(copy.target.seq))].sort(
    (a, b) => a.target.seq - b.target.seq,
  )
}

/** The surface as it will be when the copies are written from the head on: each is a price event and a result. */
function applyCopies(
  { attempt, surface, price }: PlanAttemptInput,
  copies: readonly ShadowCopy[],
): Shortened {
  const events: NewEvent[] = []
  const replaced = new Map<number, SurfaceNode>()
  for (const { copy, tokens } of cheaperCopies(copies, price)) {
    const [priced, result] = shadowEvents(copy, tokens, { turn: attempt.turn, step: null })
    replaced.set(copy.target.seq, { ...result, seq: surface.head + events.length + 1, time: 0 })
    events.push(priced, result)
  }
  return {
    events,
    surface: {
      head: surface.head + events.length,
      generation: surface.generation + replaced.size,
      nodes: surface.nodes.map((node) => replaced.get(node.seq) ?? node),
    },
  }
}

interface Shortened {
  readonly events: readonly NewEvent[]
  readonly surface: SurfaceSnapshot
}

interface End {
  readonly said: Pick<CompactionOutcome, 'outcome' | 'reason' | 'message' | 'error'>
  readonly before: Reading
  readonly after: Reading
}

function voidAttempt(
  { attempt, header, meter, replies, nowMs }: PlanAttemptInput,
  shortened: Shortened,
  { said, before, after }: End,
): PlannedAttempt {
  const outcome: CompactionOutcome = {
    v: 1,
    compactionId: attempt.compactionId,
    ...said,
    reading: after,
    tokensBefore: before.tokens,
    tokensAfter: after.tokens,
    paid: NOTHING_PAID,
  }
  const surfaceTokens = shortened.surface.nodes.reduce((sum, node) => sum + node.tokens, 0)
  const pass = { cause: attempt.cause, header, outcome, replies, surfaceTokens, nowMs }
  return { kind: 'void', copies: shortened.events, outcome, meter: meterAfterPass(meter, pass) }
}
