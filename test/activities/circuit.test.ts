import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, beforeEach, test } from 'node:test'
import { ApplicationFailure } from '@temporalio/common'
import type { ModelClient } from '../../src/shared/ports/model.ts'
import { openStage, RUN_1, SESSION } from '../support/activity-stage.ts'
import { eventually } from '../support/eventually.ts'
import { type Outage, openOutage, type WaitingSession } from '../support/outage.ts'
import { anthropicWire, type Wire } from '../support/provider-faults/wires.ts'

// Many sessions of one worker, and a provider that is overloaded for three minutes, over real HTTP.

const SESSIONS = 50
const MINUTE_MS = 60_000
const RECOVERS_AT = 3 * MINUTE_MS

let wire: Wire
let outage: Outage
/** When requests came, on the outage's clock. */
let requests: number[] = []
let refuses: () => boolean
before(async () => {
  wire = await anthropicWire()
})
beforeEach(() => {
  requests = []
  outage = openOutage()
  refuses = () => outage.now() < RECOVERS_AT
  wire.answer = (response) => {
    requests.push(outage.now())
    if (refuses()) {
      response.writeHead(529, { 'content-type': 'application/json', 'request-id': 'req_fault' })
      return response.end(JSON.stringify(wire.errorBody({ type: 'overloaded_error', message: 'Overloaded' })))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    return response.end(wire.replyFrames('Done.').join(''))
  }
})
after(async () => {
  wire.assertValid()
  await wire.close()
})

/** Sessions that all begin as the provider goes away, until it has been back for five minutes. */
async function playOutage(clientOf: () => ModelClient) {
  const sessions: WaitingSession[] = []
  for (let n = 0; n < SESSIONS; n++) sessions.push(...(await outage.addSessions(1, clientOf())))
  await outage.passUntil(RECOVERS_AT)
  const refused = requests.length
  await outage.passUntil(RECOVERS_AT + 5 * MINUTE_MS)
  await outage.close()
  const answered = sessions.map(({ answeredAt }) => answeredAt ?? Number.POSITIVE_INFINITY)
  return { refused, answered, after: requests.slice(refused) }
}

test('fifty sessions of one key: an eighth of the requests while the provider is away, every session answered when it is back, not all at once', async () => {
  const client = wire.client()
  const shared = await playOutage(() => client)
  assert.ok(shared.refused >= SESSIONS && shared.refused <= SESSIONS + 20, `${shared.refused} requests`)
  assert.ok(Math.max(...shared.answered) <= RECOVERS_AT + 4 * MINUTE_MS, shared.answered.join())
  assert.equal(shared.after.length, SESSIONS, 'one request for each session, and none is refused')
  const peak = Math.max(
    ...shared.after.map((at) => shared.after.filter((other) => other >= at && other < at + 1_000).length),
  )
  assert.ok(peak <= SESSIONS / 2, `${peak} within a second`)

  requests = []
  outage = openOutage()
  const alone = await playOutage(() => wire.client())
  assert.ok(alone.refused >= 8 * shared.refused, `${alone.refused} without, ${shared.refused} with a circuit`)
})

test('another key of the worker, and another model of the same key, are not held up', async () => {
  const [client, other] = [wire.client(), wire.client()]
  const held = await outage.addSessions(12, client)
  await outage.passUntil(5_000)
  assert.ok(held.every(({ held }) => held > 0))
  refuses = () => false
  const [byKey] = await outage.addSessions(1, other)
  const [byModel] = await outage.addSessions(1, client, 'small')
  const [same] = await outage.addSessions(1, client)
  const before = requests.length
  await outage.passUntil(6_000)
  assert.deepEqual([byKey?.answeredAt, byModel?.answeredAt], [5_000, 5_000])
  assert.equal(same?.answeredAt, undefined)
  assert.equal(requests.length, before + 2)
  await outage.passUntil(5 * MINUTE_MS)
  assert.ok([...held, same].every((session) => session?.answeredAt !== undefined))
  await outage.close()
})

test('when the time is over one call is sent; its first words let the others through, though it goes on for long', async () => {
  const { client, firstWords } = heard(wire.client())
  const sessions = await outage.addSessions(12, client)
  await outage.passUntil(5_000)
  const frames = wire.replyFrames('Done.')
  const open: ServerResponse[] = []
  wire.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (open.length === 0) return open.push(response)
    return response.end(frames.join(''))
  }
  await outage.passUntil(Math.min(...sessions.map(({ dueAt }) => dueAt)))
  const [probing, other] = sessions as [WaitingSession, WaitingSession]
  const probe = outage.tryNow(probing)
  const [response] = await eventually(
    () => open,
    ({ length }) => length === 1,
  )
  const heldBefore = other.held
  await outage.tryNow(other)
  assert.equal(other.held, heldBefore + 1, 'nobody else goes before the first word')
  response?.write(frames.slice(0, -1).join(''))
  await firstWords
  await outage.tryNow(other)
  assert.ok(other.answeredAt !== undefined)
  assert.equal(probing.answeredAt, undefined)
  response?.end(frames.at(-1))
  await probe
  assert.ok(probing.answeredAt !== undefined)
  await outage.close()
})

