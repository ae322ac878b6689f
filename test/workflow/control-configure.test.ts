import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { eventually } from '../support/eventually.ts'
import { failsAs } from '../support/fails-as.ts'
import { Gate } from '../support/gate.ts'
import { read, readingModel, WORDS } from '../support/reading-session.ts'
import { openRealSessions, type RealSessions, whenIdle } from '../support/real-sessions.ts'
import { resetBefore } from '../support/reset.ts'

// Another model, system, tools or policy of a session that runs.

const { model, requests, turnGates } = readingModel()
const OTHER: Tool = { ...WORDS, name: 'other' }

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [WORDS, OTHER])
})
after(() => real.close())

const start = (policy: object = {}) =>
  real.start({
    model: 'scripted/large',
    system: 'Be brief.',
    tools: ['words'],
    policy: { micro: false, prune: false, ...policy },
  })
const headerOf = async (session: Session) => (await real.store.session(session.id))?.header

/** Holds the model's first reply of a turn of so many reads while `meanwhile` is asked for. */
async function inATurn<T>(session: Session, reads: number, meanwhile: () => Promise<T>): Promise<T> {
  const gate = new Gate()
  turnGates.set(session.id, gate)
  const turn = await session.prompt(`Read ${reads}.`)
  await gate.reached
  const asked = meanwhile()
  await eventually(
    () => real.store.inbox(session.id, { kind: 'control' }),
    (rows) => rows[0]?.state === 'waiting',
  )
  gate.open()
  const done = await asked
  assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
  return done
}

