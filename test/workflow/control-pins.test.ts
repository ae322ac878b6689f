import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import type { agentSession } from '../../src/workflows/index.ts'
import { pinSignal } from '../../src/workflows/messages.ts'
import { eventually } from '../support/eventually.ts'
import { failsAs } from '../support/fails-as.ts'
import { checkpoints, RESULT_WORDS, read, readingModel, WORDS } from '../support/reading-session.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// Pins by signal, from the client to the checkpoint.

const { model } = readingModel()
const RULE = 'Never deploy on a Friday.\n\n## The user said (verbatim)\nis text of this pin, too.'

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [WORDS])
})
after(() => real.close())

const start = () => real.start({ model: 'scripted/large', policy: { micro: false, prune: false } })
const ofType = async (session: Session, type: string) =>
  (await real.log(session)).filter((event) => event.type === type)

describe('pins', { concurrency: true }, () => {
  test('H6 a text and a message by seq stay byte for byte over compactions; one that is taken back is in the next no more', async () => {
    const session = await start()
    await (await session.prompt('The code word is “Brünnhilde”; pay 17 €.')).result({ timeoutMs: 120_000 })
    const [said] = await ofType(session, 'user/message')
    const rule = await session.pin(RULE, { requestId: 'rule' })
    const word = await session.pin({ seq: said?.seq ?? -1 })
    assert.equal(rule.id, 'rule')
    for (let round = 1; round <= 2; round++) {
      await read(session, 3)
      assert.ok((await session.compactNow()) !== null)
      const page = (await checkpoints(real, session)).at(-1) ?? ''
      assert.ok(page.includes(RULE), page)
      assert.ok(page.includes('The code word is “Brünnhilde”; pay 17 €.'))
    }
    await session.unpin('rule')
    await read(session, 3)
    assert.ok((await session.compactNow()) !== null)
    const page = (await checkpoints(real, session)).at(-1) ?? ''
    assert.ok(!page.includes('Never deploy'), page)
    assert.ok(page.includes('Brünnhilde'))
    await session.unpin(word.id)
    await failsAs('InvalidInput', session.unpin(word.id), /no pin has the id/, /the ids are none/)
  })

  test('a pinned result is whole in the checkpoint, though micro and prune have shortened it meanwhile', async () => {
    const session = await real.start({
      model: 'scripted/large',
      policy: { micro: { keepLast: 1, minReclaimTokens: 0 }, prune: false },
    })
    await read(session, 1)
    const [result] = await ofType(session, 'tool/result')
    await session.pin({ seq: result?.seq ?? -1 })
    await read(session, 3)
    const surface = await real.store.surface(session.id)
    assert.ok(surface.nodes.every((node) => node.seq !== result?.seq))
    assert.ok((await session.compactNow()) !== null)
    const page = (await checkpoints(real, session)).at(-1) ?? ''
    assert.ok(page.includes('word '.repeat(RESULT_WORDS)))
  })

  test('`<keep>` in a prompt is taken back by its id', async () => {
    const session = await start()
    await (await session.prompt('<keep>Blue is the colour.</keep> Read 0.')).result({ timeoutMs: 120_000 })
    const [said] = await ofType(session, 'user/message')
    await failsAs('InvalidInput', session.unpin('nobody'), /the ids are keep\.\d+\.0/)
    await session.unpin(`keep.${said?.seq}.0`)
    await failsAs('InvalidInput', session.unpin(`keep.${said?.seq}.0`), /no pin/)
  })

  test('pins share 2,000 tokens: what would not fit is refused with the numbers, and writes nothing', async () => {
    const session = await start()
    const words = (count: number) => 'word '.repeat(count)
    await failsAs('InvalidInput', session.pin(words(2_100)), /2\d{3} tokens/, /allowed are 2000/)
    const first = await session.pin(words(1_500))
    await failsAs('InvalidInput', session.pin(words(700)), /the other pins have 15\d\d/, /allowed are 2000/)
    await session.unpin(first.id)
    await session.pin(words(700))
    await failsAs('InvalidInput', session.pin(''), /pin/)
    await failsAs('InvalidInput', session.pin(' \n'), /blank/)
    await failsAs('InvalidInput', session.pin({ seq: 9_999 }), /#9999 is not in the log/)
    await failsAs('InvalidInput', session.pin({ seq: 0 }), /session\/start, only messages/)
    assert.equal((await ofType(session, 'session/pin')).length, 2)
  })

  test('H6 pins have at most half of a checkpoint: on a small window a pin is refused, and so is a smaller window than the pins allow', async () => {
    const small = await real.start({ model: 'scripted/small', policy: { micro: false, prune: false } })
    await failsAs('InvalidInput', small.pin('word '.repeat(1_900)), /1901 tokens/, /half of a checkpoint/)
    const session = await start()
    await session.pin('word '.repeat(1_900))
    await failsAs('InvalidPolicy', session.configure({ model: 'scripted/small' }), /19\d\d tokens/, /half of/)
    const stored = await session.stored()
    assert.equal(stored?.header.model, 'large')
  })

  test('nothing is paid for a span that its pins would fill: too small, or a checkpoint by code that is no smaller', async () => {
    const session = await start()
    await read(session, 1)
    await session.pin('word '.repeat(1_200))
    assert.equal((await session.previewCompaction()).outcome, 'nothing')
    assert.equal(await session.compactNow(), null)
    const pinsTool = await real.start({
      model: 'scripted/large',
      policy: { micro: false, prune: false, pins: { tools: ['words'] } },
    })
    await read(pinsTool, 1)
    await assert.rejects(pinsTool.compactNow(), /checkpoint has \d+ tokens, its span only/)
    const records = [...(await session.compactions()), ...(await pinsTool.compactions())]
    assert.deepEqual(
      records.map(({ outcome, reason, errorCode, paidCalls }) => [outcome, reason ?? errorCode, paidCalls]),
      [
        ['nothing', 'too-small', 0],
        ['failed', 'summary', 0],
      ],
    )
  })

  test('ids that the session gives to pins itself are refused: one of two pins would be lost', async () => {
    const session = await start()
    for (const requestId of ['keep.3.0', 'policy.0', 'tool.12'])
      await failsAs('InvalidInput', session.pin('Blue.', { requestId }), /another requestId/)
    await session.pin('Blue.', { requestId: 'keep.this' })
  })

  test('the same request id is the same pin, also after continue-as-new; with other content it is KeyConflict', async () => {
    const session = await start()
    await session.workflow.terminate()
    await real.client.workflow.start<typeof agentSession>('agentSession', {
      workflowId: session.id,
      taskQueue: real.taskQueue,
      args: [{ v: 1, rollOver: { messages: 1 } }],
    })
    const first = await session.pin(RULE, { requestId: 'once' })
    const { runId } = await session.workflow.describe()
    await session.pin('Another.', { requestId: 'twice' })
    await eventually(
      () => session.workflow.describe(),
      (now) => now.runId !== runId,
    )
    assert.deepEqual(await session.pin(RULE, { requestId: 'once' }), first)
    await failsAs('KeyConflict', session.pin('other', { requestId: 'once' }), /another id/)
    await session.workflow.signal(pinSignal, { requestId: 'once', text: 'other' })
    await eventually(
      () => session.state(),
      (state) => state.refusedMessages === 1,
    )
    assert.equal((await ofType(session, 'session/pin')).length, 2)
  })

  test('a signal needs no client: without an id it gets one, what is no pin is counted', async () => {
    const session = await start()
    await session.workflow.signal(pinSignal, { text: RULE })
    await session.workflow.signal(pinSignal, {})
    await session.workflow.signal(pinSignal, { text: 'a', seq: 1 })
    await session.workflow.signal(pinSignal, { requestId: 'not-in-the-inbox' })
    const [pin] = await eventually(
      () => ofType(session, 'session/pin'),
      (pins) => pins.length === 1,
    )
    assert.match(pin?.key ?? '', /^pin\.auto-[0-9a-f]{8}-1-[0-9a-f]{8}$/)
    await eventually(
      () => session.state(),
      (state) => state.refusedMessages === 3,
    )
  })

  test('a request that nobody told the session of is served by the next run, once', async () => {
    const session = await start()
    const body = { kind: 'pin', text: RULE }
    await real.store.putInbox({ sessionId: session.id, requestId: 'left', kind: 'control', body })
    await session.workflow.terminate()
    await real.sessions.start(session.id, {
      model: 'scripted/large',
      tools: ['words'],
      policy: { micro: false, prune: false },
      heartbeatTimeoutMs: 2_000,
    })
    const [row] = await eventually(
      () => real.store.inbox(session.id, { requestIds: ['left'] }),
      (rows) => rows[0]?.state === 'done',
    )
    assert.equal((await session.pin(RULE, { requestId: 'left' })).id, 'left')
    assert.equal((await ofType(session, 'session/pin')).length, 1)
    assert.ok(row !== undefined)
  })
})
