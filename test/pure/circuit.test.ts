import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Circuit,
  FAILURES_TO_OPEN,
  mayCall,
  onAnswer,
  onFailure,
  onSuccess,
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
  return failedFrom(undefined, times, now, last)
}

function failedFrom(before: Circuit | undefined, times: number, now: number, last = failure()): Circuit {
  let circuit = before
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

/** A probe that was sent at 15 s and answers at once. */
function answered() {
  const { circuit, probe } = probed(open(), 15_000)
  const call = { at: 15_000, probe }
  return { circuit: onAnswer(circuit, call) as Circuit, call }
}

test('a probe that begins to answer lets all through; ten failures later it opens for longer', () => {
  let { circuit } = answered()
  for (let n = 1; n <= FAILURES_TO_OPEN; n++) {
    assert.equal(mayCall(circuit, 15_500).kind, 'send', `${n - 1} failures`)
    circuit = onFailure(circuit, failure(), 16_000) as Circuit
  }
  assert.equal(waitOf(circuit, 16_000), 30_000)
})

test('it does not open while every second call begins to be answered, though replies last for minutes', () => {
  let circuit: Circuit | undefined
  for (let now = 0; now < 10 * 60_000; now += 1_000) {
    assert.equal(circuit === undefined ? 'send' : mayCall(circuit, now).kind, 'send', `at ${now}`)
    circuit = onFailure(onAnswer(circuit, { at: now }), failure('rate-limit'), now)
  }
})

test('calls that were sent before it opened decide nothing, by their first words or by their end', () => {
  const old = { at: -60_000 }
  for (const circuit of [open(), probed(open(), 15_000).circuit]) {
    assert.deepEqual(onAnswer(circuit, old), circuit)
    assert.deepEqual(onSuccess(circuit, old), circuit)
  }
  const { circuit } = answered()
  assert.deepEqual(onSuccess(circuit, old), circuit, 'nor how long it is open the next time')
})

test('a complete reply that was sent since it opened ends what is known', () => {
  const { circuit, call } = answered()
  assert.equal(onSuccess(circuit, call), undefined)
  assert.equal(onSuccess(circuit, { at: 15_100 }), undefined)
  const reopened = failedFrom(circuit, FAILURES_TO_OPEN, 20_000)
  assert.deepEqual(onSuccess(reopened, call), reopened, 'it has opened again')
  assert.equal(onSuccess(failed(9), { at: -1 }), undefined, 'it has never been open')
})

test('a provider that takes more than a minute to begin closes it by an older probe', () => {
  const first = probed(open(), 15_000)
  const second = probed(first.circuit, 75_000)
  const circuit = onAnswer(second.circuit, { at: 15_000, probe: first.probe }) as Circuit
  assert.equal(mayCall(circuit, 85_000).kind, 'send')
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
  const { circuit, probe } = probed(open(1_000_000), 0)
  assert.equal(mayCall(onAnswer(circuit, { at: 0, probe }) as Circuit, 1).kind, 'send')
})
