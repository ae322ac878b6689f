import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ModelRequest } from '../../src/shared/ports/model.ts'
import type { Tool } from '../../src/shared/ports/tool.ts'
import { type ContentBlock, isText, isToolResult, text } from '../../src/shared/session/content.ts'
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
import { Gate } from '../support/gate.ts'
import { whenIdle } from '../support/real-sessions.ts'

// Theme T: what the session does after a compaction.

const mails: { sessionId: string; callId: string; key: string }[] = []
const sendEmail: Tool = {
  name: 'send_email',
  description: 'Sends an e-mail.',
  input: { jsonSchema: { type: 'object' } },
  async run(_input, { sessionId, callId, idempotencyKey }) {
    mails.push({ sessionId, callId, key: idempotencyKey })
    return 'Accepted for delivery as m-4711.'
  },
}
const MAIL = { to: 'ann@example.com', subject: 'Invoice 17', body: 'Please pay.' }
/** As it stands in a checkpoint. */
const RECORD = `send_email ${JSON.stringify(MAIL)}`
const mail: ContentBlock = { type: 'tool_use', id: 'mail', name: 'send_email', input: MAIL }
const TOOLS = ['work', 'send_email']

let faults: FaultSessions
before(async () => {
  faults = await openFaultSessions([sendEmail])
})
after(() => faults.close())

const SEEDED = 6
const rounds = (count: number) =>
  Array.from({ length: count }, (_, n) => [`Question ${n}.`, [text(`Answer ${n}. ${words(900)}`)]]).flat()
const turnsOf = (requests: readonly ModelRequest[]) => requests.filter(({ purpose }) => purpose === 'turn')
const sentIn = (sessionId: string) => mails.filter((sent) => sent.sessionId === sessionId)

/** Calls nine tools after the mail, so that the mail leaves the context, and sends it again unless something says that it was sent. */
const forgetful: FaultModel = {
  window: 16_000,
  reply(request) {
    if (request.index === 0) return { content: [mail] }
    if (request.index < 10) return { content: [call(`c${request.index}`)] }
    const knows = saidIn(request).includes(JSON.stringify(RECORD).slice(1, -1))
    return knows ? 'The invoice is sent.' : { content: [mail] }
  },
}

