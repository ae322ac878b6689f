import assert from 'node:assert/strict'
import { text } from '../../shared/session/content.ts'
import type { NewEvent } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import {
  AS_OWNER,
  allEvents,
  appendTo,
  failure,
  NEXT_RUN,
  openTurn,
  refused,
  SESSION,
  type StoreTests,
} from './harness.ts'
import { ATTEMPT_ID, committing, openPlanned, twoMessages } from './sample-attempt.ts'
import {
  assistantMessage,
  compactRestore,
  compactStart,
  endSeed,
  requestHeader,
  sampleHeader,
  shadowCopy,
  stepStart,
  toolResult,
  turnStart,
  userMessage,
} from './sample-events.ts'

function nested(levels: number): unknown {
  let value: unknown = 'x'
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

const appendTests: StoreTests = {
  'gives back what it wrote, with seq and time': async (store) => {
    const events = [userMessage('a', 'hello'), userMessage('b', 'bye')]
    const written = await appendTo(store, null, events)
    assert.equal(written.recorded, false)
    assert.deepEqual(
      written.events.map(({ time: _, ...event }) => event),
      events.map((event, i) => ({ ...event, seq: 2 + i })),
    )
    assert.deepEqual([written.head, written.generation], [4, 0])
    assert.deepEqual((await allEvents(store)).slice(2), written.events)
  },
  'writes a key once: the recorded event comes back, whatever the new one says': async (store) => {
    const first = await appendTo(store, null, [userMessage('a', 'first')])
    const again = await appendTo(store, null, [userMessage('a', 'other words')])
    assert.equal(again.recorded, true)
    assert.deepEqual(again.events, first.events)
    assert.equal(again.head, 3)
  },
  'is all or nothing: one known key, and nothing of the batch is written': async (store) => {
    const first = await appendTo(store, null, [userMessage('a', 'a'), userMessage('b', 'b')])
    const mixed = await appendTo(store, null, [
      userMessage('new', 'n'),
      userMessage('b', 'x'),
      userMessage('a', 'x'),
    ])
    assert.equal(mixed.recorded, true)
    assert.deepEqual(
      mixed.events.map((event) => event.key),
      [keys.prompt('b'), keys.prompt('a')],
      'in the order of the batch',
    )
    assert.equal(mixed.head, first.head)
    assert.equal(await store.eventByKey(SESSION, keys.prompt('new')), null)
  },
  'is all or nothing: one event against the rules, and nothing is written': async (store) => {
    const { surfaceOp: _, ...bare } = userMessage('c', 'c')
    await refused(store, 'LogRejected', () => appendTo(store, null, [userMessage('a', 'a'), bare]))
    await refused(store, 'LogRejected', () =>
      appendTo(store, null, [userMessage('a', 'a'), userMessage('a', 'b')]),
    )
  },
  'is for the owner only, before anything else is looked at': async (store) => {
    await appendTo(store, null, [userMessage('a', 'a')])
    for (const actor of [NEXT_RUN, { workflowId: 'other', runId: AS_OWNER.actor.runId }]) {
      const error = await refused(store, 'NotOwner', () =>
        appendTo(store, 7, [userMessage('a', 'a')], { actor, expectedHead: 99 }),
      )
      assert.deepEqual(error.details, { owner: AS_OWNER.actor, fence: 1 })
    }
  },
  'knows a key before it looks at turn and head': async (store) => {
    await appendTo(store, null, [userMessage('a', 'a')])
    assert.equal((await appendTo(store, 7, [userMessage('a', 'a')], { expectedHead: 99 })).recorded, true)
  },
  'to a turn that is not open is refused': async (store) => {
    await refused(store, 'TurnClosed', () =>
      appendTo(store, 1, [userMessage('a', 'a', { turn: 1 })], { expectedHead: 99 }),
    )
    await refused(store, 'LogRejected', () => appendTo(store, null, [userMessage('a', 'a', { turn: 1 })]))
  },
  'with an expected head is refused when the head has moved': async (store) => {
    const error = await refused(store, 'HeadMoved', () =>
      appendTo(store, null, [userMessage('a', 'a')], { expectedHead: 1 }),
    )
    assert.deepEqual(error.details, { head: 2, expectedHead: 1 })
    assert.equal((await appendTo(store, null, [userMessage('a', 'a')], { expectedHead: 2 })).head, 3)
  },
  'leaves turns, lives and brackets to their own operations': async (store) => {
    for (const event of [turnStart(1), endSeed(2), compactStart('manual.m')]) {
      await refused(store, 'LogRejected', () => appendTo(store, null, [event]))
    }
  },
  'refuses events of no known shape': async (store) => {
    const good = userMessage('a', 'a')
    const bad: unknown[] = [
      { ...good, type: 'no/type' },
      { ...good, key: '' },
      { ...good, key: 'é' },
      { ...good, tokens: -1 },
      { ...good, tokens: Number.NaN },
      { ...good, turn: 0 },
      { ...good, data: { content: 'text' } },
      { ...good, data: { ...good.data, extra: true } },
      { ...good, surfaceOp: 'prepend' },
      { ...good, sourceEventSeqs: ['1'] },
    ]
    for (const event of bad)
      await refused(store, 'InvalidInput', () => appendTo(store, null, [event as NewEvent]))
  },
  'refuses content that is no JSON': async (store) => {
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    for (const value of [circular, 1n, nested(50_000)]) {
      const event = {
        ...userMessage('a', 'a'),
        data: { content: [{ type: 'text', value }], source: 'import' as const },
      }
      await refused(store, 'InvalidInput', () => appendTo(store, null, [event]))
      const put = { sessionId: SESSION, requestId: 'p', kind: 'prompt' as const, body: [value] }
      await refused(store, 'InvalidInput', () => store.putInbox(put))
    }
  },
  'of nothing writes nothing': async (store) => {
    assert.deepEqual(await appendTo(store, null, []), {
      recorded: false,
      events: [],
      head: 2,
      generation: 0,
    })
  },
  'to an unknown session is refused': async (store) => {
    for (const sessionId of ['nobody', '', 'a/b', `${SESSION}\0x`, 'x'.repeat(65)]) {
      await failure(() => store.append({ ...AS_OWNER, sessionId, turn: null, events: [] }), 'SessionNotFound')
      await failure(() => store.surface(sessionId), 'SessionNotFound')
      assert.equal(await store.session(sessionId), null)
    }
  },
}

const whatIsWrittenComesBackTests: StoreTests = {
  'byte for byte: NUL, astral, escapes, deep and odd names': async (store) => {
    const odd = JSON.parse(
      '{"type":"text","text":"a\\u0000b \\ud83d\\ude00 \\u2028 \\"\\\\","__proto__":{"x":1},"n":{"deep":[[null]]}}',
    )
    const event = { ...userMessage('a', 'a'), data: { content: [odd], source: 'import' as const } }
    await appendTo(store, null, [event])
    const stored = await store.eventByKey(SESSION, event.key)
    assert.equal(JSON.stringify(stored?.data), JSON.stringify(event.data))
  },
  'with lone surrogates made well-formed': async (store) => {
    const written = await appendTo(store, null, [userMessage('a', 'x\ud800y')])
    assert.deepEqual(written.events[0]?.data, { content: [text('x\ufffdy')], source: 'import' })
    assert.deepEqual((await store.surface(SESSION)).nodes, written.events)
  },
  'in pages, by type and by turn': async (store) => {
    await appendTo(store, null, [userMessage('a', 'a'), userMessage('b', 'b')])
    const { turn } = await openTurn(store)
    const seqs = async (query: Parameters<typeof store.events>[1]) =>
      (await store.events(SESSION, query)).map((event) => event.seq)
    assert.deepEqual(await seqs({}), [0, 1, 2, 3, 4, 5])
    assert.deepEqual(await seqs({ after: 1, limit: 2 }), [2, 3])
    assert.deepEqual(await seqs({ types: ['user/message', 'session/start'] }), [0, 2, 3, 5])
    assert.deepEqual(await seqs({ types: ['user/message'], after: 2, limit: 1 }), [3])
    assert.deepEqual(await seqs({ types: ['turn/start', 'user/message'], limit: 2 }), [2, 3])
    assert.deepEqual(await seqs({ turn }), [4, 5])
    assert.deepEqual(await seqs({ turn, types: ['user/message'] }), [5])
    assert.deepEqual(await seqs({ types: [] }), [])
    assert.equal(await store.countEvents(SESSION, 'user/message'), 3)
    assert.equal(await store.countEvents(SESSION, 'tool/claim'), 0)
  },
  'by key, in the order of the keys': async (store) => {
    await appendTo(store, null, [userMessage('a', 'a'), userMessage('b', 'b')])
    const found = await store.eventsByKeys(SESSION, [keys.prompt('b'), 'no.key', keys.prompt('a')])
    assert.deepEqual(
      found.map((event) => event.seq),
      [3, 2],
    )
    assert.deepEqual(await store.eventsByKeys(SESSION, []), [])
  },
  'a new header is the session’s header': async (store) => {
    const header = sampleHeader({ system: 'You help more.' })
    await appendTo(store, null, [requestHeader('other', header)])
    assert.deepEqual((await store.session(SESSION))?.header, header)
  },
}

const theSurfaceTests: StoreTests = {
  'takes shadow copies in place, once': async (store) => {
    await openTurn(store)
    const result = toolResult(1, 1, 'c1', '0123456789')
    await appendTo(store, 1, [
      stepStart(1, 1),
      assistantMessage(1, 1, 'look', ['c1']),
      result,
      userMessage('z', 'more', { turn: 1 }),
    ])
    const [price, copy] = shadowCopy(result, 6)
    await refused(store, 'LogRejected', () => appendTo(store, 1, [price]))
    await refused(store, 'LogRejected', () => appendTo(store, 1, [copy]))
    const written = await appendTo(store, 1, [price, copy])
    assert.equal(written.generation, 1)
    assert.deepEqual(
      (await store.surface(SESSION)).nodes.map((node) => node.seq),
      [3, 5, 9, 7],
    )
    await refused(store, 'LogRejected', () =>
      appendTo(store, 1, [
        { ...price, key: 'x' },
        { ...copy, key: 'y' },
      ]),
    )
  },
  'gives a place back to what stood there, one compaction after the other': async (store) => {
    await openPlanned(store, await twoMessages(store))
    await store.commitAttempt(committing())
    await appendTo(store, null, [userMessage('c', 'late')])
    const seqs = async () => (await store.surface(SESSION)).nodes.map((node) => node.seq)
    assert.deepEqual(await seqs(), [6, 8])
    await refused(store, 'LogRejected', () => appendTo(store, null, [compactRestore(ATTEMPT_ID, 8)]))
    const undone = await appendTo(store, null, [compactRestore(ATTEMPT_ID, 6)])
    assert.equal(undone.generation, 2)
    assert.deepEqual(await seqs(), [2, 3, 8])
    assert.equal((await appendTo(store, null, [compactRestore(ATTEMPT_ID, 6)])).recorded, true)
  },
}

/** Rules 1 and 2 (keys, whole batches), the owner, turns, and what reads give back. */
export const logTests: Readonly<Record<string, StoreTests>> = {
  append: appendTests,
  'what is written comes back': whatIsWrittenComesBackTests,
  'the surface': theSurfaceTests,
}
