import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import { BODIES, PASSING, type ProviderFault, REFUSALS, SILENCES } from '../support/provider-faults/faults.ts'
import { type TroubledModel, troubledModel } from '../support/provider-faults/observe.ts'
import { anthropicWire, type Wire } from '../support/provider-faults/wires.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'
import { assertWhole, ofType } from '../support/whole-log.ts'

// Rows of docs/provider-faults.md with nothing simulated: Temporal's own retries on a real server, the real store, real HTTP.

const FAULTS = [...REFUSALS, ...PASSING, ...BODIES, ...SILENCES]
const named = (part: string): ProviderFault => {
  const fault = FAULTS.find(({ what }) => what.includes(part))
  assert.ok(fault !== undefined, part)
  return fault
}

let wire: Wire
let real: RealSessions
const troubled: Record<string, TroubledModel> = {}
before(async () => {
  wire = await anthropicWire()
  for (const [provider, fault] of Object.entries({
    limited: named('`retry-after-ms: 1500`'),
    impatient: named('`retry-after: 0`'),
    overloaded: named('529'),
    unauthorized: named('401'),
    filtered: named('content filtering'),
    broken: named('breaks in the middle'),
    stalled: named('silence in the middle'),
  }))
    troubled[provider] = troubledModel(wire, fault)
  const models = Object.entries(troubled).map(([provider, { model }]) => [provider, model] as const)
  real = await openRealSessions(Object.fromEntries(models))
})
after(async () => {
  await real.close()
  await wire.close()
})

/** Each turn says 1,500 words. */
const PRESSING = { thresholdTokens: 5_000, retainTokens: 1_600 }

async function begin(provider: string, policy: Readonly<Record<string, unknown>> = {}) {
  const { trouble } = troubled[provider] as TroubledModel
  return { session: await real.start({ model: `${provider}/x`, policy }), trouble }
}

const talk = async (session: Session) => (await session.prompt('Talk.')).result({ timeoutMs: 120_000 })

/** Turns until the session has been under pressure, which four of them make. */
async function pressed(session: Session): Promise<void> {
  for (let n = 0; n < 6; n++) assert.equal((await talk(session)).reason, 'completed')
}

async function endsOf(session: Session): Promise<string[]> {
  await whenIdle(session)
  const events = await assertWhole(real, session)
  return ofType(events, 'compact/end').map(({ data }) => data.error?.code ?? 'compacted')
}

for (const provider of ['limited', 'impatient', 'overloaded'])
  test(`a turn whose provider is ${provider} twice is answered once it is served`, async () => {
    const { session, trouble } = await begin(provider)
    trouble.start('turn', 2)
    assert.equal((await talk(session)).reason, 'completed')
    assert.equal(ofType(await assertWhole(real, session), 'assistant/message').length, 1)
  })

test('a key that is not valid ends the turn at once, in words; the next prompt is answered', async () => {
  const { session, trouble } = await begin('unauthorized')
  trouble.start('turn', 1)
  const { reason, error } = await talk(session)
  assert.equal(reason, 'error')
  assert.match(error ?? '', /^authentication: 401 invalid x-api-key .*Give the worker a valid key/)
  assert.equal((await talk(session)).reason, 'completed')
})

test('fault P07: the connection breaks in the summary, again and again: nothing of it stays, the turn goes on, the summary comes whole', async () => {
  const { session, trouble } = await begin('broken', PRESSING)
  trouble.start('summary', 2)
  await pressed(session)
  assert.deepEqual((await endsOf(session)).slice(0, 1), ['compacted'])
  const [summary] = ofType(await real.log(session), 'compact/summary')
  assert.match(JSON.stringify(summary?.data.summary), /Words were said\. Next: nothing\./)
  assert.equal((await talk(session)).reason, 'completed')
})

test('fault P06: a content filter that refuses every summary fails each attempt at once, and no turn; with summaryFallback always code writes the checkpoint', async () => {
  const { session, trouble } = await begin('filtered', PRESSING)
  trouble.start('summary', Number.POSITIVE_INFINITY)
  await pressed(session)
  const ends = await endsOf(session)
  assert.ok(ends.length >= 1 && ends.every((code) => code === 'summary'), ends.join())
  const other = await begin('filtered', { ...PRESSING, summaryFallback: 'always' })
  await pressed(other.session)
  assert.deepEqual((await endsOf(other.session)).slice(0, 1), ['compacted'])
  trouble.stop()
})

test('fault P04: a summary that stalls gives up its place by its own time; the next compaction runs', async () => {
  const { session, trouble } = await begin('stalled')
  for (let n = 0; n < 3; n++) await talk(session)
  trouble.start('summary', Number.POSITIVE_INFINITY)
  await assert.rejects(session.compactNow({ whenBusy: 'wait' }), /summary/)
  trouble.stop()
  assert.ok((await session.compactNow({ whenBusy: 'wait' })) !== null)
  assert.deepEqual(await endsOf(session), ['summary', 'compacted'])
})
