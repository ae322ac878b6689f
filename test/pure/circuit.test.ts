import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Circuit,
  FAILURES_TO_OPEN,
  mayCall,
  onAnswer,
  onFailure,
  onUndecided,
} from '../../src/shared/refusals/circuit.ts'
import type { FailureKind, ProviderFailure } from '../../src/shared/refusals/provider-failure.ts'

const failure = (kind: FailureKind = 'overloaded', rest: Partial<ProviderFailure> = {}): ProviderFailure => ({
  kind,
  retryable: true,
  message: `${kind}: 529 Overloaded.`,
  ...rest,
})

/** @returns the circuit after so many failures at `now` */
function failed(times: number, now = 0, last = failure()): Circuit {
  let circuit: Circuit | undefined
  for (let n = 1; n <= times; n++) circuit = onFailure(circuit, n === times ? last : failure(), now)
  assert.ok(circuit !== undefined)
  return circuit
}

const open = (now = 0, last = failure()) => failed(FAILURES_TO_OPEN, now, last)

/** Sends the probe that is due at `now`. */
function probed(circuit: Circuit, now: number): { circuit: Circuit; probe: number } {
  const passage = mayCall(circuit, now)
  assert.ok(passage.kind === 'probe', passage.kind)
  return passage
}

const waitOf = (circuit: Circuit | undefined, now: number): number => {
  const passage = circuit === undefined ? undefined : mayCall(circuit, now)
  assert.ok(passage?.kind === 'wait', passage?.kind)
  return passage.waitMs
}

test('nine failures in a row hold nobody back, the tenth everybody for 15 s', () => {
  assert.equal(mayCall(failed(9), 1_000).kind, 'send')
  assert.equal(waitOf(open(), 0), 15_000)
  assert.equal(waitOf(open(), 14_999), 1)
  assert.equal(mayCall(open(), 15_000).kind, 'probe')
})

test('only what says that the provider is away counts', () => {
  const away: FailureKind[] = ['rate-limit', 'overloaded', 'server', 'timeout', 'connection']
  for (const kind of away) assert.ok(onFailure(failed(9), failure(kind), 0)?.open !== null, kind)
  const other: FailureKind[] = ['invalid-request', 'authentication', 'cut-stream', 'broken-reply', 'unknown']
  for (const kind of other) assert.deepEqual(onFailure(failed(9), failure(kind), 0), failed(9), kind)
  assert.equal(onFailure(undefined, failure('unknown'), 0), undefined)
})

test('a failure that is final holds nobody back: each such call ends at once by itself', () => {
  assert.deepEqual(onFailure(failed(9), failure('rate-limit', { retryable: false }), 0), failed(9))
})

test('it is open for as long as the provider asks, when that is more', () => {
  assert.equal(waitOf(open(0, failure('rate-limit', { retryAfterMs: 120_000 })), 0), 120_000)
  assert.equal(waitOf(open(0, failure('rate-limit', { retryAfterMs: 2_000 })), 0), 15_000)
})

test('one call goes out when the time is over, the others wait for its end; a minute later another', () => {
  const { circuit } = probed(open(), 15_000)
  assert.equal(waitOf(circuit, 15_000), 0)
  assert.equal(waitOf(circuit, 74_999), 0)
  const second = probed(circuit, 75_000)
  assert.equal(waitOf(second.circuit, 75_001), 0)
})

test('each failed probe doubles the time, up to a minute', () => {
  let circuit = open()
  let now = 15_000
  const waits: number[] = []
  for (let n = 0; n < 4; n++) {
    const sent = probed(circuit, now)
    circuit = onFailure(sent.circuit, failure(), now, sent.probe) as Circuit
    waits.push(waitOf(circuit, now))
    now += waits.at(-1) ?? 0
  }
  assert.deepEqual(waits, [30_000, 60_000, 60_000, 60_000])
})

test('calls that were under way when it opened neither lengthen it nor are taken for a probe', () => {
  const late = onFailure(open(), failure(), 5_000) as Circuit
  assert.equal(waitOf(late, 5_000), 10_000)
  assert.equal(late.failures, FAILURES_TO_OPEN + 1)
  const { circuit } = probed(late, 15_000)
  assert.equal(waitOf(onFailure(circuit, failure(), 16_000), 16_000), 0)
})

test('a probe that is cancelled, or fails in a way that decides nothing, gives its place to the next call', () => {
  const { circuit, probe } = probed(open(), 15_000)
  assert.equal(mayCall(onUndecided(circuit, 15_100, probe) as Circuit, 15_100).kind, 'probe')
  const refused = onFailure(circuit, failure('invalid-request', { retryable: false }), 15_100, probe)
  assert.equal(mayCall(refused as Circuit, 15_100).kind, 'probe')
  assert.equal(waitOf(onUndecided(circuit, 15_100), 15_100), 0, 'another call has no place to give')
})

test('a probe that begins to answer lets all through; should it or another fail then, it opens at once, for longer', () => {
  const { circuit, probe } = probed(open(), 15_000)
  const answering = onAnswer(circuit, probe) as Circuit
  assert.equal(mayCall(answering, 15_500).kind, 'send')
  assert.equal(waitOf(onFailure(answering, failure(), 16_000), 16_000), 30_000)
  assert.equal(waitOf(onAnswer(circuit), 16_000), 0, 'the answer to an older call opens nothing')
})

test('an older probe that comes back late decides nothing', () => {
  const first = probed(open(), 15_000)
  const second = probed(first.circuit, 75_000)
  assert.deepEqual(onUndecided(second.circuit, 80_000, first.probe), second.circuit)
  assert.equal(waitOf(onFailure(second.circuit, failure(), 80_000, first.probe), 80_000), 0)
})

test('failures that lie more than ten minutes apart do not add up', () => {
  const later = onFailure(failed(9, 0), failure(), 10 * 60_000 + 1) as Circuit
  assert.deepEqual([later.failures, later.open], [1, null])
})

test('a clock that was set back holds nobody for longer', () => {
  assert.equal(mayCall(open(1_000_000), 0).kind, 'probe')
})