describe('after a compaction', { concurrency: true }, () => {
  test('fault T01: a message was sent, a compaction in the same turn forgot it: it is not sent again', async () => {
    const fault = await faults.open(forgetful, { tools: TOOLS, work: async () => words(1_100) })
    assert.equal((await fault.say('Send Ann her invoice, then check the books.')).reason, 'completed')
    assert.deepEqual([...new Set(endings(await fault.sound()))], ['compacted'])
    const { nodes } = await faults.store.surface(fault.session.id)
    assert.doesNotMatch(JSON.stringify(nodes), /"name":"send_email"/, 'the call has left the context')
    assert.equal(sentIn(fault.session.id).length, 1)
    for (const prompt of ['And now?', 'And after the next compactions?']) {
      await fault.seed(rounds(3))
      assert.ok(await fault.session.compactNow({ whenBusy: 'wait' }))
      assert.equal((await fault.say(prompt)).reason, 'completed')
    }
    assert.equal(sentIn(fault.session.id).length, 1, 'the record is carried from one checkpoint to the next')
    await fault.sound()
  })

  test('fault T01: a call that the model means to repeat is another call, also under the same id, with a key of its own', async () => {
    const model: FaultModel = {
      window: 32_000,
      reply: ({ messages }) => (messages.at(-1)?.content.some(isToolResult) ? 'Sent.' : { content: [mail] }),
    }
    const fault = await faults.open(model, { tools: TOOLS })
    await fault.say('Send it.')
    await fault.seed(rounds(SEEDED))
    assert.ok(await fault.session.compactNow({ whenBusy: 'wait' }))
    await fault.say('Send it again: it was lost.')
    const sent = sentIn(fault.session.id)
    assert.deepEqual([sent.length, new Set(sent.map(({ key }) => key)).size], [2, 2])
    await fault.sound()
  })

  for (const [what, answer] of [
    ['a final answer', 'All is done.'],
    ['a question to the user', 'Which colour shall it be?'],
  ] as const)
    test(`fault T02: compacted after ${what}, the session waits for the user`, async () => {
      const fault = await faults.open({ window: 32_000, reply: () => answer })
      await fault.seed(rounds(SEEDED))
      await fault.say('Begin.')
      assert.ok(await fault.session.compactNow({ whenBusy: 'wait' }))
      await whenIdle(fault.session)
      assert.equal(turnsOf(fault.requests).length, 1, 'nobody asked the model to go on')
      assert.equal((await fault.say('Blue.')).reason, 'completed')
      const last = turnsOf(fault.requests)[1] as ModelRequest
      assert.deepEqual(last.messages.slice(-2), [
        { role: 'assistant', content: [text(answer)] },
        { role: 'user', content: [text('Blue.')] },
      ])
      assert.equal(ofType(await fault.sound(), 'turn/start').length, 2)
    })

  test('fault T02: compacted in the third of five rounds of tools, the turn goes on to its end', async () => {
    const third = new Gate()
    const model: FaultModel = {
      window: 32_000,
      reply: ({ index }) => (index < 5 ? { content: [call(`c${index}`)] } : 'Five times done.'),
    }
    const fault = await faults.open(model, {
      async work(_input, { callId }) {
        if (callId === 'c2') await third.wait()
        return `result of ${callId}`
      },
    })
    await fault.seed(rounds(SEEDED))
    const turn = await fault.session.prompt('Work five times.')
    await third.reached
    await fault.session.requestCompaction({ requestId: 'by-hand' })
    third.open()
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    const events = await fault.sound()
    const [start] = ofType(events, 'compact/start')
    assert.deepEqual([start?.data.turn, endings(events)], [1, ['compacted']])
    assert.deepEqual(fault.ran, ['c0', 'c1', 'c2', 'c3', 'c4'])
    const next = turnsOf(fault.requests)[3] as ModelRequest
    assert.deepEqual(
      next.messages.at(-1)?.content.map(({ type }) => type),
      ['tool_result'],
      'nobody told the model to go on',
    )
  })

  test('fault T02: a message that waits for the compaction starts one turn', async () => {
    const held = new Gate()
    const summary = async () => {
      await held.wait()
      return 'Work was done. Next: wait.'
    }
    const fault = await faults.open({ window: 32_000, reply: () => 'Done.', summary })
    await fault.seed(rounds(SEEDED))
    const compacted = fault.session.compactNow({ whenBusy: 'wait' })
    await held.reached
    const turn = await fault.session.prompt('Waits.')
    held.open()
    assert.ok(await compacted)
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    await whenIdle(fault.session)
    assert.equal(turnsOf(fault.requests).length, 1)
    assert.deepEqual(fault.requests.at(-1)?.messages.at(-1)?.content, [text('Waits.')])
    await fault.sound()
  })

  test('fault T03: what the harness says to the model is marked, and never stands as words of the user', async () => {
    const fault = await faults.open({ window: 16_000, reply: answersOk }, { work: async () => words(600) })
    await fault.seed(rounds(SEEDED))
    await fault.say('Work.')
    await fault.seed(rounds(3))
    assert.ok(await fault.session.compactNow({ whenBusy: 'wait' }))
    await fault.say('ok')
    const events = await fault.sound()
    assert.ok(endings(events).length > 1, 'by itself and by hand')
    const said = new Set(['Work.', 'ok', ...rounds(SEEDED).filter((part) => typeof part === 'string')])
    for (const request of turnsOf(fault.requests)) {
      const blocks = request.messages.flatMap(({ role, content }) => (role === 'user' ? content : []))
      for (const block of blocks.filter(isText))
        assert.ok(said.has(block.text) || block.text.startsWith('[Checkpoint written by code.'), block.text)
    }
    assert.deepEqual(
      ofType(events, 'user/message').flatMap(({ data }) => (data.source === 'prompt' ? data.content : [])),
      [text('Work.'), text('ok')],
    )
    const summaries = fault.requests.filter(({ purpose }) => purpose === 'summary')
    for (const { messages } of summaries)
      assert.match(JSON.stringify(messages.at(-1)), /\[Request of the harness, not of the user\.\]/)
    assert.doesNotMatch(JSON.stringify(ofType(events, 'user/message')), /Request of the harness/)
  })
})

const answersOk = ({ index }: ModelRequest) => {
  return index < 7 ? { content: [call(`c${index}`), call(`d${index}`)] } : 'ok.'
}
