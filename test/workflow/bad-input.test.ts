import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type Session, SessionClient, type StartOptions } from '../../src/client/index.ts'
import { LIMITS } from '../../src/shared/limits.ts'
import { scriptedModel } from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'
import { failsAs } from '../support/fails-as.ts'
import { signalRaw } from '../support/raw-signal.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// What people and programs get wrong, sent to real sessions: one typed error each, nothing written, and the session goes on.

let real: RealSessions
before(async () => {
  const model = scriptedModel(() => 'Done.', { capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 } })
  real = await openRealSessions({ scripted: model })
})
after(() => real.close())

async function goesOn(session: Session): Promise<void> {
  const turn = await session.prompt('Are you there?')
  assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
}

/** The log and the inbox, to see that a refused call leaves nothing in them. */
const kept = async ({ id }: Session) =>
  JSON.stringify([await real.store.events(id), await real.store.inbox(id)])

async function leavesNothing(session: Session, call: () => Promise<unknown>): Promise<void> {
  const before = await kept(session)
  await call()
  assert.equal(await kept(session), before)
}

const newId = () => `bad-${randomUUID().slice(0, 8)}`
const MODEL: StartOptions = { model: 'scripted/x' }

describe('start', { concurrency: true }, () => {
  for (const id of ['a b', 'naïve', 'a/b', '', '../x', 'x'.repeat(65), 'a\0b']) {
    test(`session id with odd characters: ${JSON.stringify(id.slice(0, 20))}`, async () => {
      await failsAs(
        'InvalidInput',
        real.sessions.start(id, MODEL),
        /1 to 64 characters of A-Z a-z 0-9/,
        /got "/,
      )
    })
  }

  test('session id with odd characters, past the client: the workflow refuses it by name', async () => {
    const running = real.client.workflow.execute('agentSession', {
      taskQueue: real.taskQueue,
      workflowId: `odd id ${newId()}`,
      args: [{ v: 1, start: { model: 'scripted/x', system: '', tools: [] } }],
    })
    await assert.rejects(running, (error: Error) =>
      /1 to 64 characters/.test(String((error.cause as Error).message)),
    )
  })

  test('unknown policy key: named, with the one that was meant; the corrected start of the same id is taken', async () => {
    const id = newId()
    await failsAs(
      'InvalidPolicy',
      // @ts-expect-error Types know every setting, too.
      real.sessions.start(id, { ...MODEL, policy: { thresholdToken: 5_000 } }),
      /policy\.thresholdToken is no setting; did you mean thresholdTokens\?/,
    )
    await goesOn(await real.sessions.start(id, { ...MODEL, policy: { thresholdTokens: 5_000 } }))
  })

  test('contradictory policy: both numbers; the corrected start of the same id is taken', async () => {
    const id = newId()
    await failsAs(
      'InvalidPolicy',
      real.sessions.start(id, { ...MODEL, policy: { thresholdTokens: 20_000, retainTokens: 30_000 } }),
      /retainTokens/,
      /30000/,
      /20000/,
    )
    await goesOn(await real.sessions.start(id, { ...MODEL, policy: { retainTokens: 3_000 } }))
  })

  test('a model, a tool or a preset that nobody has: named, with those that there are', async () => {
    const start = (options: object) => real.sessions.start(newId(), { ...MODEL, ...options })
    await failsAs('UnknownModel', start({ model: 'acme/x' }), /"acme"/, /it has scripted/)
    await failsAs('InvalidInput', start({ model: 'scripted' }), /provider\/model/, /"scripted"/)
    await failsAs('UnknownTool', start({ tools: ['rm_rf'] }), /"rm_rf"/, /it has none/)
    await failsAs('InvalidPolicy', start({ preset: 'leen' }), /default, lean, threeLevel/, /"leen"/)
  })

  test('settings of no known shape, and a system prompt of 3 MB, do not reach the server', async () => {
    const start = (options: object) => real.sessions.start(newId(), { ...MODEL, ...options })
    await failsAs('InvalidInput', start({ model: 5 }), /start\.start\.model/)
    await failsAs('InvalidInput', start({ policy: 'lean' }), /start\.start\.policy/)
    await failsAs('InvalidInput', start({ heartbeatTimeoutMs: 1 }), /heartbeatTimeoutMs/, /1000/)
    const system = 'x'.repeat(3_000_000)
    await failsAs('InvalidInput', start({ system }), /300\d{4} bytes/, /allowed are 1048576/)
  })

  test('second start of an id: what it has, or a part of that, gives the same session, something else is a conflict', async () => {
    const id = newId()
    const options = { ...MODEL, system: 'You help.' }
    const first = await real.sessions.start(id, options)
    for (const given of [options, MODEL]) {
      const again = await real.sessions.start(id, given)
      assert.equal((await again.workflow.describe()).runId, (await first.workflow.describe()).runId)
    }
    const other = { ...MODEL, system: 'You do not.' }
    await leavesNothing(first, () =>
      failsAs('SessionConflict', real.sessions.start(id, other), /\(system\)/, new RegExp(id), /or get/),
    )
    await goesOn(first)
  })
})

