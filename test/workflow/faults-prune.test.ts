import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import type { ContentBlock } from '../../src/shared/session/content.ts'
import {
  call,
  endings,
  type FaultModel,
  type FaultSessions,
  ofType,
  openFaultSessions,
  saidIn,
  words,
} from '../support/fault-sessions.ts'

// Theme N: what is cleared and cut.

const SKILL = `# Skill\n${Array.from({ length: 120 }, (_, n) => `Rule ${n}: keep it.`).join('\n')}`
const loadSkill: Tool = {
  name: 'load_skill',
  description: 'Loads a skill.',
  input: { jsonSchema: { type: 'object' } },
  run: async () => SKILL,
}
const skill: ContentBlock = { type: 'tool_use', id: 'skill', name: 'load_skill', input: {} }

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions([loadSkill])
})
after(() => faults.close())

const turnsOf = (requests: readonly ModelRequest[]) => requests.filter(({ purpose }) => purpose === 'turn')
const holdsSkill = (request: ModelRequest) => saidIn(request).includes(JSON.stringify(SKILL).slice(1, -1))

/** Loads the skill, then works in steps of four calls. */
const working = (steps: number): FaultModel => ({
  window: 32_000,
  reply({ index }) {
    if (index === 0) return { content: [skill] }
    return index <= steps ? { content: [0, 1, 2, 3].map((n) => call(`c${index}-${n}`)) } : 'Done.'
  },
})
const TOOLS = ['load_skill', 'work']
const work = async () => words(1_800)

describe('what is cleared and cut', { concurrency: true }, () => {
  test('fault N01: a protected result stays whole while twice the window of newer ones is cleared, and in the checkpoints', async () => {
    const policy = {
      micro: { keepLast: 2, minReclaimTokens: 0, preserve: ['load_skill'] },
      pins: { tools: ['load_skill'] },
    }
    const fault = await faults.open(working(9), { tools: TOOLS, policy, work })
    assert.equal((await fault.say('Work.')).reason, 'completed')
    const last = turnsOf(fault.requests).at(-1) as ModelRequest
    assert.ok(saidIn(last).split('[Previous: used work').length > 20, 'the others are cleared')
    assert.ok(turnsOf(fault.requests).slice(1).every(holdsSkill))
    for (const prompt of ['And?', 'And then?']) {
      await fault.seed([words(900), [{ type: 'text', text: words(2_500) }]])
      assert.ok(await fault.session.compactNow({ whenBusy: 'wait' }))
      await fault.say(prompt)
      assert.ok(holdsSkill(fault.requests.at(-1) as ModelRequest), 'pinned, from one checkpoint to the next')
    }
    await fault.sound()
  })

  test('fault N01: under pressure long results are cut, the protected one is not', async () => {
    const policy = {
      micro: false,
      prune: { thresholdChars: 1_000, headChars: 200, tailChars: 100, preserve: ['load_skill'] },
    }
    const fault = await faults.open(working(3), { tools: TOOLS, policy, work })
    await fault.say('Work.')
    assert.equal((await fault.say(words(4_000))).reason, 'completed')
    const records = await fault.session.compactions()
    assert.deepEqual(
      records.map(({ outcome }) => outcome),
      ['pruned'],
    )
    const last = fault.requests.at(-1) as ModelRequest
    assert.ok(saidIn(last).includes('characters left out'))
    assert.ok(holdsSkill(last))
    await fault.sound()
  })

  test('fault N04: ten turns below the threshold send one growing prefix; what is pruned then is pruned for good', async () => {
    const model: FaultModel = {
      window: 32_000,
      reply: ({ index }) => (index < 20 && index % 2 === 0 ? { content: [call(`c${index}`)] } : 'Done.'),
    }
    const fault = await faults.open(model, { work: async () => words(2_000) })
    for (let n = 0; n < 10; n++) await fault.say(`Turn ${n}.`)
    assert.deepEqual(await fault.session.compactions(), [])
    const bodies = turnsOf(fault.requests).map(({ messages }) => JSON.stringify(messages).slice(0, -1))
    assert.equal(bodies.length, 20)
    for (const [n, body] of bodies.slice(1).entries())
      assert.ok(body.startsWith(bodies[n] ?? '?'), `request ${n + 1} repeats request ${n} byte for byte`)
    await fault.say(words(5_000))
    assert.deepEqual(
      (await fault.session.compactions()).map(({ outcome }) => outcome),
      ['pruned'],
    )
    const pruned = fault.requests.at(-1) as ModelRequest
    const cuts = saidIn(pruned).split('characters left out').length - 1
    assert.ok(cuts >= 5)
    await fault.reopen(model)
    await fault.say('After a restart.')
    const reloaded = fault.requests.at(-1) as ModelRequest
    assert.ok(JSON.stringify(reloaded.messages).startsWith(JSON.stringify(pruned.messages).slice(0, -1)))
    const events = await fault.sound()
    assert.equal(ofType(events, 'compact/prune').length, cuts)
    assert.deepEqual(endings(events), [])
  })
})
