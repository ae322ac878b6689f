import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { meterAfterPass } from '../../src/shared/compaction/after-pass.ts'
import { initialMeter } from '../../src/shared/compaction/meter.ts'
import { planAttempt } from '../../src/shared/compaction/plan-attempt.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import { takeReading } from '../../src/shared/compaction/pressure.ts'
import { firstUnseen } from '../../src/shared/compaction/tail.ts'
import { isSessionError } from '../../src/shared/errors.ts'
import type { CompactionPlan } from '../../src/shared/ports/store.ts'
import type { CompactionCause, Header, NewEvent, SurfaceNode } from '../../src/shared/session/events.ts'
import { applyEvent, emptyLog, foldLog } from '../../src/shared/session/log.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { toolPairingBalancedAfter, toolPairingBalancedBefore } from '../../src/shared/session/tool-pairing.ts'
import {
  checkpoint,
  compactEnd,
  compactStart,
  compactSummary,
  requestHeader,
  sessionStart,
} from '../../src/store/contract/sample-events.ts'
import { surface } from '../pure/surface-builder.ts'
import { propertyRuns } from './checkpoint-arbitraries.ts'
import { soundSurface } from './surface-arbitrary.ts'

// Any log, any policy, any cut: the six claims that hold whatever a session has been through.

const window = fc.constantFrom(16_000, 32_000, 64_000, 200_000)
const anyHeader = fc
  .record({
    window,
    retainTokens: fc.integer({ min: 0, max: 3_000 }),
    thresholdRatio: fc.double({ min: 0.3, max: 0.9, noNaN: true }),
    prune: fc.constantFrom(false, { thresholdChars: 200, headChars: 20, tailChars: 10 }),
    micro: fc.constantFrom(false, { keepLast: 1, minReclaimTokens: 0 }),
  })
  .map(({ window: contextWindow, ...settings }): Header => {
    const model = { provider: 'acme', model: 'm', contextWindow, maxOutputTokens: 1_000 }
    return { ...model, system: '', tools: [], sampling: {}, policy: resolvePolicy(settings, model) }
  })

interface Attempt {
  readonly cause: CompactionCause
  /** Places of a region's ends, in thousandths of the surface. */
  readonly ends: readonly [number, number]
}
const anyAttempt: fc.Arbitrary<Attempt> = fc.record({
  cause: fc.constantFrom('pressure', 'context-overflow', 'manual', 'tool', 'region'),
  ends: fc.tuple(fc.nat(999), fc.nat(999)),
})

/** A log, its compactions planned as the activities plan them and written as the store writes them. */
class Log {
  readonly header: Header
  readonly messages: readonly number[]
  readonly events: NewEvent[] = []
  state = emptyLog()
  meter = initialMeter()
  attempts = 0

  constructor(header: Header, nodes: readonly SurfaceNode[]) {
    this.header = header
    const events = nodes.map((node, n) => {
      const isCheckpoint =
        node.type === 'user/message' && node.data.source === 'durable-compaction/checkpoint'
      const data = isCheckpoint ? { ...node.data, source: 'import' } : node.data
      return { ...node, key: `n.${n}`, turn: null, step: null, data, surfaceOp: 'append' } as NewEvent
    })
    this.#write([sessionStart(), requestHeader('h', header), ...events])
    this.messages = this.state.surface.map(({ seq }) => seq)
  }

