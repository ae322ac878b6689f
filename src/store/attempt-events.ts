import { COMPACT_CHECKPOINT_SOURCE } from '../shared/checkpoint-source.ts'
import { SessionError } from '../shared/errors.ts'
import type { AttemptInput, AttemptRow, CommitAttempt, CompactionPlan } from '../shared/ports/store.ts'
import type { CompactionOutcome } from '../shared/protocol.ts'
import type { AttemptError, CompactionCause, NewEvent } from '../shared/session/events.ts'
import { keys } from '../shared/session/keys.ts'
import type { LogControl, NodeFacts } from '../shared/session/log-control.ts'

export function bracketStart(
  { compactionId, turn, cause, focus }: AttemptInput,
  step: number | null,
): NewEvent {
  return {
    key: keys.compactStart(compactionId),
    type: 'compact/start',
    turn,
    step,
    data: { compactionId, turn, cause, ...(focus === undefined ? {} : { focus }) },
    tokens: 0,
  }
}

export function bracketEnd({ compactionId, turn }: AttemptInput, error?: AttemptError): NewEvent {
  return {
    key: keys.compactEnd(compactionId),
    type: 'compact/end',
    turn,
    step: null,
    data: { compactionId, turn, ...(error === undefined ? {} : { error }) },
    tokens: 0,
  }
}

/** The checkpoint as it lands: in the place of the plan's span, citing start, summary and every node. */
export function landingCheckpoint(
  row: AttemptRow,
  plan: CompactionPlan,
  checkpoint: CommitAttempt['checkpoint'],
  summarySeq: number,
): NewEvent {
  const { shadowedSeqs } = plan
  return {
    ...checkpoint,
    turn: row.turn,
    step: null,
    surfaceOp: { op: 'replace', start: shadowedSeqs[0] ?? 0, end: shadowedSeqs.at(-1) ?? 0 },
    sourceEventSeqs: [row.startSeq ?? 0, summarySeq, ...shadowedSeqs],
  }
}

/** @throws SessionError `InvalidInput` when summary or checkpoint are not those of this attempt and its plan */
export function checkCommit(
  { compactionId, summary, checkpoint }: CommitAttempt,
  plan: CompactionPlan,
): void {
  const seqs = plan.shadowedSeqs
  const problem =
    summary.key !== keys.compactSummary(compactionId) || summary.data.compactionId !== compactionId
      ? `the summary is of ${summary.data.compactionId}`
      : checkpoint.key !== keys.compactCheckpoint(compactionId)
        ? `the checkpoint has the key ${checkpoint.key}`
        : checkpoint.data.source !== COMPACT_CHECKPOINT_SOURCE
          ? `the checkpoint has the source ${checkpoint.data.source}`
          : summary.data.shadowedSeqs.length !== seqs.length ||
              summary.data.shadowedSeqs.some((seq, i) => seq !== seqs[i])
            ? 'the summary shadows other nodes than the plan'
            : undefined
  if (problem !== undefined)
    throw new SessionError('InvalidInput', `Attempt ${compactionId} cannot commit: ${problem}.`)
}

/** Why a plan is not true of the surface, or undefined. `span`: the nodes from its first to its last seq, null when they are not there. */
export function planProblem(
  plan: CompactionPlan,
  control: LogControl,
  span: readonly NodeFacts[] | null,
): string | undefined {
  const { shadowedSeqs, shadowedTokenCount, generation, chunkEnds } = plan
  const moved = spanProblem(plan, span)
  if (moved !== undefined || span === null) return moved
  const tokens = span.reduce((sum, node) => sum + node.tokens, 0)
  if (tokens !== shadowedTokenCount)
    return `its nodes have ${tokens} tokens, shadowedTokenCount is ${shadowedTokenCount}`
  if (generation !== control.generation)
    return `its generation is ${generation}, the surface's ${control.generation}`
  const ends = chunkEnds.map((seq) => shadowedSeqs.indexOf(seq))
  const rising = ends.every((end, i) => end > (ends[i - 1] ?? -1))
  if (!rising || ends.at(-1) !== shadowedSeqs.length - 1)
    return 'its chunks do not end in order at the end of the span'
  return undefined
}

/** Why the surface no longer holds the span of a plan, or undefined. A node never changes, so equal seqs are equal nodes. */
export function spanProblem(
  { shadowedSeqs }: CompactionPlan,
  span: readonly NodeFacts[] | null,
): string | undefined {
  if (span === null)
    return `nodes ${shadowedSeqs[0]} and ${shadowedSeqs.at(-1)} are not on the surface in this order`
  const changed =
    span.length === shadowedSeqs.length ? span.find((node, i) => node.seq !== shadowedSeqs[i]) : span[0]
  return changed === undefined
    ? undefined
    : `the span is now ${span.length} nodes, the plan has ${shadowedSeqs.length}, or others`
}

const NOTHING_PAID = {
  calls: 0,
  reused: 0,
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
} as const

/** What a failed attempt left behind: nothing on the surface. The store does not measure; a closer that did passes its own outcome. */
export function failedOutcome(
  row: Pick<AttemptRow, 'compactionId' | 'plan'>,
  { nextSeq, generation }: LogControl,
  error: AttemptError,
): CompactionOutcome {
  const tokens = row.plan?.tokensBefore ?? 0
  return {
    v: 1,
    compactionId: row.compactionId,
    outcome: 'failed',
    reading: { headSeq: nextSeq, generation, tokens, limit: null, pressure: 'none' },
    tokensBefore: tokens,
    tokensAfter: tokens,
    paid: NOTHING_PAID,
    error,
  }
}

/** An attempt that was closed before it opened: what its id says of it. */
export function inputOfId(sessionId: string, compactionId: string): AttemptInput {
  const turn = /^t(\d+)\./.exec(compactionId)?.[1]
  return {
    compactionId,
    cause: causeOfId(compactionId),
    turn: turn === undefined ? null : Number(turn),
    childWorkflowId: `${sessionId}/compact/${compactionId}`,
    namespace: '',
    cluster: '',
    deadline: 0,
  }
}

function causeOfId(compactionId: string): CompactionCause {
  if (compactionId.startsWith('region.')) return 'region'
  const named = /^t\d+\.s\d+\.(pressure|overflow|tool)\./.exec(compactionId)?.[1]
  if (named === 'pressure' || named === 'tool') return named
  return named === 'overflow' ? 'context-overflow' : 'manual'
}
