import { outcomeOfAttempt } from '../../shared/compaction-record.ts'
import type { InboxRow } from '../../shared/ports/inbox.ts'
import type { AttemptRow } from '../../shared/ports/store.ts'
import type { CompactionOutcome } from '../../shared/protocol.ts'
import type { EventData, FailedModel, Lost, SessionEvent, SurfaceNode } from '../../shared/session/events.ts'
import { isLostCallKey, keys } from '../../shared/session/keys.ts'
import { foldLog } from '../../shared/session/log.ts'
import { costUsd, type PriceTable, priceOf } from '../../shared/usage/prices.ts'
import { promptClass } from '../../shared/usage/prompt-class.ts'

/** Messages of the surface; tokens of our counter. */
export interface Messages {
  /** In surface order. */
  readonly seqs: readonly number[]
  readonly tokens: number
}

export interface PaidCall extends Omit<EventData<'compact/call'>, 'rawOutput' | 'compactionId'> {
  readonly seq: number
  readonly time: number
  /** It failed or was cancelled, or its answer came too late. */
  readonly lost: boolean
  /** Null: the prices do not know the model, or the provider did not say what it used. */
  readonly usd: number | null
}

/** All that the store knows of one attempt. */
export interface Account {
  readonly sessionId: string
  readonly compactionId: string
  readonly cause: AttemptRow['cause']
  /** Requests of people that it answers. */
  readonly requestIds: readonly string[]
  readonly focus?: string
  readonly turn: number | null
  readonly state: AttemptRow['state']
  readonly outcome: CompactionOutcome | null
  /** Seq of the event that put back what it replaced. */
  readonly undoneAt?: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly endedAt: number | null
  readonly durationMs: number | null
  /** Results that were shortened first. */
  readonly shortened: readonly number[]
  /** What left the surface for the checkpoint; of an attempt without one, what was planned. */
  readonly replaced: Messages | null
  /** What stayed as it was. */
  readonly kept: Messages | null
  readonly checkpoint: { readonly seq: number; readonly tokens: number } | null
  /** What the checkpoint stands for, earlier ones resolved. */
  readonly covers: EventData<'compact/summary'>['ledger']['covers'] | null
  readonly lost: Lost | null
  readonly writtenBy: string | null
  /** Models that were asked before it, or before the attempt failed, as the log says it. */
  readonly failedModels: readonly FailedModel[]
  readonly calls: readonly PaidCall[]
  /** Null as soon as one call has no price. */
  readonly usd: number | null
  readonly pricesOf: string
}

export interface AccountInput {
  readonly row: AttemptRow
  /** The whole log. */
  readonly events: readonly SessionEvent[]
  /** Requests for compactions. */
  readonly inbox: readonly InboxRow[]
  readonly prices: PriceTable
}

/** Pure. Cost: one fold of the log. */
export function accountOf({ row, events, inbox, prices }: AccountInput): Account {
  const { compactionId, plan } = row
  const outcome = outcomeOfAttempt(row)
  const ofKey = new Map(events.map((event) => [event.key, event]))
  const summary = ofKey.get(keys.compactSummary(compactionId))
  const checkpoint = ofKey.get(keys.compactCheckpoint(compactionId))
  const restored = ofKey.get(keys.compactRestore(compactionId))
  const data = summary?.type === 'compact/summary' ? summary.data : null
  const calls = paidCalls(events, compactionId, prices)
  return {
    sessionId: row.sessionId,
    compactionId,
    cause: row.cause,
    requestIds: requestsOf(row, inbox),
    ...(row.focus === undefined ? {} : { focus: row.focus }),
    turn: row.turn,
    state: row.state,
    outcome,
    ...(restored === undefined ? {} : { undoneAt: restored.seq }),
    startedAt: row.startedAt,
    endedAt: row.endedAt,
    durationMs: row.endedAt === null ? null : row.endedAt - row.startedAt,
    shortened: shortenedBefore(
      events,
      row.startSeq ?? (outcome?.outcome === 'pruned' ? outcome.reading.headSeq : 0),
    ),
    replaced: plan === null ? null : { seqs: plan.shadowedSeqs, tokens: plan.shadowedTokenCount },
    kept: checkpoint === undefined ? null : keptBeside(events.slice(0, checkpoint.seq + 1), checkpoint.seq),
    checkpoint: checkpoint === undefined ? null : { seq: checkpoint.seq, tokens: checkpoint.tokens },
    covers: data?.ledger.covers ?? null,
    lost: data?.lost ?? null,
    writtenBy: data === null ? null : `${data.provider}/${data.model}`,
    failedModels: failedModels(events, compactionId),
    calls,
    usd: calls.some(({ usd }) => usd === null) ? null : calls.reduce((sum, { usd }) => sum + (usd ?? 0), 0),
    pricesOf: prices.date,
  }
}

/** Those that began it, and those that joined. */
function requestsOf({ compactionId, requestIds = [] }: AttemptRow, inbox: readonly InboxRow[]): string[] {
  const answered = inbox.filter(
    ({ outcome }) => (outcome as { compactionId?: unknown } | null)?.compactionId === compactionId,
  )
  return [...new Set([...requestIds, ...answered.map(({ requestId }) => requestId)])]
}

/** One that was away, and then failed for good, stands with what was said last. */
function failedModels(events: readonly SessionEvent[], id: string): FailedModel[] {
  const failed = new Map<string, FailedModel>()
  for (const event of events) {
    if (event.type !== 'session/notice' || event.data.compactionId !== id || !event.data.failed) continue
    const { provider, model, reason } = event.data.failed
    failed.set(`${provider}/${model}`, { provider, model, reason })
  }
  return [...failed.values()]
}

function paidCalls(events: readonly SessionEvent[], id: string, prices: PriceTable): PaidCall[] {
  return events.flatMap((event): PaidCall[] => {
    if (event.type !== 'compact/call' || event.data.compactionId !== id) return []
    const { rawOutput: _, compactionId: __, ...call } = event.data
    const { usage } = call
    const price = priceOf(prices, `${call.provider}/${call.model}`)
    const usd = price === undefined || usage === undefined ? null : costUsd(price, usage, promptClass(usage))
    return [{ seq: event.seq, time: event.time, lost: isLostCallKey(event.key), ...call, usd }]
  })
}

/** The copies of the same transaction stand directly before this event; those of a micro pass belong to a step. */
function shortenedBefore(events: readonly SessionEvent[], seq: number): number[] {
  const found: number[] = []
  for (let at = seq - 2; at >= 0; at -= 2) {
    const price = events[at]
    if (price?.type !== 'compact/prune' || price.step !== null) break
    found.unshift(price.data.shadowedRange.start)
  }
  return found
}

function keptBeside(events: readonly SessionEvent[], checkpointSeq: number): Messages {
  const nodes: readonly SurfaceNode[] = foldLog(events).surface
  const kept = nodes.filter(({ seq }) => seq !== checkpointSeq)
  return { seqs: kept.map(({ seq }) => seq), tokens: kept.reduce((sum, { tokens }) => sum + tokens, 0) }
}
