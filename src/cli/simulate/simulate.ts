import type { ReplayPlan, ReplayPrompt } from '../../formats/replay-plan.ts'
import { meterAfterPass } from '../../shared/compaction/after-pass.ts'
import { buildCheckpoint, planCheckpoint } from '../../shared/compaction/checkpoint.ts'
import { LEAST_SUMMARY_TOKENS } from '../../shared/compaction/checkpoint-budget.ts'
import { isSpent, NOTHING_SPENT } from '../../shared/compaction/compaction-budget.ts'
import { pressureWantsCompaction } from '../../shared/compaction/decisions.ts'
import {
  initialMeter,
  learnFromUsage,
  type MeterState,
  ratioOf,
  withFirstRatio,
} from '../../shared/compaction/meter.ts'
import { planMicro } from '../../shared/compaction/micro.ts'
import { planAttempt } from '../../shared/compaction/plan-attempt.ts'
import { modelKeyOf, takeReading } from '../../shared/compaction/pressure.ts'
import { cheaperCopies, shadowEvents } from '../../shared/compaction/prune.ts'
import { isCompactionVain, shorterReply } from '../../shared/compaction/shorter-reply.ts'
import type { CompactionPlan } from '../../shared/ports/store.ts'
import type { Reading } from '../../shared/protocol.ts'
import { offersHistory } from '../../shared/recall/history-tool.ts'
import type { ContentBlock } from '../../shared/session/content.ts'
import { isToolUse } from '../../shared/session/content.ts'
import type { Header, SessionEvent, Usage } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import { countTokens } from '../../shared/tokens/counter.ts'
import { priceContent, priceOverhead } from '../../shared/tokens/price.ts'
import { addUsage, NO_USAGE } from '../../shared/usage/ledger.ts'
import { type PromptClass, promptClass } from '../../shared/usage/prompt-class.ts'
import { replyEvent, resultEvent, summaryEvent, userEvent } from './simulated-events.ts'
import { SimulatedSurface } from './simulated-surface.ts'

type Cause = 'pressure' | 'context-overflow'
type Outcome = 'compacted' | 'pruned' | 'nothing' | 'failed'

export interface SimulatedCompaction {
  /** Number of the reply that it ran before, from 1. */
  readonly beforeReply: number
  readonly cause: Cause
  readonly outcome: Outcome
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

export interface SimulateOptions {
  /** True tokens for one of our counter; default: what a session assumes of the model before anything is learned. */
  readonly usageRatio?: number
}

/**
 * What a policy would have done with a recorded conversation: when it fires, what it takes, and what all requests cost with a prompt cache that
 * always hits. No key, no server, no model: checkpoints are those that code writes, a model's summary is billed as long as it is asked for. Passes that do not
 * help pause further ones as in a session. Linear in the conversation times its compactions.
 */
export function simulate(plan: ReplayPlan, header: Header, options: SimulateOptions = {}): Simulation {
  return new Simulator(plan, header, options).run()
}

/** What decides whether the same step tries again. */
type Pass = Pick<SimulatedCompaction, 'outcome' | 'tokensBefore' | 'tokensAfter'>

class Simulator {
  readonly #plan: ReplayPlan
  readonly #header: Header
  readonly #overhead: number
  readonly #surface = new SimulatedSurface()
  readonly #compactions: SimulatedCompaction[] = []
  readonly #billed = new Map<PromptClass, Usage>()
  #summaries: SessionEvent<'compact/summary'>[] = []
  #meter: MeterState
  #turn = 0
  #spent = NOTHING_SPENT
  #cleared = 0
  #largest = 0
  #overflows = 0

  constructor(plan: ReplayPlan, header: Header, { usageRatio }: SimulateOptions) {
    this.#plan = plan
    this.#header = header
    this.#overhead = priceOverhead(header)
    this.#meter = withFirstRatio(initialMeter(), modelKeyOf(header), usageRatio)
  }