describe('calls to a session that is not there', { concurrency: true }, () => {
  const calls: Readonly<Record<string, (session: Session) => Promise<unknown>>> = {
    prompt: (session) => session.prompt('hello'),
    compactNow: (session) => session.compactNow(),
    requestCompaction: (session) => session.requestCompaction(),
    cancelTurn: (session) => session.cancelTurn(),
    cancelCompaction: (session) => session.cancelCompaction('x'),
    close: (session) => session.close(),
    state: (session) => session.state(),
    compactionHistory: (session) => session.compactionHistory(),
    events: (session) => session.events(),
    'turn.result': (session) => session.turn('x').result({ timeoutMs: 100 }),
  }
  for (const [name, call] of Object.entries(calls)) {
    test(`${name}: SessionNotFound, and nothing is started`, async () => {
      const session = real.sessions.get(newId())
      await failsAs('SessionNotFound', call(session), new RegExp(session.id), /start it first/)
      await assert.rejects(session.workflow.describe(), /not found/)
    })
  }

  test('prompt by a client without a store: SessionNotFound, too', async () => {
    const sessions = new SessionClient({ client: real.client, taskQueue: real.taskQueue })
    await failsAs('SessionNotFound', sessions.get(newId()).prompt('hello'), /start it first/)
  })
})

describe('prompt', { concurrency: true }, () => {
  const empty: readonly unknown[] = ['', ' \n\t ', [], [{ type: 'text', text: ' ' }]]
  for (const content of empty) {
    test(`empty or blank: ${JSON.stringify(content)}`, async () => {
      const session = await real.start()
      await leavesNothing(session, () =>
        failsAs('InvalidInput', session.prompt(content as string), /empty or blank/, /send text/),
      )
      await goesOn(session)
    })
  }

  test('content of no known shape', async () => {
    const session = await real.start()
    const odd: [unknown, RegExp][] = [
      [5, /text or a list of content blocks/],
      [null, /text or a list of content blocks/],
      [{ type: 'text', text: 'x' }, /text or a list of content blocks/],
      [[{ text: 'x' }], /each with a type/],
      [[{ type: 'text' }], /must have a text/],
      [[{ type: 'tool_result', tool_use_id: 'x' }], /type tool_result cannot stand in a prompt/],
      [[{ type: 'thinking', thinking: 'x', signature: '' }], /type thinking cannot stand/],
    ]
    await leavesNothing(session, async () => {
      for (const [content, why] of odd) await failsAs('InvalidInput', session.prompt(content as string), why)
    })
    await goesOn(session)
  })

  test('3 MB of text: both numbers, and what to do', async () => {
    const session = await real.start()
    await leavesNothing(session, () =>
      failsAs(
        'InvalidInput',
        session.prompt('x'.repeat(3_000_000)),
        /text of 3000000 bytes/,
        new RegExp(`allowed are ${LIMITS.promptTextBytes}`),
        /in a file that a tool reads/,
      ),
    )
    await goesOn(session)
  })

  test('an id or a delivery that the session would refuse is refused before anything is stored', async () => {
    const session = await real.start()
    const odd: [object, RegExp][] = [
      [{ requestId: '' }, /prompt\.requestId/],
      [{ requestId: 'x'.repeat(257) }, /prompt\.requestId.*256/],
      [{ delivery: 'soon' }, /prompt\.delivery.*next-turn/],
    ]
    await leavesNothing(session, async () => {
      for (const [options, why] of odd) await failsAs('InvalidInput', session.prompt('hi', options), why)
    })
    await goesOn(session)
  })

  test('the same id with other content is a conflict; the first prompt is answered', async () => {
    const session = await real.start()
    const turn = await session.prompt('one', { requestId: 'p' })
    await failsAs('KeyConflict', session.prompt('two', { requestId: 'p' }), /"p"/, /another id/)
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    const prompts = (await real.log(session)).filter((event) => event.type === 'user/message')
    assert.equal(prompts.length, 1)
    await goesOn(session)
  })

  test('to a closed session: SessionClosed; started again it goes on with the same log', async () => {
    const session = await real.start()
    await goesOn(session)
    await session.close('done')
    await eventually(
      () => session.stored(),
      (row) => row?.closed === true,
    )
    await leavesNothing(session, async () => {
      await failsAs('SessionClosed', session.prompt('hello?'), /was closed/, /start it again/)
      await failsAs('SessionClosed', session.compactNow(), /was closed/, /start it again/)
      await session.close('twice')
    })
    await goesOn(await real.sessions.start(session.id, { ...MODEL, model: 'scripted/scripted' }))
    assert.equal((await session.stored())?.lastTurn, 2)
  })
})

describe('signals that no client of ours sends', { concurrency: true }, () => {
  const payloads: Readonly<Record<string, string>> = {
    'a number': '5',
    'broken JSON': '{"content": "he',
    'a field too many': '{"requestId":"p","content":"hello","urgent":true}',
    '1.5 MB inline': JSON.stringify({ requestId: 'p', content: 'x'.repeat(1_500_000) }),
  }
  for (const [what, data] of Object.entries(payloads)) {
    test(`${what}: counted, nothing written, and the session goes on`, async () => {
      const session = await real.start()
      await leavesNothing(session, async () => {
        await signalRaw(real.client, session.id, 'prompt', data)
        await eventually(
          () => session.state(),
          (state) => state.refusedMessages === 1,
        )
      })
      await goesOn(session)
    })
  }
})
