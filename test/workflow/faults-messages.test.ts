import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ManualCompactionError } from '../../src/shared/errors.ts'
import { LIMITS } from '../../src/shared/limits.ts'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import { type ContentBlock, isText, text } from '../../src/shared/session/content.ts'
import type { SessionEvent } from '../../src/shared/session/events.ts'
import type { ScriptedReply } from '../../src/worker/index.ts'
import { eventually } from '../support/eventually.ts'
import { failsAs } from '../support/fails-as.ts'
import {
  call,
  endings,
  type FaultSession,
  type FaultSessions,
  ofType,
  openFaultSessions,
  requestsFor,
  rounds,
  saidIn,
  words,
} from '../support/fault-sessions.ts'
import { Gate } from '../support/gate.ts'
import { png } from '../support/png.ts'
import { whenIdle } from '../support/real-sessions.ts'

// Themes I and J on the real workflow: messages of a person before, while and after a compaction runs.

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions()
})
after(() => faults.close())

const COMPACT_CALL: ContentBlock = { type: 'tool_use', id: 'k0', name: 'compact', input: {} }
const SUMMARY = 'Questions were answered. Next: nothing.'
const TURN_MS = { timeoutMs: 120_000 }

const lastTexts = (request: ModelRequest | undefined): string[] =>
  (request?.messages.at(-1)?.content ?? []).filter(isText).map((block) => block.text)
const turnRequests = (fault: FaultSession) => requestsFor('turn', fault)
const surfaceOf = async ({ session }: FaultSession) => (await faults.store.surface(session.id)).nodes
const lines = (events: readonly SessionEvent[], ...types: SessionEvent['type'][]) =>
  events.filter(({ type }) => types.includes(type)).map(({ type, turn }) => `${type} ${turn ?? '-'}`)

/** A session with something to compact. */
async function filled(
  model: { reply?: (request: ModelRequest) => ScriptedReply; summary?: () => Promise<string> } = {},
): Promise<FaultSession> {
  const fault = await faults.open({ window: 64_000, reply: () => 'Fine.', ...model })
  await fault.seed(rounds(4, 600))
  return fault
}

/** One whose first summary is held, and then is as given. */
async function held(summary: string) {
  const gate = new Gate()
  const fault = await filled({
    reply: ({ index }) => `Reply ${index}.`,
    summary: async () => {
      await gate.wait()
      return summary
    },
  })
  return { fault, gate }
}

describe('messages of a person', { concurrency: true }, () => {
  test('faults I02 and I03: an answered request and an answered steer stand in their order before what runs', async () => {
    const steered = new Gate()
    const fault = await faults.open(
      {
        window: 16_000,
        reply: ({ index }) => {
          if (index === 0) return 'A plan, nothing is edited.'
          if (index === 2) return { content: [text('Tabs it is.'), call('c2')] }
          return index < 8 ? { content: [call(`c${index}`)] } : 'Built.'
        },
      },
      {
        policy: { retainTokens: 300, prune: false },
        work: async (_input, { callId }) => {
          if (callId === 'c1') await steered.wait()
          return words(1_800)
        },
      },
    )
    await fault.say('PLAN only, do not edit.')
    const turn = await fault.session.prompt('Now BUILD it.')
    await steered.reached
    await fault.session.prompt('STEER: use tabs.', { delivery: 'next-step' })
    steered.open()
    assert.equal((await turn.result(TURN_MS)).reason, 'completed')
    assert.deepEqual([...new Set(endings(await fault.sound()))], ['compacted'])
    const kinds = fault.requests.map(({ purpose }) => purpose)
    const next = fault.requests[kinds.indexOf('summary') + 1] as ModelRequest
    assert.deepEqual(
      next.messages.at(-1)?.content.map(({ type }) => type),
      ['tool_result'],
    )
    const said = saidIn(next)
    const places = ['PLAN only', 'Now BUILD', 'STEER: use'].map((words) => said.indexOf(words))
    assert.deepEqual(
      places,
      [...places].sort((a, b) => a - b),
    )
    assert.ok((places[0] ?? -1) > 0)
    for (const once of ['PLAN only', 'Now BUILD', 'STEER: use'])
      assert.equal(said.split(once).length, 2, once)
  })

  for (const [how, summary] of [
    ['succeeds', SUMMARY],
    ['fails', ''],
  ] as const) {
    test(`faults I11 and J07: three prompts wait for a compaction that ${how}: each has its turn, one at a time and in order, and every reply is there`, async () => {
      const { fault, gate } = await held(summary)
      const compaction = fault.session.compactNow().catch((error: unknown) => error)
      await gate.reached
      const prompts = ['first', 'second', 'third']
      const turns = []
      for (const id of prompts) turns.push(await fault.session.prompt(`The ${id}.`, { requestId: id }))
      gate.open()
      const results = await Promise.all(turns.map((turn) => turn.result(TURN_MS)))
      assert.equal((await compaction) instanceof ManualCompactionError, summary === '')
      assert.deepEqual(
        results.map(({ turn, reason, message }) => [turn, reason, message]),
        [0, 1, 2].map((n) => [n + 1, 'completed', [text(`Reply ${n}.`)]]),
      )
      const events = await fault.sound()
      assert.deepEqual(lines(events, 'compact/start', 'compact/end', 'turn/start', 'turn/end'), [
        'compact/start -',
        'compact/end -',
        ...[1, 2, 3].flatMap((n) => [`turn/start ${n}`, `turn/end ${n}`]),
      ])
      assert.deepEqual(
        ofType(events, 'user/message').flatMap(({ data }) => data.requestId ?? []),
        prompts,
      )
      assert.deepEqual(
        turnRequests(fault).map(lastTexts),
        prompts.map((id) => [`The ${id}.`]),
      )
      const last = saidIn(turnRequests(fault)[2] as ModelRequest)
      for (const reply of ['Reply 0.', 'Reply 1.']) assert.ok(last.includes(reply))
    })
  }

  test('fault I13: a surface of as many messages as before the compaction: the newest question is sent, and a blank one is an error', async () => {
    const fault = await filled()
    await fault.session.compactNow()
    while ((await surfaceOf(fault)).length < 8) await fault.say('Small talk.')
    for (const blank of ['', '  \n', []]) await failsAs('InvalidInput', fault.session.prompt(blank))
    assert.equal((await fault.say('The new question?')).reason, 'completed')
    assert.deepEqual(lastTexts(turnRequests(fault).at(-1)), ['The new question?'])
    await fault.sound()
  })

  test('fault J10: the same text five times under five ids, compactions between: five turns; the same id again is the same turn', async () => {
    const fault = await filled({ reply: ({ index }) => `Reply ${index}. ${words(300)}` })
    for (let n = 0; n < 5; n++) {
      const { turn, reason } = await fault.say('continue', `go-${n}`)
      assert.deepEqual([turn, reason], [n + 1, 'completed'])
      assert.deepEqual(lastTexts(turnRequests(fault).at(-1)), ['continue'])
      assert.equal((await fault.say('continue', `go-${n}`)).turn, n + 1)
      if (n % 2 === 0) assert.notEqual(await fault.session.compactNow(), null)
    }
    const events = await fault.sound()
    assert.equal(turnRequests(fault).length, 5)
    const said = ofType(events, 'user/message').filter(({ data }) => data.source === 'prompt')
    assert.deepEqual(
      said.map(({ data }) => data.content),
      Array(5).fill([text('continue')]),
    )
  })
})

