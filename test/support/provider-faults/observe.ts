import assert from 'node:assert/strict'
import { readLog } from '../../../src/cli/read-log.ts'
import type { ModelClient } from '../../../src/shared/ports/model.ts'
import type { CompactionOutcome } from '../../../src/shared/protocol.ts'
import { text } from '../../../src/shared/session/content.ts'
import { openStage, SESSION } from '../activity-stage.ts'
import { storeProblems } from '../fault-checks.ts'
import { ofType } from '../of-type.ts'
import { type StagedTurns, stagedTurns } from '../staged-session.ts'
import { HALF_SAID, type ProviderFault } from './faults.ts'
import {
  askedPauseMs,
  isHeld,
  type RetryingStage,
  retryingStage,
  type TriedCall,
  waitingClock,
} from './retrying-stage.ts'
import { type CallPhase, phaseOf, type Wire } from './wires.ts'

// One fault on one API: in a turn, in a summary, in a part of a summary; once, and until the calls stop. What is returned was seen.

export const PHASES = ['turn', 'summary', 'chunk'] as const
export type Phase = (typeof PHASES)[number]

/** What followed, in the words of the table. */
export interface Seen {
  readonly once: string
  readonly always: string
}

const SAID = 'word '.repeat(1_500)
const SUMMARY = 'Words were said. Next: nothing.'
const CHARS_PER_TOKEN = 5

/** Which calls of a stage the fault strikes: after some of the phase that go well, so many. */
class Trouble {
  #passing = 0
  #left = 0
  #phase: CallPhase | undefined

  start(phase: Phase, times: number): void {
    this.#phase = phase
    this.#passing = phase === 'chunk' ? 1 : 0
    this.#left = times
  }

  stop(): void {
    this.#left = 0
  }