test('a reply that has begun says that the provider serves, though it goes on for long: refusals before it do not count any more', async () => {
  const { client, firstWords } = heard(wire.client())
  await outage.addSessions(9, client)
  await outage.passUntil(1)
  const refuse = wire.answer
  const frames = wire.replyFrames('Done.')
  const open: ServerResponse[] = []
  wire.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(frames.slice(0, -1).join(''))
    open.push(response)
  }
  const [answering, ...others] = await outage.addSessions(3, client)
  const answered = outage.tryNow(answering as WaitingSession)
  await firstWords
  wire.answer = refuse
  for (const session of others) await outage.tryNow(session)
  assert.deepEqual(
    others.map(({ attempts, held }) => [attempts, held]),
    [
      [1, 0],
      [1, 0],
    ],
  )
  open[0]?.end(frames.at(-1))
  await answered
  await outage.close()
})

test('a call that is held back costs nothing and says what it waits for', async () => {
  const client = wire.client()
  await outage.addSessions(12, client)
  await outage.passUntil(1)
  const stage = await openStage({ model: client, clock: outage.machineNow })
  await stage.run(RUN_1, 'sessionStartTurn', { requestId: 'p1', message: 'Go.' })
  const before = requests.length
  const failure = await stage.run(RUN_1, 'sessionCallModel', { turn: 1, step: 1 }).then(
    () => assert.fail('it was sent'),
    (error: unknown) => error,
  )
  assert.ok(failure instanceof ApplicationFailure)
  assert.deepEqual(failure.details, [{ kind: 'circuit-open', retryable: true, retryAfterMs: 14_999 }])
  assert.ok(Number(failure.nextRetryDelay) >= 14_999 && Number(failure.nextRetryDelay) <= 22_500)
  assert.equal(
    failure.message,
    'circuit-open: not sent, since the last 12 calls of this worker to scripted/x failed. The newest: overloaded: 529 Overloaded (request req_fault). The next is let through in 15 s.',
  )
  assert.equal(requests.length, before)
  assert.deepEqual((await stage.store.session(SESSION))?.usage, [])
  await stage.store.close()
  await outage.close()
})

/** @returns the client, and when it gives its first words */
function heard(client: ModelClient) {
  let resolve = () => {}
  const firstWords = new Promise<void>((heard) => {
    resolve = heard
  })
  const generate: ModelClient['generate'] = (request, context) =>
    client.generate(request, {
      ...context,
      onDelta(delta) {
        context.onDelta?.(delta)
        resolve()
      },
    })
  return { client: { ...client, generate }, firstWords }
}