describe('configure', { concurrency: true }, () => {
  test('B7 a switch to a smaller model in a turn acts at the next boundary and compacts before its first request', async () => {
    const session = await start()
    await read(session, 13)
    const { seq, changed } = await inATurn(session, 1, () => session.configure({ model: 'scripted/small' }))
    assert.equal(changed, true)
    const after = (await real.log(session)).filter((event) => event.seq > seq)
    const types = after.map((event) => event.type)
    assert.ok(types.includes('compact/start'))
    assert.ok(types.indexOf('compact/end') < types.indexOf('assistant/message'), types.join(' '))
    const asked = requests.get(session.id)?.at(-1)
    assert.equal(asked?.model, 'small')
    const results = asked?.messages.flatMap(({ content }) => content.filter((b) => b.type === 'tool_result'))
    assert.ok(results !== undefined && results.length < 14, 'the old results are in the checkpoint')
    const [bracket] = after.filter((event) => event.type === 'compact/start')
    assert.equal(bracket?.type === 'compact/start' && bracket.data.cause, 'pressure')
  })

  test('what is not given stays as it was asked for, and is decided anew for the new window', async () => {
    const session = await start({ thresholdRatio: 0.5 })
    const before = await headerOf(session)
    await session.configure({ model: 'scripted/small' })
    const now = await headerOf(session)
    assert.equal(before?.policy.pressureTokens, 50_000)
    assert.equal(now?.policy.pressureTokens, 8_000)
    assert.equal(now?.system, 'Be brief.')
    assert.deepEqual(now?.tools, before?.tools)
    await session.configure({ policy: { micro: false, prune: false } })
    assert.notEqual((await headerOf(session))?.policy.pressureTokens, 8_000)
  })

  test('system and tools are those of the next request; the same again changes nothing', async () => {
    const session = await start()
    await read(session, 0)
    const done = await session.configure({ system: 'Be kind.', tools: ['other'] }, { requestId: 'c1' })
    await read(session, 0)
    const asked = requests.get(session.id)?.at(-1)
    assert.equal(asked?.system, 'Be kind.')
    assert.ok(asked?.tools.some(({ name }) => name === 'other'))
    assert.ok(asked?.tools.every(({ name }) => name !== 'words'))
    assert.deepEqual(await session.configure({ system: 'Be kind.' }), { seq: done.seq, changed: false })
    assert.deepEqual(
      await session.configure({ system: 'Be kind.', tools: ['other'] }, { requestId: 'c1' }),
      done,
    )
    await session.configure({ system: 'Be brief.', tools: ['words'] })
    await session.configure({ system: 'Be kind.', tools: ['other'] })
    assert.equal(
      (await headerOf(session))?.system,
      'Be kind.',
      'a header that was there before can come again',
    )
  })

  test('what a start would refuse is refused with its name, and leaves everything as it was', async () => {
    const session = await start()
    const before = await headerOf(session)
    await failsAs('UnknownModel', session.configure({ model: 'nobody/x' }), /"nobody"/, /scripted/)
    await failsAs('UnknownTool', session.configure({ tools: ['hammer'] }), /"hammer"/, /words, other/)
    await failsAs('InvalidInput', session.configure({ model: 'large' }), /provider\/model/)
    await failsAs('InvalidInput', session.configure({}), /at least one of/)
    await failsAs(
      'InvalidPolicy',
      session.configure({ policy: { thresholdTokens: 9_000, retainTokens: 9_500 } }),
      /9500|9,500/,
      /9000|9,000/,
    )
    await session.pin('word '.repeat(1_500))
    await failsAs(
      'InvalidPolicy',
      session.configure({ policy: { pins: { texts: ['other '.repeat(600)] } } }),
      /have 21\d\d tokens together/,
      /allowed are 2000/,
    )
    assert.deepEqual(await headerOf(session), before)
    await read(session, 0)
    assert.equal((await real.log(session)).filter((event) => event.type === 'request/header').length, 1)
  })

  test('a reply that leaves no room for the budget of the reasoning is refused: by the policy, by the limit of another model', async () => {
    const sampling = { thinking: { type: 'enabled', budget_tokens: 2_000 } }
    const session = await real.start({ model: 'scripted/large', tools: ['words'], sampling })
    const before = await headerOf(session)
    assert.ok((before?.policy.replyMaxTokens ?? 0) > 2_000)
    const noRoom = (change: object, got: number) =>
      failsAs(
        'InvalidPolicy',
        session.configure(change),
        new RegExp(`replyMaxTokens must be above .*budget_tokens 2000, .* got ${got}: raise`),
      )
    await noRoom({ policy: { replyMaxTokens: 2_000 } }, 2_000)
    await noRoom({ policy: { replyMaxTokens: 1_500 } }, 1_500)
    await noRoom({ model: 'scripted/terse' }, 1_000)
    assert.deepEqual(await headerOf(session), before)
    assert.equal((await session.configure({ policy: { replyMaxTokens: 2_001 } })).changed, true)
    await read(session, 0)
    assert.deepEqual(requests.get(session.id)?.at(-1)?.maxTokens, 2_001)
  })

  test('a reset to before it does not take it back: the start of this life holds no longer', async () => {
    const session = await start()
    await session.configure({ system: 'Be kind.' })
    await read(session, 0)
    await whenIdle(session)
    await resetBefore(real.client, session.id, 'ACTIVITY_TASK_SCHEDULED', 'sessionOpen')
    await read(session, 0)
    assert.equal(requests.get(session.id)?.at(-1)?.system, 'Be kind.')
    assert.equal((await real.log(session)).filter((event) => event.type === 'request/header').length, 2)
  })

  test('it holds in the next life, and wakes a session that has gone idle', async () => {
    const session = await start({ idleTimeout: '1s' })
    await eventually(
      () => session.workflow.describe(),
      ({ status }) => status.name === 'COMPLETED',
    )
    assert.equal((await session.configure({ system: 'Be kind.' })).changed, true)
    await session.workflow.terminate()
    await read(session, 0)
    assert.equal(requests.get(session.id)?.at(-1)?.system, 'Be kind.')
    assert.ok(((await real.store.session(session.id))?.life ?? 0) >= 3)
  })
})
