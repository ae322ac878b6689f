import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isSessionError } from '../../src/shared/errors.ts'
import { fileTools, scriptedModel } from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// The lives of one session, from the store alone: closed and started again, asleep and woken, killed from outside.

let hold = false
const model = scriptedModel(
  async ({ messages }, { signal }) => {
    if (hold) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    return `Answer ${messages.length}.`
  },
  { capacity: { contextWindow: 100_000, maxOutputTokens: 4_000 } },
)

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model, other: model }, fileTools('.'))
})
after(() => real.close())

const START = { model: 'scripted/scripted' }

describe('lives of a session', () => {
  test('closed: a prompt is SessionClosed; started again, it goes on with the whole log as a new life', async () => {
    const session = await real.start()
    await (await session.prompt('one')).result({ timeoutMs: 120_000 })
    await session.close('enough')
    await session.workflow.result()
    await assert.rejects(session.prompt('two'), (error) => isSessionError(error, 'SessionClosed'))
    const again = await real.sessions.start(session.id, START)
    const result = await (await again.prompt('three')).result({ timeoutMs: 120_000 })
    assert.equal(result.reason, 'completed')
    assert.equal(result.turn, 2)
    const row = await again.stored()
    assert.equal(row?.life, 2)
    const said = (await real.log(again)).flatMap((event) =>
      event.type === 'user/message' ? [event.data.content[0]?.['text']] : [],
    )
    assert.deepEqual(said, ['one', 'three'])
  })

  test('closed and started again, what is not given stays as it was, and what is given replaces it; sampling stays with its provider', async () => {
    const policy = { thresholdTokens: 50_000 }
    const all = { ...START, system: 'Be nice.', tools: ['read_file'], policy, sampling: { temperature: 0.5 } }
    const session = await real.start(all)
    const first = (await session.stored())?.header
    const again = async (given: object) => {
      await session.close()
      await session.workflow.result()
      await real.sessions.start(session.id, { ...START, ...given })
      return (await session.stored())?.header
    }
    assert.equal(first?.system, 'Be nice.')
    await real.sessions.start(session.id, START) // What is left out is no conflict while it runs,
    assert.deepEqual(await again({}), first)
    await real.sessions.start(session.id, START) // As it was asked for in this life,
    await real.sessions.start(session.id, all) // and as it is.
    await assert.rejects(
      real.sessions.start(session.id, { ...all, system: 'Be brief.' }),
      (error) => isSessionError(error, 'SessionConflict') && /other settings \(system\)/.test(error.message),
    )
    await assert.rejects(
      real.sessions.start(session.id, { model: 'other/scripted' }), // It would drop the sampling, which nobody has named.
      (error) => isSessionError(error, 'SessionConflict') && /other settings \(model\)/.test(error.message),
    )
    const brief = await again({ system: 'Be brief.', tools: [] })
    assert.deepEqual(brief, {
      ...first,
      system: 'Be brief.',
      tools: brief?.tools,
      asked: { ...first?.asked, tools: [] },
    })
    assert.ok(!brief?.tools.some(({ name }) => name === 'read_file'))
    await session.configure({ system: 'Be quick.' })
    assert.notEqual((await again({ policy: {} }))?.policy.pressureTokens, first?.policy.pressureTokens)
    assert.equal((await session.stored())?.header.system, 'Be quick.')
    assert.deepEqual((await session.stored())?.header.sampling, all.sampling)
    const elsewhere = await again({ model: 'other/scripted' })
    assert.deepEqual(
      [elsewhere?.provider, elsewhere?.system, elsewhere?.sampling],
      ['other', 'Be quick.', {}],
    )
    assert.equal((await session.stored())?.life, 5)
  })

  test('started while it closes, it goes on in the run after that', async () => {
    const session = await real.start()
    hold = true
    const running = await session.prompt('one')
    await eventually(
      () => real.log(session),
      (events) => events.some((event) => event.type === 'step/start'),
    )
    await session.close()
    const again = real.sessions.start(session.id, START)
    setTimeout(() => void session.cancelTurn(), 500)
    await running.result({ timeoutMs: 120_000 })
    hold = false
    const result = await (await (await again).prompt('two')).result({ timeoutMs: 120_000 })
    assert.equal(result.reason, 'completed')
    assert.equal((await session.stored())?.life, 2)
  })

  test('asleep: it completes after its idle time and a prompt wakes it as a new life', async () => {
    const session = await real.start({ policy: { idleTimeout: 1_000 } })
    await session.workflow.result()
    const result = await (await session.prompt('wake up')).result({ timeoutMs: 120_000 })
    assert.equal(result.reason, 'completed')
    assert.equal((await session.stored())?.life, 2)
  })

  test('I7: terminated in a turn, it reopens from the store: the turn ends as interrupted, every accepted prompt is answered', async () => {
    const session = await real.start()
    hold = true
    const first = await session.prompt('one')
    await eventually(
      () => real.log(session),
      (events) => events.some((event) => event.type === 'step/start'),
    )
    const second = await session.prompt('two')
    await session.workflow.terminate('gone')
    hold = false
    const third = await session.prompt('three')
    const results = await Promise.all(
      [first, second, third].map((turn) => turn.result({ timeoutMs: 120_000 })),
    )
    assert.deepEqual(
      results.map((result) => result.reason),
      ['interrupted', 'completed', 'completed'],
    )
    const said = (await real.log(session)).flatMap((event) =>
      event.type === 'user/message' ? [event.data.content[0]?.['text']] : [],
    )
    assert.deepEqual(said, ['one', 'two', 'three'])
  })
})
