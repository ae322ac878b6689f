import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import { eventually } from '../support/eventually.ts'
import { anthropicWire, type Wire } from '../support/provider-faults/wires.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'
import { assertWhole, ofType } from '../support/whole-log.ts'

// The circuit with nothing simulated: Temporal's own retries on a real server, the real store, real HTTP.

/** A key of the worker, and what answers its requests. */
interface FarEnd {
  readonly wire: Wire
  /** Headers of a refusal, or undefined: it serves. */
  refuse: () => Record<string, string> | undefined
}

let crowded: FarEnd
let quiet: FarEnd
let real: RealSessions
before(async () => {
  crowded = await openFarEnd()
  quiet = await openFarEnd()
  real = await openRealSessions({ crowded: crowded.wire.client(), quiet: quiet.wire.client() })
})
after(async () => {
  await real.close()
  for (const { wire } of [crowded, quiet]) {
    wire.assertValid()
    await wire.close()
  }
})

async function openFarEnd(): Promise<FarEnd> {
  const wire = await anthropicWire()
  const end: FarEnd = { wire, refuse: () => undefined }
  wire.answer = (response) => {
    const headers = end.refuse()
    if (headers === undefined) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return response.end(wire.replyFrames('Done.').join(''))
    }
    response.writeHead(529, { 'content-type': 'application/json', ...headers })
    return response.end(JSON.stringify(wire.errorBody({ type: 'overloaded_error', message: 'Overloaded' })))
  }
  return end
}

const start = (provider: string) => real.start({ model: `${provider}/x` })

/** What Temporal shows of the activity that waits for its next attempt. */
async function lastFailureOf(session: Session): Promise<string> {
  const { raw } = await session.workflow.describe()
  return raw.pendingActivities?.map(({ lastFailure }) => lastFailure?.message ?? '').join() ?? ''
}

test('sessions of an overloaded key are held back, one of another key is answered meanwhile; when it serves again all are answered', async () => {
  crowded.refuse = () => ({})
  const sessions = await Promise.all(Array.from({ length: 12 }, () => start('crowded')))
  const turns = await Promise.all(sessions.map((session) => session.prompt('Talk.')))
  const failures = await eventually(
    () => Promise.all(sessions.map(lastFailureOf)),
    (each) => each.every((failure) => failure.startsWith('circuit-open: not sent')),
  )
  assert.match(failures[0] ?? '', /crowded\/x failed\. The newest: overloaded: 529 Overloaded/)
  crowded.refuse = () => undefined
  const meanwhile = await (await start('quiet')).prompt('Talk.')
  assert.equal((await meanwhile.result({ timeoutMs: 120_000 })).reason, 'completed')
  for (const turn of turns) assert.equal((await turn.result({ timeoutMs: 180_000 })).reason, 'completed')
  for (const session of sessions)
    assert.equal(ofType(await assertWhole(real, session), 'assistant/message').length, 1)
})

test('attempts that were refused are known to the next ones as not paid: the seventh is sent, and answered', async () => {
  let left = 6
  quiet.refuse = () => (left-- > 0 ? { 'retry-after-ms': '50' } : undefined)
  const session = await start('quiet')
  const turn = await session.prompt('Talk.')
  assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
  assert.ok(left < 0, 'it was refused six times')
})
