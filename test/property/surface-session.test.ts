import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { breakerHolds, isEffective, recordPass } from '../../src/shared/compaction/breaker.ts'
import { initialMeter, learnFromUsage, ratioOf } from '../../src/shared/compaction/meter.ts'
import { planMicro } from '../../src/shared/compaction/micro.ts'
import { resolvePolicy } from '../../src/shared/compaction/policy.ts'
import { PRESETS, type PresetName } from '../../src/shared/compaction/presets.ts'
import { takeReading } from '../../src/shared/compaction/pressure.ts'
import { planPrune, type ShadowCopy, shadowEvents } from '../../src/shared/compaction/prune.ts'
import { selectSpan } from '../../src/shared/compaction/span.ts'
import type { Header, SurfaceNode } from '../../src/shared/session/events.ts'
import { deriveMessages } from '../../src/shared/session/messages.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import { surface } from '../pure/surface-builder.ts'
import { runs } from './surface-arbitrary.ts'

interface World {
  readonly preset: PresetName
  readonly window: number
  readonly overheadTokens: number
  /** True tokens per token of our counter; of each message up to a tenth more or less. */
  readonly ratio: number
  /** In thousandths of the largest result, one after another, for ever. */
  readonly sizes: readonly number[]
  readonly callsPerStep: number
  readonly tool: string
}

/** A session without store, workflow and model: the pure modules in the order in which the activities call them. */
class Session {
  readonly policy
  readonly header: Header
  readonly builder = surface()
  readonly world: World
  meter = initialMeter()
  generation = 0
  steps = 0
  compactions = 0
  attempts = 0
  #size = 0

  constructor(world: World) {
    this.world = world
    const model = { provider: 'acme', model: 'm', contextWindow: world.window, maxOutputTokens: null }
    this.policy = resolvePolicy({}, model, world.preset)
    this.header = { ...model, system: '', tools: [], sampling: {}, policy: this.policy }
    this.builder.user('go', 'prompt', { tokens: 500 })
  }

  get nodes(): SurfaceNode[] {
    return this.builder.nodes
  }

  get head(): number {
    return Math.max(...this.nodes.map(({ seq }) => seq)) + 1
  }

  reading() {
    const { header, meter, steps: step, generation } = this
    return takeReading({
      snapshot: { head: this.head, generation, nodes: this.nodes },
      header,
      overheadTokens: this.world.overheadTokens,
      meter,
      step,
      nowMs: 0,
    })
  }

  /** What the provider would count for the next request. */
  truth(): number {
    const noise = (seq: number) => 1 + 0.1 * Math.sin(seq * 12.9898)
    const counted = this.nodes.reduce(
      (sum, { seq, tokens }) => sum + tokens * noise(seq),
      this.world.overheadTokens,
    )
    return Math.ceil(counted * this.world.ratio)
  }

  step(): void {
    const { policy, world } = this
    if (this.reading().pressure === 'over') this.compact('pressure')
    this.#apply(planMicro(this.nodes, policy))
    if (this.reading().tokens + policy.replyMaxTokens > world.window) this.compact('context-overflow')
    // A whole request is checked now and then; that it fits, at every step.
    if (this.steps % 10 === 0)
      assert.deepEqual(requestProblems(deriveMessages(this.nodes), { surface: this.nodes }), [])
    const isRefused = this.truth() + policy.replyMaxTokens > world.window
    if (isRefused) this.compact('context-overflow')
    const sent = {
      nodes: [...this.nodes],
      headSeq: this.head,
      generation: this.generation,
      input: this.truth(),
    }
    assert.ok(
      sent.input + policy.replyMaxTokens <= world.window,
      `step ${this.steps}: ${sent.input} tokens, estimated ${this.reading().tokens}`,
    )
    const ids = Array.from({ length: world.callsPerStep }, (_, index) => `s${this.steps}_${index}`)
    this.builder.reply(`step ${this.steps}`, ids, { tokens: 120 })
    this.meter = learnFromUsage(this.meter, {
      ...sent,
      usage: {
        inputTokens: sent.input,
        outputTokens: Math.ceil(120 * world.ratio),
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
      },
      modelKey: 'acme/m',
      overheadTokens: world.overheadTokens,
      replyTokens: 120,
    })
    const most = Math.min(policy.toolResultMaxTokens, world.window / 2 / ids.length)
    for (const id of ids) {
      const share = world.sizes[this.#size++ % world.sizes.length] ?? 0
      const tokens = Math.max(5, Math.floor((most * share) / 1_000))
      this.builder.result(id, 'x'.repeat(Math.min(9_000, tokens * 4)), { tokens, name: world.tool })
    }
    this.steps++
  }

  compact(cause: 'pressure' | 'context-overflow'): void {
    const { policy, world } = this
    const before = this.reading()
    const ratio = ratioOf(this.meter, 'acme/m')
    this.attempts++
    this.#apply(
      planPrune(this.nodes, policy, {
        unseen: cause === 'context-overflow',
        ratio,
        overheadTokens: world.overheadTokens,
      }),
    )
    const onlyPruned = cause === 'pressure' && this.reading().pressure !== 'over'
    if (!onlyPruned) {
      const selected = selectSpan({
        nodes: this.nodes,
        cause,
        policy,
        ratio,
        overheadTokens: world.overheadTokens,
      })
      if (selected.kind === 'span') this.#replace(selected)
    }
    const { tokens: tokensAfter, limit: limitTokens } = this.reading()
    const surfaceTokens = this.nodes.reduce((sum, { tokens }) => sum + tokens, 0)
    const effective = isEffective({
      tokensBefore: before.tokens,
      tokensAfter,
      limitTokens,
      minGainRatio: policy.minGainRatio,
      onlyPruned,
    })
    const pass = { effective, nowMs: 0, stepIndex: this.steps, surfaceTokens }
    if (cause === 'pressure' || effective)
      this.meter = { ...this.meter, breaker: recordPass(this.meter.breaker, pass) }
  }