  strikes(phase: CallPhase): boolean {
    if (phase !== this.#phase || this.#left === 0) return false
    if (this.#passing > 0) {
      this.#passing--
      return false
    }
    this.#left--
    return true
  }
}

interface Stage extends StagedTurns {
  readonly stage: RetryingStage
  readonly trouble: Trouble
}

export interface TroubledModel {
  readonly model: ModelClient
  readonly trouble: Trouble
}

/** A live client whose calls meet the fault where the trouble strikes; times of the fault hold for those calls alone. */
export function troubledModel(wire: Wire, fault: ProviderFault, elsewhere = ''): TroubledModel {
  const trouble = new Trouble()
  const [patient, struck] = [wire.client(), wire.client(fault.times)]
  const model: ModelClient = {
    capacity: patient.capacity,
    generate(request, context) {
      const phase = phaseOf(request.messages.at(-1))
      const strikes = trouble.strikes(phase)
      wire.answer = (response, json) => {
        if (strikes) return fault.play(wire, response, elsewhere)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const said = phase === 'turn' ? SAID : SUMMARY
        response.end(wire.replyFrames(said, Math.ceil(json.length / CHARS_PER_TOKEN)).join(''))
      }
      return (strikes ? struck : patient).generate(request, context)
    },
  }
  return { model, trouble }
}

async function openTroubled(
  wire: Wire,
  fault: ProviderFault,
  elsewhere: string,
  policy: Readonly<Record<string, unknown>>,
): Promise<Stage> {
  const { model, trouble } = troubledModel(wire, fault, elsewhere)
  const clock = waitingClock()
  const stage = retryingStage(await openStage({ model, policy, clock: clock.now }), clock, fault.asksMs)
  return { ...stagedTurns(stage), stage, trouble }
}

/** A turn of many words, four times. */
async function fill({ say }: Stage): Promise<void> {
  for (let n = 0; n < 4; n++) assert.equal((await say('Talk.')).reason, 'completed')
}

interface Played {
  readonly calls: readonly TriedCall[]
  readonly requests: readonly CallPhase[]
}

async function played<T>(wire: Wire, { stage }: Stage, play: () => Promise<T>): Promise<T & Played> {
  const [calls, requests] = [stage.calls.length, wire.received.length]
  const result = await play()
  return { ...result, calls: stage.calls.slice(calls), requests: wire.received.slice(requests) }
}

/** @returns what a turn came to */
async function seeTurn(wire: Wire, fault: ProviderFault, at: Stage, times: number): Promise<string> {
  const compactions = at.outcomes.length
  at.trouble.start('turn', times)
  const said = await played(wire, at, () => at.say('Talk.'))
  const { reason, code, requests } = said
  const calls = said.calls.filter(({ name }) => name === 'sessionCallModel')
  at.trouble.stop()
  const sent = requests.filter((phase) => phase === 'turn').length
  assert.equal(sent, sentOf(calls), 'one request for each attempt that is sent: no other layer tries again')
  assertAsked(fault, calls)
  const compacted = at.outcomes.length > compactions ? 'compacted, ' : ''
  const came = reason === 'completed' ? 'answered' : `turn ends: ${reason} \`${code}\``
  return `${compacted}${triesOf(calls)}, ${came}`
}

/** @returns what a compaction came to */
async function seeCompaction(
  wire: Wire,
  fault: ProviderFault,
  at: Stage,
  phase: 'summary' | 'chunk',
  times: number,
): Promise<string> {
  at.trouble.start(phase, times)
  const outcome = await played(wire, at, () => at.compact())
  at.trouble.stop()
  assertAsked(fault, outcome.calls)
  assert.ok(phase === 'summary' || outcome.requests.filter((each) => each === 'chunk').length >= 2)
  return `${triesOf(outcome.calls)}, ${cameTo(outcome)}`
}

const cameTo = ({ outcome, reason, error }: CompactionOutcome): string =>
  outcome === 'compacted'
    ? `compacted${reason === 'deterministic' ? ' without a model' : ''}`
    : `${outcome}: \`${error?.code ?? reason}\``

const attemptsOf = (calls: readonly TriedCall[]): number =>
  calls.reduce((sum, { attempts }) => sum + attempts, 0)

const sentOf = (calls: readonly TriedCall[]): number => calls.reduce((sum, { sent }) => sum + sent, 0)

function triesOf(calls: readonly TriedCall[]): string {
  const attempts = attemptsOf(calls)
  const waitedMs = calls.reduce((sum, call) => sum + call.waitedMs, 0)
  const waited =
    waitedMs < 90_000 ? `${Math.round(waitedMs / 100) / 10} s` : `${Math.round(waitedMs / 6_000) / 10} min`
  const sent = sentOf(calls)
  const held = sent === attempts ? '' : ` (${sent} sent)`
  return `${attempts} attempt${attempts === 1 ? '' : 's'}${held}${waitedMs === 0 ? '' : ` in ${waited}`}`
}

/** What Temporal is told of the failures: the kind, and the provider's wait. */
function assertAsked({ kind, asksMs, begun }: ProviderFault, calls: readonly TriedCall[]): void {
  for (const failure of calls.flatMap(({ failures }) => failures)) {
    if (isHeld(failure)) continue
    const [details] = failure.details as [{ kind?: string }?]
    if (failure.type === 'ModelFailed') assert.equal(details?.kind, kind, failure.message)
    const askedMs = askedPauseMs(failure)
    if (begun === true) continue
    if (asksMs === undefined || askedMs === undefined) assert.equal(askedMs, asksMs)
    else assert.ok(askedMs <= asksMs && askedMs > 0.5 * asksMs, `${askedMs} ms`)
  }
}

/** Turns and summaries over a large window. */
export async function seeFault(wire: Wire, fault: ProviderFault, elsewhere: string) {
  const at = await openTroubled(wire, fault, elsewhere, {})
  await fill(at)
  const turn = {
    once: await seeTurn(wire, fault, at, 1),
    always: await seeTurn(wire, fault, at, Number.POSITIVE_INFINITY),
  }
  await fill(at)
  const summary = await seeCompactions(wire, fault, at, 'summary')
  await assertSound(wire, at)
  return { turn, summary }
}

/** Summaries by a model with a small window, in parts. The fault strikes the second part. */
export async function seeFaultInParts(wire: Wire, fault: ProviderFault, elsewhere: string): Promise<Seen> {
  const at = await openTroubled(wire, fault, elsewhere, {
    summarizer: { provider: 'scripted', model: 'small' },
  })
  await fill(at)
  const seen = await seeCompactions(wire, fault, at, 'chunk')
  await assertSound(wire, at)
  return seen
}

async function seeCompactions(
  wire: Wire,
  fault: ProviderFault,
  at: Stage,
  phase: 'summary' | 'chunk',
): Promise<Seen> {
  const once = await seeCompaction(wire, fault, at, phase, 1)
  await fill(at)
  const always = await seeCompaction(wire, fault, at, phase, Number.POSITIVE_INFINITY)
  // The session is as it was, or compacted; both go on.
  await fill(at)
  assert.equal((await at.compact()).outcome, 'compacted')
  return { once, always }
}

/** Nothing of a failed call is in the log: no piece of a reply, no summary of part of an answer, no call paid twice. */
async function assertSound(wire: Wire, { stage }: Stage): Promise<void> {
  wire.assertValid()
  const events = await readLog(stage.store, SESSION)
  assert.deepEqual(await storeProblems(stage.store, SESSION, events), [])
  for (const { data } of ofType(events, 'assistant/message')) {
    const [said] = data.content.map((block) => block['text'])
    // A turn that ends keeps what was said last, marked so; nothing else of a failed call stays.
    assert.ok(data.interrupted === true ? HALF_SAID.startsWith(String(said)) : said === SAID, `${said}`)
  }
  for (const { data } of ofType(events, 'compact/call')) {
    // A call that broke off is recorded for what it cost; nothing that it said is kept, or used.
    if (data.rawOutput === undefined) assert.equal(data.accepted, false)
    else assert.deepEqual(data.rawOutput, [text(SUMMARY)])
  }
  assert.equal((await stage.store.session(SESSION))?.openTurn ?? null, null)
  await stage.store.close()
}
