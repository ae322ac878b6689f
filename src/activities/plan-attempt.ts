import { chunkLimit, planChunks } from '../shared/compaction/chunks.ts'
import { planMicro } from '../shared/compaction/micro.ts'
import { type MeterState, ratioOf } from '../shared/compaction/meter.ts'
import { modelKeyOf } from '../shared/compaction/pressure.ts'
import { planPrune, type ShadowCopy, shadowEvents } from '../shared/compaction/prune.ts'
import { selectSpan } from '../shared/compaction/span.ts'
import type { CompactionPlan, SessionRow, SurfaceSnapshot } from '../shared/ports/store.ts'
import type { CompactionActivityInput, CompactionOutcome, Reading } from '../shared/protocol.ts'
import type { NewEvent, SurfaceNode } from '../shared/session/events.ts'
import { priceContent } from '../shared/tokens/price.ts'
import { meterAfterPass } from './after-pass.ts'
import { overheadTokens } from './overhead.ts'
import { NOTHING_PAID } from './paid.ts'
import { readingOf } from './session-view.ts'

interface PlanInput {
  readonly input: CompactionActivityInput
  readonly session: SessionRow
  readonly surface: SurfaceSnapshot
  readonly meter: MeterState
  readonly replies: number
  readonly nowMs: number
}

type Planned = { readonly copies: readonly NewEvent[]; readonly meter?: MeterState } & (
  | { readonly kind: 'plan'; readonly plan: CompactionPlan }
  | { readonly kind: 'void'; readonly outcome: CompactionOutcome }
)

/** Causes that prune before they select; a person's request takes the span as it is (DESIGN 5). */
const PRUNES = new Set(['pressure', 'context-overflow', 'tool'])

/** Decides an attempt on one consistent surface: copies first, then the span on what the copies leave. Pure. */
export function planAttempt(plan: PlanInput): Planned {
  const { input, session, surface, meter, replies, nowMs } = plan
  const { header } = session
  const { policy } = header
  const before = readingOf({ header, snapshot: surface, meter, replies, nowMs })
  const copies = PRUNES.has(input.cause) ? shortenResults(plan) : []
  const shortened = applyCopies(plan, copies)
  const events = shortened.events
  const after = events.length === 0 ? before : readingOf({ header, snapshot: shortened.surface, meter, replies, nowMs })
  const end = (kind: 'pruned' | 'nothing', reason?: string): Planned => {
    const outcome = outcomeOf(input, kind, reason, before, after)
    const surfaceTokens = shortened.surface.nodes.reduce((sum, node) => sum + node.tokens, 0)
    const pass = { cause: input.cause, header, outcome, replies, surfaceTokens, nowMs }
    return { kind: 'void', copies: events, outcome, meter: meterAfterPass(meter, pass) }
  }
  if (input.cause === 'pressure' && after.pressure !== 'over') {
    return events.length > 0 ? end('pruned') : end('nothing', after.pressure === 'none' ? 'below-threshold' : after.pressure)
  }
  const ratio = ratioOf(meter, modelKeyOf(header))
  const overhead = overheadTokens(header)
  const selected = selectSpan({
    nodes: shortened.surface.nodes,
    cause: input.cause,
    policy,
    ...(input.span === undefined ? {} : { span: input.span }),
    ratio,
    overheadTokens: overhead,
  })
  if (selected.kind === 'nothing') return events.length > 0 ? end('pruned', selected.reason) : end('nothing', selected.reason)
  const span = new Set(selected.seqs)
  return {
    kind: 'plan',
    copies: events,
    plan: {
      shadowedSeqs: selected.seqs,
      shadowedTokenCount: selected.tokens,
      generation: shortened.surface.generation,
      chunkEnds: planChunks(shortened.surface.nodes.filter((node) => span.has(node.seq)), chunkLimit(policy, { overheadTokens: overhead })),
      tokensBefore: before.tokens,
      checkpointTokens: policy.checkpointTokens,
    },
  }
}

/** Micro placeholders where they pay, shorter copies of the other large results; a node is shadowed once. */
function shortenResults({ input, session, surface, meter }: PlanInput): ShadowCopy[] {
  const { policy } = session.header
  const micro = planMicro(surface.nodes, policy)
  const taken = new Set(micro.map((copy) => copy.target.seq))
  const pruned = planPrune(surface.nodes, policy, {
    unseen: input.cause === 'context-overflow',
    ratio: ratioOf(meter, modelKeyOf(session.header)),
  })
  return [...micro, ...pruned.filter((copy) => !taken.has(copy.target.seq))].sort((a, b) => a.target.seq - b.target.seq)
}

/** The surface as it will be when the copies are written from the head on: each is a price event and a result. */
function applyCopies({ input, surface }: PlanInput, copies: readonly ShadowCopy[]): { events: NewEvent[]; surface: SurfaceSnapshot } {
  const events: NewEvent[] = []
  const replaced = new Map<number, SurfaceNode>()
  for (const copy of copies) {
    const written = shadowEvents(copy, priceContent(copy.content), { turn: input.turn, step: null })
    const result = written.at(-1)
    if (result?.type !== 'tool/result') throw new Error('A shadow copy ends with a tool/result.')
    replaced.set(copy.target.seq, { ...result, seq: surface.head + events.length + written.length - 1, time: 0 })
    events.push(...written)
  }
  return {
    events,
    surface: {
      head: surface.head + events.length,
      generation: surface.generation + copies.length,
      nodes: surface.nodes.map((node) => replaced.get(node.seq) ?? node),
    },
  }
}

function outcomeOf(
  input: CompactionActivityInput,
  outcome: 'pruned' | 'nothing',
  reason: string | undefined,
  before: Reading,
  after: Reading,
): CompactionOutcome {
  return {
    v: 1,
    compactionId: input.compactionId,
    outcome,
    ...(reason === undefined ? {} : { reason }),
    reading: after,
    tokensBefore: before.tokens,
    tokensAfter: after.tokens,
    paid: NOTHING_PAID,
  }
}
