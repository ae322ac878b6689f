import { overheadTokens } from '../../src/activities/overhead.ts'
import { plannedSpan, summaryInput } from '../../src/activities/summary-input.ts'
import { turnRequest } from '../../src/activities/turn-request.ts'
import {
  initialMeter,
  learnFromUsage,
  type MeterState,
  withFirstRatio,
} from '../../src/shared/compaction/meter.ts'
import { modelSummarizer } from '../../src/shared/compaction/model-summarizer.ts'
import { summaryModels } from '../../src/shared/compaction/policy-schema.ts'
import { callsOfModel } from '../../src/shared/compaction/summary-run.ts'
import { ContextOverflowError, type ModelClient, type ModelRequest } from '../../src/shared/ports/model.ts'
import type { AttemptRow } from '../../src/shared/ports/store.ts'
import type { PaidCalls } from '../../src/shared/ports/summarizer.ts'
import type { Header, SessionEvent } from '../../src/shared/session/events.ts'
import { foldLog } from '../../src/shared/session/log.ts'
import { countTokens } from '../../src/shared/tokens/counter.ts'

// Every request that a session sent, built again of what its store holds and of what the provider says of its models.

interface Kept {
  readonly sessionId: string
  readonly events: readonly SessionEvent[]
  readonly attempts: readonly AttemptRow[]
  /** For the windows of its models. */
  readonly client: ModelClient
}

export async function rebuiltRequests(kept: Kept): Promise<ModelRequest[]> {
  const requests: ModelRequest[] = []
  for (const event of kept.events) {
    if (event.type === 'assistant/message' && event.data.requestHead !== undefined)
      requests.push(turnRequestAt(kept, event.data.requestHead, event.data.maxTokens))
    if (event.type !== 'compact/start') continue
    // The refused request was made of the log as it was before the attempt's copies.
    if (event.data.cause === 'context-overflow')
      requests.push(turnRequestAt(kept, beforeCopies(kept, event.seq)))
    requests.push(...(await summaryRequests(kept, event)))
  }
  return requests
}

function at({ events }: Kept, head: number) {
  const known = events.slice(0, head)
  const header = known.findLast((event) => event.type === 'request/header')?.data as Header
  const { surface: nodes, generation } = foldLog(known)
  return { known, header, surface: { head, generation, nodes } }
}

function turnRequestAt(kept: Kept, head: number, maxTokens?: number): ModelRequest {
  const { known, header, surface } = at(kept, head)
  const replies = known.filter(({ type }) => type === 'assistant/message').length
  return turnRequest(kept.sessionId, header, surface.nodes, replies, maxTokens)
}

function beforeCopies({ events }: Kept, startSeq: number): number {
  let head = startSeq
  const isCopy = (event: SessionEvent | undefined) =>
    event?.type === 'compact/prune' || (event?.type === 'tool/result' && typeof event.surfaceOp === 'object')
  while (isCopy(events[head - 1])) head--
  return head
}

/** The summarizer runs again; the log answers, and a request without an answer was refused as too long. */
async function summaryRequests(kept: Kept, start: SessionEvent<'compact/start'>): Promise<ModelRequest[]> {
  const { compactionId } = start.data
  const row = kept.attempts.find((each) => each.compactionId === compactionId)
  const calls = kept.events.filter(
    (event): event is SessionEvent<'compact/call'> =>
      event.type === 'compact/call' && event.data.compactionId === compactionId,
  )
  const { known, header, surface } = at(kept, calls[0]?.data.requestHead ?? start.seq + 1)
  const span = row === undefined ? null : plannedSpan(row, surface)
  if (row === undefined || span === null) return []
  const session = { sessionId: kept.sessionId, header }
  const source = {
    nodes: span,
    previous: known.filter((event) => event.type === 'compact/summary'),
    pinEvents: known.filter(({ type }) => type === 'session/pin' || type === 'session/unpin'),
    policy: header.policy,
    countTokens,
  }
  const parts = { session, row, surface, span, source, meter: meterAt(kept, start.seq) }
  const requests: ModelRequest[] = []
  const paid: PaidCalls = {
    async call(index, { request }) {
      requests.push(request)
      const data = calls.find((call) => call.data.index === index)?.data
      if (data === undefined) throw new ContextOverflowError('not in the log')
      const { rawOutput = [], stopReason, usage = null, accepted, refusedBecause } = data
      const refused = refusedBecause === undefined ? {} : { refusedBecause }
      return { reply: { content: rawOutput, stopReason, usage }, accepted, ...refused, fromStore: true }
    },
  }
  for (const [place, model] of summaryModels(header.policy).entries()) {
    const input = summaryInput(place === 0 ? parts : { ...parts, model })
    if (input === null) break
    const context = { signal: new AbortController().signal, paid: callsOfModel(paid, place) }
    // A summary that failed then fails again, and the next model was asked.
    const summary = await modelSummarizer({ [input.request.provider]: kept.client })
      .summarize(input, context)
      .catch(() => null)
    if (summary !== null) break
  }
  return requests
}

/** What was learned of the models' tokens by the replies before an event: the meter is a fold of the log, too. */
function meterAt(kept: Kept, seq: number): MeterState {
  let meter = initialMeter()
  for (const event of kept.events.slice(0, seq)) {
    if (event.type !== 'assistant/message' || event.data.requestHead === undefined) continue
    const { header, surface } = at(kept, event.data.requestHead)
    const modelKey = `${header.provider}/${header.model}`
    meter = learnFromUsage(withFirstRatio(meter, modelKey, kept.client.firstUsageRatio?.(modelKey)), {
      usage: event.data.usage,
      modelKey,
      nodes: surface.nodes,
      overheadTokens: overheadTokens(header),
      replyTokens: event.tokens,
      generation: surface.generation,
      headSeq: surface.head,
    })
  }
  return meter
}
