import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ApplicationFailure } from '@temporalio/common'
import { readLog } from '../../src/cli/read-log.ts'
import type { ModelClient } from '../../src/shared/ports/model.ts'
import { type ActivityStage, openStage, RUN_1, SESSION } from '../support/activity-stage.ts'
import { ofType } from '../support/of-type.ts'
import { BODIES, PASSING, type ProviderFault, SILENCES } from '../support/provider-faults/faults.ts'
import { troubledModel } from '../support/provider-faults/observe.ts'
import { anthropicWire, type Wire } from '../support/provider-faults/wires.ts'
import { openWriters, summarize } from '../support/summary-writers.ts'

// The budget of a call: of its attempts at most five may have been paid, also when workers die under it. Real HTTP for each fault.

const MOST_PAID = 5
const MOST_ATTEMPTS = 30

let wire: Wire
before(async () => {
  wire = await anthropicWire()
})
after(() => wire.close())

interface Played {
  readonly attempts: number
  readonly killed: number
  /** Attempts that the ledger counts as paid for nothing. */
  readonly lost: number
  readonly message: string
}

/** A turn's call whose worker dies in the attempts that `dies` names, while the others meet the fault, until Temporal would give up. */
async function play(
  fault: ProviderFault,
  dies: (attempt: number) => boolean,
  beats: { details?: unknown } = {},
): Promise<Played> {
  const { model, trouble } = troubledModel(wire, fault)
  let sent = () => {}
  let isDying = false
  const mortal: ModelClient = {
    ...model,
    generate: (request, context) => {
      sent()
      return isDying ? new Promise(() => {}) : model.generate(request, context)
    },
  }
  const stage = await openStage({ model: mortal })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'p1', message: 'Go.' })
  trouble.start('turn', Number.POSITIVE_INFINITY)
  const dead: (() => void)[] = []
  let [attempts, killed, message] = [0, 0, '']
  while (message === '' && attempts < MOST_ATTEMPTS) {
    attempts++
    isDying = dies(attempts)
    const wasSent = new Promise<'sent'>((resolve) => {
      sent = () => resolve('sent')
    })
    const call = stage.start(RUN_1, 'sessionCallModel', { turn: 1, step: 1 }, attempts, beats)
    const failure = call.result.then(
      () => assert.fail('it was answered'),
      (error: unknown) => error,
    )
    if (isDying && (await Promise.race([wasSent, failure])) === 'sent') {
      killed++
      dead.push(call.cancel)
      continue
    }
    const error = await failure
    assert.ok(error instanceof ApplicationFailure, String(error))
    if (error.nonRetryable === true) message = error.message
  }
  const lost = ofType(await readLog(stage.store, SESSION), 'assistant/lost').length
  await bury(stage, dead)
  return { attempts, killed, lost, message }
}

/** What belongs to workers that died ends with the test. */
async function bury(stage: ActivityStage, dead: readonly (() => void)[]): Promise<void> {
  for (const cancel of dead) cancel()
  await stage.store.close()
}

const RETRIED = [...PASSING, ...BODIES, ...SILENCES]

for (const fault of RETRIED)
  test(`${fault.what}: at most five attempts of a call may be paid, by itself and when each second worker dies`, async () => {
    for (const dies of [() => false, (attempt: number) => attempt % 2 === 1]) {
      const { attempts, killed, lost, message } = await play(fault, dies)
      const paid = killed + lost
      assert.ok(paid <= MOST_PAID, `${paid} paid: ${killed} by dead workers, ${lost} lost, ${message}`)
      assert.ok(attempts === MOST_ATTEMPTS || message !== '', 'it ends')
    }
  })

test('a call under which each worker dies is sent five times, and ends the turn in words', async () => {
  const [fault] = PASSING as [ProviderFault]
  const { attempts, killed, message } = await play(fault, () => true)
  assert.deepEqual([attempts, killed], [MOST_PAID + 1, MOST_PAID])
  assert.match(message, /^Not sent again: 5 attempts of this call may have been paid/)
})

test('an activity that is reset, and keeps what was said of attempts before, has five again and no more', async () => {
  const [fault] = PASSING as [ProviderFault]
  const kept = { details: { unsent: 20, unpaid: 20 } }
  const { attempts, killed } = await play(fault, () => true, kept)
  assert.deepEqual([attempts, killed], [MOST_PAID + 1, MOST_PAID])
})

test('attempts of which nothing was said, as by workers of an older release, are not taken for paid', async () => {
  const [fault] = PASSING as [ProviderFault]
  const { model, trouble } = troubledModel(wire, fault)
  const stage = await openStage({ model })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'p1', message: 'Go.' })
  trouble.start('turn', Number.POSITIVE_INFINITY)
  const call = stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 }, 7, 0, {})
  const failure = await call.catch((error: unknown) => error)
  assert.ok(failure instanceof ApplicationFailure)
  assert.deepEqual([failure.nonRetryable, /Not sent again/.test(failure.message)], [false, false])
  await stage.store.close()
})

test('attempts that were refused are no part of it: after twenty of them a call may still break off four times', async () => {
  const cut = BODIES.find(({ what }) => what.includes('ends in the middle')) as ProviderFault
  const beats = { details: { unsent: 20, unpaid: 20 } }
  const { model, trouble } = troubledModel(wire, cut)
  const stage = await openStage({ model })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'p1', message: 'Go.' })
  trouble.start('turn', Number.POSITIVE_INFINITY)
  for (const [attempt, isFinal] of [
    [21, false],
    [22, false],
    [23, false],
    [24, false],
    [25, true],
  ] as const) {
    const failure = await stage
      .run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 }, attempt, 0, beats)
      .catch((error: unknown) => error)
    assert.ok(failure instanceof ApplicationFailure)
    assert.equal(failure.nonRetryable === true, isFinal, `attempt ${attempt}`)
  }
  await stage.store.close()
})

test('a summary: when five attempts may have been paid nobody is asked any more, and nobody else is said to have failed', async () => {
  const stage = await openWriters({ answer: {} })
  const result = await summarize(stage, 6, 0, { details: { unsent: 0, unpaid: 0 } })
  assert.ok(result.kind === 'failed')
  assert.match(result.error.message, /Not sent again: 5 attempts of this call may have been paid/)
  assert.equal(stage.asked.length, 0)
  const notices = ofType(await readLog(stage.store, SESSION), 'session/notice')
  assert.deepEqual(
    notices.flatMap(({ data }) => data.failed?.provider ?? []),
    ['a'],
  )
})
