import type { ReplayPlan } from '../../formats/replay-plan.ts'
import { buildCheckpoint } from '../../shared/compaction/checkpoint.ts'
import { isSpent, NOTHING_SPENT } from '../../shared/compaction/compaction-budget.ts'
import { initialMeter, learnFromUsage, type MeterState, ratioOf } from '../../shared/compaction/meter.ts'
import { planMicro } from '../../shared/compaction/micro.ts'
import { planAttempt } from '../../shared/compaction/plan-attempt.ts'
import { modelKeyOf, takeReading } from '../../shared/compaction/pressure.ts'
import { cheaperCopies, shadowEvents } from '../../shared/compaction/prune.ts'
import { offersHistory } from '../../shared/recall/history-tool.ts'
import type { ContentBlock } from '../../shared/session/content.ts'
import { isToolUse } from '../../shared/session/content.ts'
import type { Header, NewEvent, SessionEvent, Usage } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import { INTERRUPTED_RESULT } from '../../shared/session/repair.ts'
import { countTokens } from '../../shared/tokens/counter.ts'
import { cutToTokens } from '../../shared/tokens/cut-to-tokens.ts'
import { priceContent, priceOverhead } from '../../shared/tokens/price.ts'
import { addUsage, NO_USAGE } from '../../shared/usage/ledger.ts'
import { type PromptClass, promptClass } from '../../shared/usage/prompt-class.ts'
import { SimulatedSurface } from './simulated-surface.ts'

export interface SimulatedCompaction {
  /** Number of the reply that it ran before, from 1. */
  readonly beforeReply: number
  readonly outcome: 'compacted' | 'pruned' | 'nothing'
  readonly reason?: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly messages: number
  /** Identifiers that the checkpoint dropped. */
  readonly lost: number
}

export interface Simulation {
  readonly requests: number
  readonly compactions: readonly SimulatedCompaction[]
  /** Results that the micro pass cleared. */
  readonly cleared: number
  readonly largestRequest: number
  /** Requests that would not have fitted the window. */
  readonly overflows: number
  readonly billed: Usage
  /** The same, by the length of the prompts, which some prices depend on. */
  readonly billedByPrompt: readonly (Usage & { readonly promptAbove: PromptClass })[]
}

/** A model's summary as the prompt asks for it. */
const SUMMARY_TOKENS = 1_800

/**
 * What a policy would have done with a recorded conversation: when it fires, what it takes, and what all requests cost with a prompt cache that
 * always hits. No key, no server, no model: checkpoints are those that code writes. Linear in the conversation times its compactions.
 */
export function simulate(plan: ReplayPlan, header: Header): Simulation {
  return new Simulator(plan, header).run()
}

class Simulator {
  readonly #plan: ReplayPlan
  readonly #header: Header
  readonly #overhead: number
  readonly #surface = new SimulatedSurface()
  readonly #compactions: SimulatedCompaction[] = []
  readonly #billed = new Map<PromptClass, Usage>()
  #summaries: SessionEvent<'compact/summary'>[] = []
  #meter: MeterState = initialMeter()
  #spent = NOTHING_SPENT
  #cleared = 0
  #largest = 0
  #overflows = 0

  constructor(plan: ReplayPlan, header: Header) {
    this.#plan = plan
    this.#header = header
    this.#overhead = priceOverhead(header)
  }

