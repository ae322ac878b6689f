import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { isSessionError } from '../../src/shared/errors.ts'
import type { SessionStore } from '../../src/shared/ports/store.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import { applyEvent, foldLog } from '../../src/shared/session/log.ts'
import { AS_OWNER, allEvents, assertFolded, SESSION } from '../../src/store/contract/harness.ts'
import { sampleHeader } from '../../src/store/contract/sample-events.ts'
import { sqliteStore } from '../../src/store/index.ts'
import { type Model, PREPARE, type Verdict } from './log-model.ts'
import { type Operation, operations } from './log-operations.ts'

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 60)
console.log(`FC_SEED=${seed} FC_RUNS=${numRuns}`)

it('F5: the store and the pure fold agree on every sequence of operations, also on what they refuse', async () => {
  const seen = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(operations, (sequence) => runSequence(sequence, seen)),
    { seed, numRuns },
  )
  if (numRuns >= 60) assertVaried(seen)
})

async function runSequence(sequence: readonly Operation[], seen: Map<string, number>): Promise<void> {
  const store = sqliteStore({ path: ':memory:' })
  try {
    await store.createSession({ ...AS_OWNER, lifeRunId: 'run-1', header: sampleHeader() })
    const model: Model = {
      state: foldLog(await allEvents(store)),
      actor: AS_OWNER.actor,
      fence: 1,
      attempts: new Map(),
      plans: new Map(),
    }
    for (const operation of sequence) {
      const verdict = await runOperation(store, model, operation)
      seen.set(`${operation.kind}: ${verdict}`, (seen.get(`${operation.kind}: ${verdict}`) ?? 0) + 1)
    }
    await assertFolded(store)
    assert.deepEqual(
      foldLog(await allEvents(store)).surface,
      model.state.surface,
      'incremental and full fold',
    )
  } finally {
    await store.close()
  }
}

async function runOperation(store: SessionStore, model: Model, operation: Operation): Promise<Verdict> {
  const before = model.state
  const { expected, run } = PREPARE[operation.kind](model, operation)
  if (operation.other % 4 === 0) {
    const full = { ...model, state: foldLog(await allEvents(store)) }
    assert.equal(PREPARE[operation.kind](full, operation).expected, expected, 'incremental and full fold')
  }
  const verdict = await outcomeOf(() => run(store))
  const written = await store.events(SESSION, { after: before.nextSeq - 1, limit: 1_000_000 })
  const actual: Verdict = verdict !== 'accepted' ? verdict : written.length > 0 ? 'accepted' : 'recorded'
  const context = JSON.stringify(operation)
  // A takeover within one life writes no event.
  if (operation.kind !== 'takeOver' || expected === 'HeadMoved') assert.equal(actual, expected, context)
  if (actual !== 'accepted') assert.deepEqual(written, [], `${context} wrote and was not accepted`)
  follow(model, written)
  const measured = await store.measure(SESSION)
  assert.deepEqual(
    [measured.head, measured.generation, measured.nodes.map((node) => node.seq)],
    [model.state.nextSeq, model.state.generation, model.state.surface.map((node) => node.seq)],
    context,
  )
  return actual
}

/** The pure fold must take what the store wrote. */
function follow(model: Model, written: readonly SessionEvent[]): void {
  for (const event of written) model.state = applyEvent(model.state, event)
}

async function outcomeOf(run: () => Promise<unknown>): Promise<Verdict> {
  try {
    await run()
    return 'accepted'
  } catch (error) {
    if (isSessionError(error)) return error.name
    throw error
  }
}

/** A generator that never reaches a case proves nothing about it. Rarer cases than these have tests of their own. */
function assertVaried(seen: ReadonlyMap<string, number>): void {
  const wanted = [
    'append: accepted',
    'append: recorded',
    'append: LogRejected',
    'step: accepted',
    'copy: accepted',
    'copy: LogRejected',
    'restore: accepted',
    'restore: LogRejected',
    'startTurn: accepted',
    'startTurn: LogRejected',
    'endTurn: accepted',
    'endTurn: TurnClosed',
    'endTurn: LogRejected',
    'openAttempt: accepted',
    'openAttempt: Busy',
    'openAttempt: recorded',
    'commitAttempt: accepted',
    'commitAttempt: recorded',
    'commitAttempt: LogRejected',
    'closeAttempt: accepted',
    'recordCall: accepted',
    'takeOver: accepted',
  ]
  assert.deepEqual(
    wanted.filter((name) => !seen.has(name)),
    [],
    `seen: ${JSON.stringify([...seen])}`,
  )
}