describe('while a compaction runs', { concurrency: true }, () => {
  test('fault J02: a summary that comes after its compaction was cancelled and the next one was made is nowhere', async () => {
    for (const late of ['answer', 'failure'] as const) {
      const gate = new Gate()
      let asked = 0
      const fault = await filled({
        summary: async () => {
          if (asked++ > 0) return 'The second summary.'
          await gate.wait()
          if (late === 'failure') throw new Error('too late to fail')
          return 'The LATE summary.'
        },
      })
      const first = fault.session.compactNow({ requestId: 'A' })
      first.catch(() => undefined)
      await gate.reached
      await fault.session.cancelCompaction('A', 'takes too long')
      await assert.rejects(
        first,
        (error) => error instanceof ManualCompactionError && error.code === 'cancelled',
      )
      await whenIdle(fault.session)
      assert.notEqual(await fault.session.compactNow({ requestId: 'B' }), null)
      const before = JSON.stringify(await surfaceOf(fault))
      gate.open()
      await sleep(500)
      assert.equal(JSON.stringify(await surfaceOf(fault)), before)
      assert.equal((await fault.say('Go on.')).reason, 'completed')
      const events = await fault.sound()
      assert.deepEqual(endings(events), ['cancelled', 'compacted'])
      assert.doesNotMatch(JSON.stringify(events), /LATE|too late/)
    }
  })

  test('fault J04: a hundred messages, three of a megabyte: all are in the first request behind it, in order; the next one is refused', async () => {
    const { fault, gate } = await held(SUMMARY)
    const compaction = fault.session.compactNow()
    await gate.reached
    const big = new Set([4, 11, 20])
    const wanted: string[] = []
    const turn = await fault.session.prompt('message 0', { requestId: 'm0' })
    for (let n = 1; n < LIMITS.waitingPrompts; n++) {
      const said = `message ${n}`
      wanted.push(said)
      const content: ContentBlock[] = [text(said), ...(big.has(n) ? [png(800, 600, 1_000_000)] : [])]
      const delivery = n < 25 ? 'next-step' : 'no-wake'
      await fault.session.prompt(content, { requestId: `m${n}`, delivery })
      await sleep(n < 25 ? 10 : 0)
    }
    await failsAs('QueueFull', fault.session.prompt('one too many', { delivery: 'no-wake' }), /100/)
    gate.open()
    assert.notEqual(await compaction, null)
    assert.equal((await turn.result(TURN_MS)).reason, 'completed')
    const [request] = turnRequests(fault)
    const heard = lastTexts(request)
    assert.deepEqual([...heard].sort(), [...wanted, 'message 0'].sort())
    const joined = heard.filter((said) => wanted.indexOf(said) < 24 && said !== 'message 0')
    assert.deepEqual(joined, wanted.slice(0, 24))
    const images = request?.messages.at(-1)?.content.filter(({ type }) => type === 'image') ?? []
    assert.equal(images.length, 3)
    await fault.sound()
  })

  test('fault J06: neither the receipt of a compaction nor the late end of a cancelled turn lets the next prompt begin', async () => {
    const [late, summarizing] = [new Gate(), new Gate()]
    const fault = await faults.open(
      {
        window: 64_000,
        reply: ({ index }) => (index === 0 ? { content: [call('c0')] } : 'Fine.'),
        summary: async () => {
          await summarizing.wait()
          return SUMMARY
        },
      },
      {
        work: async () => {
          await late.wait()
          return 'done too late'
        },
      },
    )
    await fault.seed(rounds(4, 600))
    const seventh = await fault.session.prompt('Seven.')
    await late.reached
    const receipt = await fault.session.requestCompaction({ requestId: 'eight' })
    assert.equal(receipt.status, 'queued')
    const ninth = await fault.session.prompt('Nine.')
    await fault.session.cancelTurn()
    assert.equal((await seventh.result(TURN_MS)).reason, 'aborted')
    await summarizing.reached
    late.open()
    await sleep(500)
    assert.deepEqual((await fault.session.state()).compactionId, 'manual.eight')
    assert.deepEqual(lines(await faults.log(fault.session), 'turn/start'), ['turn/start 1'])
    summarizing.open()
    assert.equal((await ninth.result(TURN_MS)).reason, 'completed')
    const events = await fault.sound()
    assert.deepEqual(lines(events, 'turn/start', 'turn/end', 'compact/start', 'compact/end'), [
      'turn/start 1',
      'turn/end 1',
      'compact/start -',
      'compact/end -',
      'turn/start 2',
      'turn/end 2',
    ])
    assert.doesNotMatch(JSON.stringify(events), /done too late/)
  })

  for (const [who, calls, compactionId] of [
    ['two people ask', [call('c0')], 'manual.one'],
    ['two people and the model ask', [call('c0'), COMPACT_CALL], 't1.s1.tool.k0'],
  ] as const) {
    test(`fault J08: the threshold is crossed while ${who}: one summary, one checkpoint, one outcome for both`, async () => {
      const model = {
        window: 16_000,
        reply: ({ index }: ModelRequest) => (index === 0 ? { content: [...calls] } : 'Done.'),
      }
      const fault: FaultSession = await faults.open(model, {
        policy: { thresholdTokens: 5_000, prune: false },
        work: async () => {
          for (const requestId of ['one', 'two']) await fault.session.requestCompaction({ requestId })
          return words(2_000)
        },
      })
      await fault.seed(rounds(4, 900))
      assert.equal((await fault.say('Work.')).reason, 'completed')
      const events = await fault.sound()
      assert.deepEqual(
        ofType(events, 'compact/start').map(({ data }) => data.compactionId),
        [compactionId],
      )
      assert.deepEqual(endings(events), ['compacted'])
      assert.equal(requestsFor('summary', fault).length, 1)
      const rows = await eventually(
        () => faults.store.inbox(fault.session.id, { requestIds: ['one', 'two'] }),
        (found) => found.length === 2 && found.every(({ state }) => state === 'done'),
      )
      const outcomes = rows.map(({ outcome }) => (outcome as { compactionId?: string }).compactionId)
      assert.deepEqual(outcomes, ['manual.one', 'manual.one'])
    })
  }

  test('fault J11: what is said in the middle of a compaction is in the first request behind it', async () => {
    const gate = new Gate()
    const fault = await faults.open(
      {
        window: 16_000,
        reply: ({ index }) => (index < 6 ? { content: [call(`c${index}`)] } : 'Done.'),
        summary: async () => {
          await gate.wait()
          return SUMMARY
        },
      },
      { policy: { prune: false }, work: async () => words(1_800) },
    )
    const turn = await fault.session.prompt('Work.')
    await gate.reached
    const next = await fault.session.prompt('A turn of its own.', { requestId: 'own' })
    await fault.session.prompt('Steer at half time.', { delivery: 'next-step', requestId: 'steer' })
    gate.open()
    assert.equal((await turn.result(TURN_MS)).reason, 'completed')
    assert.equal((await next.result(TURN_MS)).reason, 'completed')
    const kinds = fault.requests.map(({ purpose }) => purpose)
    const behind = fault.requests[kinds.indexOf('summary') + 1]
    assert.deepEqual(lastTexts(behind), ['Steer at half time.'])
    assert.deepEqual(lastTexts(fault.requests.at(-1)), ['A turn of its own.'])
    await fault.sound()
  })
})