  run(): Simulation {
    for (const [index, reply] of this.#plan.replies.entries()) {
      for (const { message, beforeReply } of this.#plan.prompts) {
        if (beforeReply === index) this.#append(userEvent(message.content, index))
      }
      this.#pressure(index)
      this.#micro()
      this.#request(reply.content, index)
      for (const call of reply.content.filter(isToolUse)) this.#result(call.id, call.name)
    }
    return {
      requests: this.#plan.replies.length,
      compactions: this.#compactions,
      cleared: this.#cleared,
      largestRequest: this.#largest,
      overflows: this.#overflows,
      billed: [...this.#billed.values()].reduce(addUsage, NO_USAGE),
      billedByPrompt: [...this.#billed].map(([promptAbove, usage]) => ({ ...usage, promptAbove })),
    }
  }

  #pressure(index: number): void {
    const reading = takeReading({ ...this.#measured(index), snapshot: this.#surface.snapshot() })
    if (reading.pressure !== 'over') return
    const compactionId = `reply${index + 1}`
    const planned = planAttempt({
      ...this.#measured(index),
      attempt: { compactionId, cause: 'pressure', turn: 1 },
      surface: this.#surface.snapshot(),
      replies: index,
      price: priceContent,
    })
    this.#surface.write(planned.copies)
    if (planned.kind === 'void') {
      this.#meter = planned.meter
      this.#note(
        index,
        planned.outcome.outcome === 'pruned' ? 'pruned' : 'nothing',
        planned.outcome.reason,
        reading.tokens,
        0,
        0,
      )
      return
    }
    this.#compact(index, compactionId, planned.plan.shadowedSeqs, reading.tokens)
  }

  #compact(index: number, compactionId: string, seqs: readonly number[], tokensBefore: number): void {
    const { policy } = this.#header
    const shadowed = new Set(seqs)
    const { nodes } = this.#surface.snapshot()
    const span = nodes.filter((node) => shadowed.has(node.seq))
    const [first, last] = [span[0], span.at(-1)]
    if (first === undefined || last === undefined) return
    const checkpoint = buildCheckpoint({
      nodes: span,
      tail: nodes.slice(nodes.indexOf(last) + 1),
      previous: this.#summaries,
      pinEvents: [],
      policy,
      summary: null,
      countTokens,
    })
    if (policy.summarizer !== 'deterministic') this.#bill(SUMMARY_TOKENS, true)
    const seq = this.#surface.replace(keys.compactCheckpoint(compactionId), checkpoint.content, {
      start: first.seq,
      end: last.seq,
    })
    this.#summaries.push(summaryEvent(compactionId, seq, checkpoint))
    this.#note(index, 'compacted', undefined, tokensBefore, span.length, checkpoint.lost.identifiers.length)
  }

  #note(
    index: number,
    outcome: SimulatedCompaction['outcome'],
    reason: string | undefined,
    tokensBefore: number,
    messages: number,
    lost: number,
  ): void {
    const { tokens } = takeReading({ ...this.#measured(index), snapshot: this.#surface.snapshot() })
    this.#compactions.push({
      beforeReply: index + 1,
      outcome,
      ...(reason === undefined ? {} : { reason }),
      tokensBefore,
      tokensAfter: tokens,
      messages,
      lost,
    })
  }

  #micro(): void {
    const { nodes } = this.#surface.snapshot()
    const planned = planMicro(nodes, this.#header.policy, offersHistory(this.#header))
    const copies = cheaperCopies(planned, priceContent)
    this.#cleared += copies.length
    for (const { copy, tokens } of copies)
      this.#surface.write(shadowEvents(copy, tokens, { turn: 1, step: null }))
  }

  #request(reply: readonly ContentBlock[], index: number): void {
    const output = priceContent(reply)
    const tokens = this.#bill(output, false)
    this.#largest = Math.max(this.#largest, tokens)
    const { contextWindow, replyMaxTokens } = this.#header.policy
    if (contextWindow !== null && tokens + replyMaxTokens > contextWindow) this.#overflows++
    const { head, generation, nodes } = this.#surface.snapshot()
    const modelKey = modelKeyOf(this.#header)
    const usage = {
      inputTokens: tokens,
      outputTokens: Math.ceil(output * ratioOf(this.#meter, modelKey)),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    }
    this.#meter = learnFromUsage(this.#meter, {
      usage,
      modelKey,
      nodes,
      overheadTokens: this.#overhead,
      replyTokens: output,
      generation,
      headSeq: head,
    })
    this.#append(replyEvent(reply, index, this.#header))
  }

  /** Adds one request to the bill: what stood in the request before is read from the cache, the rest is written to it. Returns its input. */
  #bill(outputTokens: number, isSummary: boolean): number {
    const ratio = ratioOf(this.#meter, modelKeyOf(this.#header))
    const { input, cached } = this.#surface.requestTokens(this.#overhead, isSummary)
    const usage: Usage = {
      inputTokens: 0,
      cacheReadTokens: Math.round(cached * ratio),
      cacheWriteTokens: Math.round((input - cached) * ratio),
      outputTokens: Math.round(outputTokens * ratio),
    }
    const prompts = promptClass(usage)
    this.#billed.set(prompts, addUsage(this.#billed.get(prompts) ?? NO_USAGE, usage))
    if (isSummary) {
      const { count, tokens } = this.#spent
      const { cacheReadTokens, cacheWriteTokens, outputTokens: output } = usage
      this.#spent = { count: count + 1, tokens: tokens + cacheReadTokens + cacheWriteTokens + output }
    }
    return Math.round(input * ratio)
  }

  #result(callId: string, name: string): void {
    const { policy } = this.#header
    const recorded = this.#plan.results.get(callId) ?? { content: INTERRUPTED_RESULT.content, isError: true }
    const tokens = priceContent(recorded.content)
    const content =
      tokens > policy.toolResultMaxTokens
        ? cutToTokens(recorded.content, policy.toolResultMaxTokens, { seq: 0, historyTool: false })
        : recorded.content
    this.#append({
      key: keys.toolResult(1, 1, callId),
      type: 'tool/result',
      turn: 1,
      step: null,
      data: { callId, name, content: [...content], isError: recorded.isError },
      tokens: priceContent(content),
      surfaceOp: 'append',
    })
  }

  #append(event: NewEvent): void {
    this.#surface.write([event])
  }

  #measured(replies: number) {
    return {
      header: this.#header,
      overheadTokens: this.#overhead,
      meter: this.#meter,
      budgetSpent: isSpent(this.#header.policy, this.#spent),
      step: replies,
      nowMs: 0,
    }
  }
}

const userEvent = (content: readonly ContentBlock[], index: number): NewEvent => ({
  key: keys.prompt(`p${index}`),
  type: 'user/message',
  turn: 1,
  step: null,
  data: { content: [...content], source: 'prompt' },
  tokens: priceContent(content),
  surfaceOp: 'append',
})

const replyEvent = (content: readonly ContentBlock[], index: number, header: Header): NewEvent => ({
  key: keys.assistant(1, index + 1),
  type: 'assistant/message',
  turn: 1,
  step: null,
  data: {
    content: [...content],
    usage: null,
    stopReason: 'end_turn',
    provider: header.provider ?? '',
    model: header.model ?? '',
  },
  tokens: priceContent(content),
  surfaceOp: 'append',
})

function summaryEvent(
  compactionId: string,
  seq: number,
  { ledger, lost }: ReturnType<typeof buildCheckpoint>,
): SessionEvent<'compact/summary'> {
  return {
    seq,
    time: 0,
    key: keys.compactSummary(compactionId),
    type: 'compact/summary',
    turn: 1,
    step: null,
    tokens: 0,
    data: {
      compactionId,
      summary: [],
      shadowedRange: { start: 0, end: 0 },
      shadowedSeqs: [],
      shadowedTokenCount: 0,
      provider: 'durable-compaction',
      model: 'deterministic',
      lost,
      ledger,
    },
  }
}