  #replace({ seqs, tokens }: Extract<ReturnType<typeof selectSpan>, { kind: 'span' }>): void {
    const price = Math.min(this.policy.checkpointLimitTokens, Math.ceil(tokens * 0.8))
    const checkpoint = surface().checkpoint(`[Checkpoint ${this.compactions}]`, {
      seq: this.head,
      tokens: price,
    })
    this.nodes.splice(0, seqs.length, ...checkpoint.nodes)
    this.builder.skipTo(this.head)
    this.generation++
    this.compactions++
  }

  #apply(copies: readonly ShadowCopy[]): void {
    for (const copy of copies) {
      const tokens = Math.max(
        12,
        Math.ceil((copy.target.tokens * copy.charsAfter) / Math.max(1, copy.charsBefore)),
      )
      this.builder.replaceByCopy(shadowEvents(copy, tokens, { turn: null, step: null })[1])
      this.generation++
    }
  }
}

const presets = Object.keys(PRESETS) as PresetName[]

for (const preset of presets) {
  for (const window of [32_000, 200_000, 1_000_000]) {
    test(`A6 preset ${preset} compacts five times in a row on a window of ${window}`, () => {
      const session = new Session({
        preset,
        window,
        overheadTokens: 2_500,
        ratio: 1.3,
        sizes: [300, 1_000, 50, 600],
        callsPerStep: 2,
        tool: 'read_file',
      })
      while (session.compactions < 5 && session.steps < 400) session.step()
      assert.equal(session.compactions, 5)
      assert.ok(session.steps >= 10, 'and works in between')
      assert.equal(session.meter.breaker.ineffective, 0)
    })
  }
}

test('B15 a surface that cannot shrink below the limit: at most three attempts, then it is held', () => {
  const session = new Session({
    preset: 'default',
    window: 32_000,
    overheadTokens: 14_500,
    ratio: 1.2,
    sizes: [20],
    callsPerStep: 1,
    tool: 'read_file',
  })
  const limit = session.policy.pressureTokens ?? 0
  for (let step = 0; step < 12; step++) {
    if (session.reading().pressure === 'over') session.compact('pressure')
    session.builder.reply('', [`c${step}`], { tokens: 300 }).result(`c${step}`, 'x', { tokens: 1_000 })
    session.steps++
  }
  assert.ok(session.reading().tokens > limit)
  assert.ok(session.attempts <= 3 && session.attempts > 0, `${session.attempts} attempts`)
  assert.equal(session.reading().pressure, 'held')
  assert.ok(
    breakerHolds(session.meter.breaker, {
      settings: session.policy.breaker,
      nowMs: 0,
      stepIndex: 99,
      surfaceTokens: 1e9,
    }),
  )
})

const world: fc.Arbitrary<World> = fc.record({
  preset: fc.constantFrom(...presets),
  window: fc.constantFrom(32_000, 64_000, 200_000),
  overheadTokens: fc.integer({ min: 0, max: 4_000 }),
  ratio: fc.double({ min: 0.9, max: 1.2, noNaN: true }),
  sizes: fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 12 }),
  callsPerStep: fc.integer({ min: 1, max: 3 }),
  tool: fc.constantFrom('read_file', 'run_command'),
})

test('O2 any run of tool results up to the intake limit: every request is valid and fits the window', () => {
  fc.assert(
    fc.property(world, (given) => {
      const session = new Session(given)
      while (session.steps < 60) session.step()
    }),
    runs(60),
  )
})

test('B14 results of a tenth of that: at most one compaction in three steps', () => {
  const modest = world.map((given) => ({ ...given, sizes: given.sizes.map((size) => size / 10) }))
  fc.assert(
    fc.property(modest, (given) => {
      const session = new Session(given)
      while (session.steps < 150) session.step()
      assert.ok(session.compactions <= 50, `${session.compactions} compactions`)
    }),
    runs(40),
  )
})