  #write(events: readonly NewEvent[]): void {
    for (const event of events) {
      this.state = applyEvent(this.state, { ...event, seq: this.state.nextSeq, time: 0 })
      this.events.push(event)
    }
  }

  get snapshot() {
    return { head: this.state.nextSeq, generation: this.state.generation, nodes: this.state.surface }
  }

  reading() {
    const { header, meter, snapshot } = this
    return takeReading({ snapshot, header, overheadTokens: 100, meter, step: this.attempts, nowMs: 0 })
  }

  /** What became of it; undefined for a region that was refused. */
  attempt({ cause, ends }: Attempt): 'compacted' | 'pruned' | 'nothing' | undefined {
    const { header, meter, snapshot } = this
    const compactionId = `manual.${this.attempts++}`
    const at = (end: number) => snapshot.nodes[Math.floor((end * snapshot.nodes.length) / 1_000)]?.seq ?? 0
    const span = cause === 'region' ? { span: { start: at(ends[0]), end: at(ends[1]) } } : {}
    const planned = refusedOr(snapshot.nodes, span.span, () =>
      planAttempt({
        attempt: { compactionId, cause, turn: null, ...span },
        header,
        surface: snapshot,
        meter,
        replies: this.attempts,
        overheadTokens: 100,
        price: () => 12,
        nowMs: 0,
      }),
    )
    if (planned === undefined) return undefined
    const before = this.reading()
    this.#write(planned.copies)
    if (planned.kind === 'void') {
      this.meter = planned.meter
      return planned.outcome.outcome as 'pruned' | 'nothing'
    }
    this.#commit(compactionId, planned.plan)
    const outcome = {
      outcome: 'compacted',
      tokensBefore: before.tokens,
      tokensAfter: this.reading().tokens,
    } as const
    const surfaceTokens = priceOf(this.state.surface)
    const pass = { cause, header, outcome, replies: this.attempts, surfaceTokens, nowMs: 0 }
    this.meter = meterAfterPass(this.meter, pass)
    return 'compacted'
  }

  #commit(id: string, { shadowedSeqs, shadowedTokenCount, generation }: CompactionPlan): void {
    assert.equal(generation, this.state.generation)
    const span = this.state.surface.filter(({ seq }) => shadowedSeqs.includes(seq))
    assert.equal(priceOf(span), shadowedTokenCount)
    const [first, last] = [shadowedSeqs[0] ?? 0, shadowedSeqs.at(-1) ?? 0]
    // Pairs whole: neither edge of the cut separates a call from its result.
    assert.ok(toolPairingBalancedBefore(this.state.surface, first), 'the cut splits a pair at its start')
    assert.ok(toolPairingBalancedAfter(this.state.surface, last), 'the cut splits a pair at its end')
    const start = this.state.nextSeq
    const point = checkpoint(id, [...shadowedSeqs], [start, start + 1])
    const tokens = Math.min(this.header.policy.checkpointLimitTokens, Math.ceil(shadowedTokenCount * 0.8))
    this.#write([
      compactStart(id),
      compactSummary(id, [...shadowedSeqs], shadowedTokenCount),
      { ...point, tokens },
      compactEnd(id),
    ])
  }

  /** Every message that ever stood on the surface stands there still, or is behind exactly one node, down to the first. */
  assertNothingLost(): void {
    const { events } = this
    const behind = new Map<number, readonly number[]>()
    for (const [seq, event] of events.entries())
      if (typeof event.surfaceOp === 'object' && event.surfaceOp.op === 'replace')
        behind.set(
          seq,
          (event.sourceEventSeqs ?? []).filter((cited) => isMessage(events[cited])),
        )
    const leaves = (seq: number): number[] => behind.get(seq)?.flatMap(leaves) ?? [seq]
    const all = this.state.surface.flatMap(({ seq }) => leaves(seq))
    assert.deepEqual(
      all.toSorted((a, b) => a - b),
      this.messages,
      'a message is lost, or stands twice',
    )
  }
}

const isMessage = (event: NewEvent | undefined): boolean =>
  event?.type === 'user/message' || event?.type === 'assistant/message' || event?.type === 'tool/result'

const priceOf = (nodes: readonly SurfaceNode[]): number => nodes.reduce((sum, { tokens }) => sum + tokens, 0)

/** A region is refused for a reason that can be checked, anything else is planned. */
function refusedOr<T>(
  nodes: readonly SurfaceNode[],
  span: { readonly start: number; readonly end: number } | undefined,
  plan: () => T,
): T | undefined {
  try {
    return plan()
  } catch (error) {
    assert.ok(isSessionError(error, 'InvalidSpan') && span !== undefined, String(error))
    const [from, to] = [span.start, span.end].map((end) => nodes.findIndex(({ seq }) => seq === end))
    const isReversed = (from ?? 0) > (to ?? 0)
    const isSplit =
      !toolPairingBalancedBefore(nodes, span.start) || !toolPairingBalancedAfter(nodes, span.end)
    assert.ok(nodes.length === 0 || isReversed || isSplit || (to ?? 0) >= firstUnseen(nodes), error.message)
    return undefined
  }
}

function assertSound(log: Log): void {
  const { state, events } = log
  const prompt = surface().user('and now?', 'prompt', { seq: state.nextSeq }).nodes
  const nodes = [...state.surface, ...prompt]
  assert.deepEqual(requestProblems(deriveMessages(nodes), { surface: nodes }), [], 'the request is not valid')
  const folded = foldLog(events.map((event, seq) => ({ ...event, seq, time: 0 })))
  assert.deepEqual([folded.surface, folded.generation], [state.surface, state.generation], 'not the fold')
  log.assertNothingLost()
}

/** Attempts until nothing more is to be had; it is an error not to come to an end. */
function exhaust(log: Log, cause: 'pressure' | 'context-overflow', wants: () => boolean): void {
  const most = log.state.surface.length + 3
  for (let tries = 0; wants(); tries++) {
    assert.ok(tries < most, `${cause} does not terminate`)
    const tokens = priceOf(log.state.surface)
    const outcome = log.attempt({ cause, ends: [0, 0] })
    if (outcome === 'nothing') return
    assert.ok(priceOf(log.state.surface) < tokens, `${outcome} and no smaller`)
  }
}

test('G4, F5: any log, any policy, any cut: request valid, surface the fold, pairs whole, no text lost, never above the window, an end', () => {
  fc.assert(
    fc.property(
      soundSurface,
      anyHeader,
      fc.array(anyAttempt, { maxLength: 4 }),
      ({ nodes }, header, attempts) => {
        const log = new Log(header, nodes)
        for (const attempt of attempts) log.attempt(attempt)
        exhaust(log, 'pressure', () => log.reading().pressure === 'over')
        const { contextWindow, replyMaxTokens } = header.policy
        const exceeds = () => log.reading().tokens + replyMaxTokens > (contextWindow ?? 0)
        exhaust(log, 'context-overflow', exceeds)
        // What is still too large for the window is never sent; then nothing but the newest unit and a checkpoint is left.
        if (exceeds()) assert.equal(log.attempt({ cause: 'context-overflow', ends: [0, 0] }), 'nothing')
        assertSound(log)
      },
    ),
    propertyRuns(10_000),
  )
})
