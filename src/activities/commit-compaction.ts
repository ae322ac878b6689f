import type { z } from 'zod'
import type { commitInputSchema } from '../shared/activity-protocol.ts'
import { meterAfterPass } from '../shared/compaction/after-pass.ts'
import { buildCheckpoint } from '../shared/compaction/checkpoint.ts'
import type { MeterState } from '../shared/compaction/meter.ts'
import type {
  AttemptRow,
  CompactionPlan,
  SessionRow,
  StoredSummary,
  SurfaceSnapshot,
} from '../shared/ports/store.ts'
import type { CompactionOutcome } from '../shared/protocol.ts'
import { text } from '../shared/session/content.ts'
import type { NewEvent, SurfaceNode } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import { priceContent } from '../shared/tokens/price.ts'
import { archivePath } from './archive/archive-surface.ts'
import { checkpointSource } from './checkpoint-source.ts'
import { closeWithError } from './close-attempt.ts'
import type { ActivityDeps } from './deps.ts'
import { failedBefore } from './failed-models.ts'
import { asOwner } from './owner.ts'
import { countReplies, isBudgetSpent, loadMeter, loadSession, readingOf } from './session-view.ts'
import { plannedSpan } from './summary-input.ts'

export type CommitInput = z.infer<typeof commitInputSchema>

/**
 * Writes summary, checkpoint and end in one transaction, if the plan is still true of the surface (`changed` otherwise). A second call returns what the first one wrote.
 *
 * @throws SessionError `Fenced`
 */
export async function commitCompaction(deps: ActivityDeps, input: CommitInput): Promise<CompactionOutcome> {
  const { sessionId, compactionId } = input
  const row = await deps.store.attempt(sessionId, compactionId)
  if (row?.outcome) return row.outcome
  const ready = await readyToCommit(deps, input, row)
  if ('error' in ready) return closeWithError(deps, input, ready.error)
  const events = await commitEvents(deps, input, ready)
  if (events.checkpoint.tokens >= ready.plan.shadowedTokenCount) {
    const message = `The checkpoint has ${events.checkpoint.tokens} tokens, its span only ${ready.plan.shadowedTokenCount}.`
    return closeWithError(deps, input, { code: 'summary', stage: 'commit', message })
  }
  const { outcome, meter } = afterCommit(deps, input, ready, events)
  const ended = await asOwner(deps, sessionId, input.parent, (actor) =>
    deps.store.commitAttempt({ sessionId, actor, compactionId, ...events, outcome, meter }),
  )
  if (ended.outcome === null) throw new Error(`Attempt ${compactionId} was committed and has no outcome.`)
  return ended.outcome
}

interface Ready {
  readonly row: AttemptRow
  readonly plan: CompactionPlan
  readonly summary: StoredSummary
  readonly startSeq: number
  readonly session: SessionRow
  readonly surface: SurfaceSnapshot
  readonly span: readonly SurfaceNode[]
  readonly meter: MeterState
  readonly budgetSpent: boolean
  readonly replies: number
}

async function readyToCommit(
  deps: ActivityDeps,
  input: CommitInput,
  row: AttemptRow | null,
): Promise<Ready | { error: NonNullable<CompactionOutcome['error']> }> {
  const { sessionId, compactionId } = input
  const { plan, summary, startSeq } = row ?? {}
  if (row === null || !plan || !summary || startSeq === undefined || startSeq === null) {
    return {
      error: {
        code: 'interrupted',
        stage: 'commit',
        message: `Attempt ${compactionId} is not open or has no summary.`,
      },
    }
  }
  const session = await loadSession(deps, sessionId)
  const [surface, meter, budgetSpent, replies] = await Promise.all([
    deps.store.surface(sessionId),
    loadMeter(deps, session),
    isBudgetSpent(deps, session),
    countReplies(deps, sessionId),
  ])
  const span = plannedSpan(row, surface)
  if (span === null) {
    return {
      error: {
        code: 'changed',
        stage: 'commit',
        message: 'Part of the span has left the surface since it was summarized.',
      },
    }
  }
  return { row, plan, summary, startSeq, session, surface, span, meter, budgetSpent, replies }
}

/** In the checkpoint's frame, for the model that asked. */
const ASKED_BY_MODEL = 'You asked for it with the tool compact, and it is done. Go on with the task.'

interface CommitEvents {
  readonly summary: NewEvent<'compact/summary'>
  readonly checkpoint: NewEvent<'user/message'>
}