  run(): Simulation {
    for (const [index, reply] of this.#plan.replies.entries()) {
      this.#prompts(index, (delivery) => delivery !== 'next-step')
      this.#relieve(index)
      this.#prompts(index, (delivery) => delivery === 'next-step')
      this.#micro()
      this.#fit(index)
      this.#request(reply.content, index)
      const calls = reply.content.filter(isToolUse)
      const place = { header: this.#header, callsInStep: calls.length, turn: this.#turn }
      this.#surface.write(calls.map((call) => resultEvent(call, this.#plan.results.get(call.id), place)))
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

  #prompts(index: number, isDue: (delivery: ReplayPrompt['delivery']) => boolean): void {
    for (const { message, beforeReply, delivery } of this.#plan.prompts) {
      if (beforeReply !== index || !isDue(delivery)) continue
      if (delivery === 'next-turn') this.#turn++
      this.#surface.write([userEvent(message.content, { turn: this.#turn, index })])
    }
  }

  #relieve(index: number): void {
    const passes: Pass[] = []
    const { compactionRetries } = this.#header.policy
    while (pressureWantsCompaction(this.#reading(index), passes, compactionRetries))
      passes.push(this.#compact(index, 'pressure', passes.length))
  }

  /** A request that the session would not send is made again after each compaction that changed the surface. */
  #fit(index: number): void {
    for (let recoveries = 0; this.#isTooLarge(index); recoveries++) {
      if (this.#goesShorter(index) || recoveries >= this.#header.policy.maxOverflowRetries) break
      const { generation } = this.#surface.snapshot()
      this.#compact(index, 'context-overflow', recoveries)
      this.#micro()
      if (this.#surface.snapshot().generation === generation) break
    }
    if (this.#isTooLarge(index)) this.#overflows++
  }

  /** Where a compaction would be vain, a shorter reply is taken. */
  #goesShorter(index: number): boolean {
    const reading = this.#reading(index)
    return isCompactionVain(reading, this.#header) && shorterReply(this.#header, reading.tokens) !== null
  }

  #isTooLarge(index: number): boolean {
    const { contextWindow, replyMaxTokens } = this.#header.policy
    return contextWindow !== null && this.#reading(index).tokens + replyMaxTokens > contextWindow
  }

  #compact(index: number, cause: Cause, attempt: number): Pass {
    const compactionId = `reply${index + 1}.${cause}.${attempt}`
    const { tokens: tokensBefore } = this.#reading(index)
    const planned = planAttempt({
      ...this.#measured(index),
      attempt: { compactionId, cause, turn: this.#turn },
      surface: this.#surface.snapshot(),
      replies: index,
      price: priceContent,
    })
    this.#surface.write(planned.copies)
    if (planned.kind === 'plan') return this.#replace(index, cause, compactionId, planned.plan)
    this.#meter = planned.meter
    const { outcome, reason } = planned.outcome
    const kind = outcome === 'pruned' ? 'pruned' : 'nothing'
    return this.#note(index, { cause, outcome: kind, reason, tokensBefore, messages: 0, lost: 0 })
  }

  #replace(index: number, cause: Cause, compactionId: string, plan: CompactionPlan): Pass {
    const { policy } = this.#header
    const { tokensBefore, shadowedTokenCount } = plan
    const shadowed = new Set(plan.shadowedSeqs)
    const { nodes } = this.#surface.snapshot()
    const span = nodes.filter((node) => shadowed.has(node.seq))
    const source = {
      nodes: span,
      previous: this.#summaries,
      pinEvents: [],
      policy,
      countTokens,
      historyTool: offersHistory(this.#header),
    }
    const { summaryAskTokens, summaryLimitTokens } = planCheckpoint(source).budget
    const isModels = policy.summarizer !== 'deterministic'
    const unasked = isSpent(policy, this.#spent)
      ? 'the budget is used up'
      : summaryLimitTokens < LEAST_SUMMARY_TOKENS
        ? 'no room for a summary'
        : undefined
    if (isModels && unasked === undefined) this.#bill(summaryAskTokens, true)
    const [first, last] = [span[0], span.at(-1)]
    const checkpoint = buildCheckpoint({
      ...source,
      tail: last === undefined ? [] : nodes.slice(nodes.indexOf(last) + 1),
      summary: null,
    })
    const reason =
      isModels && unasked !== undefined && policy.summaryFallback === 'never'
        ? unasked
        : checkpoint.tokens >= shadowedTokenCount
          ? 'the checkpoint is not smaller'
          : undefined
    if (first === undefined || last === undefined || reason !== undefined) {
      const failed = { cause, reason, tokensBefore, messages: 0, lost: 0 }
      return this.#learn(index, this.#note(index, { ...failed, outcome: 'failed' }))
    }
    const seq = this.#surface.replace(keys.compactCheckpoint(compactionId), checkpoint.content, {
      start: first.seq,
      end: last.seq,
    })
    this.#summaries.push(summaryEvent(compactionId, seq, checkpoint))
    const lost = checkpoint.lost.identifiers.length
    return this.#learn(
      index,
      this.#note(index, { cause, outcome: 'compacted', tokensBefore, messages: span.length, lost }),
    )
  }

  /** What the breaker learns of a pass that was tried. */
  #learn(index: number, pass: SimulatedCompaction): Pass {
    const surfaceTokens = this.#surface.snapshot().nodes.reduce((sum, { tokens }) => sum + tokens, 0)
    const { cause, ...outcome } = pass
    const measured = { header: this.#header, replies: index, surfaceTokens, nowMs: 0 }
    this.#meter = meterAfterPass(this.#meter, { ...measured, cause, outcome })
    return pass
  }

  #note(
    index: number,
    {
      reason,
      ...noted
    }: Omit<SimulatedCompaction, 'beforeReply' | 'tokensAfter' | 'reason'> & {
      readonly reason?: string | undefined
    },
  ): SimulatedCompaction {
    const compaction = {
      beforeReply: index + 1,
      ...noted,
      ...(reason === undefined ? {} : { reason }),
      tokensAfter: this.#reading(index).tokens,
    }
    this.#compactions.push(compaction)
    return compaction
  }

  #micro(): void {
    const { nodes } = this.#surface.snapshot()
    const planned = planMicro(nodes, this.#header.policy, offersHistory(this.#header))
    const copies = cheaperCopies(planned, priceContent)
    this.#cleared += copies.length
    for (const { copy, tokens } of copies)
      this.#surface.write(shadowEvents(copy, tokens, { turn: this.#turn, step: null }))
  }

  #request(reply: readonly ContentBlock[], index: number): void {
    const output = priceContent(reply)
    const tokens = this.#bill(output, false)
    this.#largest = Math.max(this.#largest, tokens)
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
    this.#surface.write([replyEvent(reply, this.#header, { turn: this.#turn, index })])
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

  #reading(index: number): Reading {
    return takeReading({ ...this.#measured(index), snapshot: this.#surface.snapshot() })
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