async function commitEvents(deps: ActivityDeps, input: CommitInput, ready: Ready): Promise<CommitEvents> {
  const { compactionId, turn } = input
  const { plan, session, span, surface, startSeq } = ready
  const first = span[0]
  const last = span.at(-1)
  if (first === undefined || last === undefined) throw new Error(`Attempt ${compactionId} has an empty span.`)
  const accepted = ready.summary.summary
  const failed = await failedBefore(deps, input, session.header)
  const built = buildCheckpoint({
    ...(await checkpointSource(deps, session, span, archivePath(session, ready.row))),
    tail: surface.nodes.slice(surface.nodes.findIndex((node) => node.seq === last.seq) + 1),
    summary: accepted?.summary ?? null,
    ...(input.cause === 'tool' ? { notice: ASKED_BY_MODEL } : {}),
  })
  const range = { start: first.seq, end: last.seq }
  const summary: NewEvent<'compact/summary'> = {
    key: keys.compactSummary(compactionId),
    type: 'compact/summary',
    turn,
    step: null,
    data: {
      compactionId,
      summary: [...(accepted?.summary ?? [text('(written by code)')])],
      ...(accepted?.rawOutput === undefined ? {} : { rawOutput: [...accepted.rawOutput] }),
      ...(accepted?.llmStreamCall === undefined ? {} : { llmStreamCall: true }),
      shadowedRange: range,
      shadowedSeqs: [...plan.shadowedSeqs],
      shadowedTokenCount: plan.shadowedTokenCount,
      provider: accepted?.provider ?? 'durable-compaction',
      model: accepted?.model ?? 'deterministic',
      ...(accepted?.maxTokens === undefined ? {} : { maxTokens: accepted.maxTokens }),
      ...(accepted?.usage === undefined ? {} : { usage: accepted.usage }),
      ...(failed.length === 0 ? {} : { failed }),
      lost: built.lost,
      ledger: built.ledger,
    },
    tokens: 0,
  }
  const checkpoint: NewEvent<'user/message'> = {
    key: keys.compactCheckpoint(compactionId),
    type: 'user/message',
    turn,
    step: null,
    data: { content: [...built.content], source: 'durable-compaction/checkpoint' },
    tokens: priceContent(built.content),
    surfaceOp: { op: 'replace', ...range },
    // The store fills in the summary's seq, which it gives in the same transaction.
    sourceEventSeqs: [startSeq, ...plan.shadowedSeqs],
  }
  return { summary, checkpoint }
}

/** `provider/model`, undefined for a checkpoint that code wrote. */
const makerOf = ({ summary }: StoredSummary): string | undefined =>
  summary === null ? undefined : `${summary.provider}/${summary.model}`

/** The numbers after the commit, from the surface as it will be: the checkpoint in the span's place. */
function afterCommit(
  deps: ActivityDeps,
  input: CommitInput,
  ready: Ready,
  { checkpoint, summary }: CommitEvents,
): { outcome: CompactionOutcome; meter: MeterState } {
  const shadowed = new Set(ready.plan.shadowedSeqs)
  const at = ready.surface.nodes.findIndex((node) => shadowed.has(node.seq))
  const head = ready.surface.head + COMMITTED_EVENTS
  const kept = ready.surface.nodes.filter((node) => !shadowed.has(node.seq))
  const node: SurfaceNode = { ...checkpoint, seq: head - 2, time: 0 }
  const nodes = [...kept.slice(0, at), node, ...kept.slice(at)]
  const { session, meter, budgetSpent, replies } = ready
  const nowMs = deps.clock()
  const snapshot = { head, generation: ready.surface.generation + 1, nodes }
  const measured = { header: session.header, snapshot, budgetSpent, replies, nowMs }
  const before = readingOf({ ...measured, meter })
  const numbers = {
    outcome: 'compacted',
    tokensBefore: ready.plan.tokensBefore,
    tokensAfter: before.tokens,
  } as const
  const surfaceTokens = nodes.reduce((sum, each) => sum + each.tokens, 0)
  const learned = meterAfterPass(meter, {
    cause: input.cause,
    header: session.header,
    outcome: numbers,
    replies,
    surfaceTokens,
    nowMs,
  })
  // With what the breaker learned: a pass that did not help holds the next one already in this reading.
  const reading = readingOf({ ...measured, meter: learned })
  const maker = makerOf(ready.summary)
  const { failed = [] } = summary.data
  const outcome: CompactionOutcome = {
    v: 1,
    compactionId: input.compactionId,
    ...numbers,
    ...(input.deterministic ? { reason: 'deterministic' } : {}),
    reading,
    paid: input.paid,
    ...(maker === undefined ? {} : { model: maker }),
    ...(failed.length === 0
      ? {}
      : {
          failedModels: failed
            .map(({ provider, model, reason }) => `${provider}/${model} (${reason})`)
            .join(', '),
        }),
  }
  return { outcome, meter: learned }
}

/** `compact/summary`, the checkpoint, `compact/end`. */
const COMMITTED_EVENTS = 3
