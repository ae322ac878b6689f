import assert from 'node:assert/strict'
import type { PricedMessage, SessionStore } from '../../shared/ports/store.ts'
import { text } from '../../shared/session/content.ts'
import { keys } from '../../shared/session/keys.ts'
import { INTERRUPTED_RESULT } from '../../shared/session/repair.ts'
import {
  AS_OWNER,
  allEvents,
  appendTo,
  failure,
  NEXT_RUN,
  refused,
  SESSION,
  type StoreTests,
} from './harness.ts'
import { ATTEMPT_ID, committing, openPlanned } from './sample-attempt.ts'
import {
  assistantMessage,
  checkpoint,
  compactSummary,
  stepEnd,
  stepStart,
  toolResult,
  userMessage,
} from './sample-events.ts'

const prompt = (requestId: string, words = 'hi'): PricedMessage => ({
  requestId,
  content: [text(words)],
  source: 'prompt',
  tokens: words.length,
})
const start = (store: SessionStore, requestId: string, messages = [prompt(requestId)]) =>
  store.startTurn({ ...AS_OWNER, requestId, messages })
const end = (store: SessionStore, turn: number) => store.endTurn({ ...AS_OWNER, turn, reason: 'completed' })
const storePrompt = (store: SessionStore, requestId: string) =>
  store.putInbox({ sessionId: SESSION, requestId, kind: 'prompt', body: [text('hi')] })

const startTurnTests: StoreTests = {
  'numbers turns, writes the messages, takes the inbox rows': async (store) => {
    await storePrompt(store, 'p')
    await storePrompt(store, 'quiet')
    const row = await start(store, 'p', [
      prompt('p', 'do it'),
      { ...prompt('quiet', 'by the way'), source: 'context' },
    ])
    assert.deepEqual(row, { turn: 1, requestId: 'p', status: 'new', step: 0, endReason: null, startSeq: 2 })
    const events = (await allEvents(store)).slice(2)
    assert.deepEqual(
      events.map(({ type, key, turn, step, tokens }) => [type, key, turn, step, tokens]),
      [
        ['turn/start', keys.turnStart('p'), 1, null, 0],
        ['user/message', keys.prompt('p'), 1, null, 5],
        ['user/message', keys.prompt('quiet'), 1, null, 10],
      ],
    )
    assert.deepEqual(events[1]?.data, { content: [text('do it')], source: 'prompt', requestId: 'p' })
    assert.deepEqual(
      (await store.inbox(SESSION)).map((inbox) => inbox.state),
      ['running', 'running'],
    )
  },
  'finds the turn of a request again, open or ended': async (store) => {
    await start(store, 'p')
    await appendTo(store, 1, [stepStart(1, 1), stepEnd(1, 1), stepStart(1, 2)])
    const resumed = await start(store, 'p', [])
    assert.deepEqual([resumed.status, resumed.step, resumed.endReason], ['resumed', 2, null])
    await end(store, 1)
    const ended = await start(store, 'p', [prompt('p', 'other words')])
    assert.deepEqual(ended, {
      turn: 1,
      requestId: 'p',
      status: 'ended',
      step: 2,
      endReason: 'completed',
      startSeq: 2,
    })
    assert.deepEqual(await store.turnByRequest(SESSION, 'p'), ended)
    assert.equal(await store.turnByRequest(SESSION, 'nobody'), null)
  },
  'finds the turn that a prompt has joined': async (store) => {
    await start(store, 'p')
    await storePrompt(store, 'joined')
    await appendTo(store, 1, [userMessage('joined', 'and this', { turn: 1 })], { consumes: ['joined'] })
    assert.equal((await store.inbox(SESSION))[0]?.state, 'running')
    await end(store, 1)
    const found = await start(store, 'joined')
    assert.deepEqual([found.turn, found.requestId, found.status], [1, 'p', 'ended'])
  },
  'leaves out a message that an earlier turn took': async (store) => {
    await start(store, 'p', [prompt('p'), prompt('quiet')])
    await end(store, 1)
    await start(store, 'q', [prompt('q'), prompt('quiet', 'again')])
    assert.deepEqual(
      (await store.events(SESSION, { turn: 2, types: ['user/message'] })).map((event) => event.key),
      [keys.prompt('q')],
    )
  },
  'is refused while a turn or a compaction is open, for others, and without a prompt': async (store) => {
    await refused(store, 'InvalidInput', () => start(store, 'p', []))
    await refused(store, 'NotOwner', () =>
      store.startTurn({ sessionId: SESSION, actor: NEXT_RUN, requestId: 'p', messages: [prompt('p')] }),
    )
    await start(store, 'p')
    await refused(store, 'LogRejected', () => start(store, 'q'))
    await end(store, 1)
    const { head, generation } = await store.surface(SESSION)
    await openPlanned(store, {
      head,
      plan: {
        shadowedSeqs: [3],
        shadowedTokenCount: 2,
        generation,
        chunkEnds: [3],
        tokensBefore: 2,
        checkpointTokens: 9,
      },
    })
    await refused(store, 'LogRejected', () => start(store, 'q'))
  },
  'takes odd request ids': async (store) => {
    for (const [i, requestId] of ['a b', 'é', 'x'.repeat(200), 'a/b', "'; --"].entries()) {
      assert.equal((await start(store, requestId)).turn, i + 1)
      await end(store, i + 1)
      assert.equal((await store.turnByRequest(SESSION, requestId))?.requestId, requestId)
    }
  },
}

const endTurnTests: StoreTests = {
  'writes its events, the missing results, the ends of step and turn': async (store) => {
    await storePrompt(store, 'p')
    await start(store, 'p')
    const written = await store.endTurn({
      ...AS_OWNER,
      turn: 1,
      reason: 'aborted',
      message: 'cancelled',
      events: [
        stepStart(1, 1),
        assistantMessage(1, 1, 'look', ['c1', 'c2', 'c3']),
        toolResult(1, 1, 'c2', 'done'),
      ],
      meter: { v: 2 },
    })
    assert.deepEqual(
      written.events.map((event) => event.key),
      [
        keys.stepStart(1, 1),
        keys.assistant(1, 1),
        keys.toolResult(1, 1, 'c2'),
        keys.toolResult(1, 1, 'c1'),
        keys.toolResult(1, 1, 'c3'),
        keys.stepEnd(1, 1),
        keys.turnEnd(1),
      ],
    )
    const missing = written.events[3]
    assert.deepEqual(missing?.data, {
      callId: 'c1',
      name: 'read_file',
      content: INTERRUPTED_RESULT.content,
      isError: true,
    })
    assert.equal(missing?.tokens, INTERRUPTED_RESULT.tokens)
    assert.deepEqual(written.events.at(-1)?.data, { turn: 1, reason: 'aborted', message: 'cancelled' })
    assert.deepEqual(await store.meter(SESSION), { v: 2 })
    const [row] = await store.inbox(SESSION)
    assert.deepEqual([row?.state, row?.outcome], ['done', { turn: 1, reason: 'aborted' }])
  },
  'answers the calls of the newest reply, once': async (store) => {
    await start(store, 'p')
    await appendTo(store, 1, [
      stepStart(1, 1),
      assistantMessage(1, 1, 'old', ['lost']),
      stepEnd(1, 1),
      stepStart(1, 2),
      assistantMessage(1, 2, 'new', ['c1']),
    ])
    await appendTo(store, 1, [stepEnd(1, 2)])
    const written = await end(store, 1)
    assert.deepEqual(
      written.events.map((event) => [event.key, event.step]),
      [
        [keys.toolResult(1, 2, 'c1'), null],
        [keys.turnEnd(1), null],
      ],
    )
  },
  'answers no call that a compaction took from the surface': async (store) => {
    await start(store, 'p')
    const step = await appendTo(store, 1, [stepStart(1, 1), assistantMessage(1, 1, 'look', ['c1'])])
    const plan = {
      shadowedSeqs: [3, 5],
      shadowedTokenCount: 6,
      generation: 0,
      chunkEnds: [5],
      tokensBefore: 6,
      checkpointTokens: 9,
    }
    await openPlanned(store, { head: step.head, turn: 1, plan })
    await store.commitAttempt(
      committing({
        summary: compactSummary(ATTEMPT_ID, [3, 5], 6, 1),
        checkpoint: checkpoint(ATTEMPT_ID, [3, 5]),
      }),
    )
    assert.deepEqual(
      (await end(store, 1)).events.map((event) => event.type),
      ['step/end', 'turn/end'],
    )
  },
  'takes results inside messages as answers': async (store) => {
    await start(store, 'p')
    const answer = userMessage('z', 'x', { turn: 1 })
    const content = [{ type: 'tool_result', tool_use_id: 'c1', content: 'done' }]
    await appendTo(store, 1, [
      stepStart(1, 1),
      assistantMessage(1, 1, 'look', ['c1']),
      { ...answer, data: { content, source: 'import' } },
    ])
    assert.deepEqual(
      (await end(store, 1)).events.map((event) => event.type),
      ['step/end', 'turn/end'],
    )
  },
  'gives back the recorded end': async (store) => {
    await start(store, 'p')
    const first = await end(store, 1)
    const again = await store.endTurn({
      ...AS_OWNER,
      turn: 1,
      reason: 'error',
      events: [assistantMessage(1, 1, 'late')],
    })
    assert.deepEqual([again.recorded, again.events], [true, first.events.slice(-1)])
  },
  'writes nothing when one of its events is recorded': async (store) => {
    await start(store, 'p')
    await appendTo(store, 1, [stepStart(1, 1), assistantMessage(1, 1, 'first')])
    const again = await store.endTurn({
      ...AS_OWNER,
      turn: 1,
      reason: 'completed',
      events: [assistantMessage(1, 1, 'second')],
    })
    assert.deepEqual([again.recorded, again.events.map((event) => event.key)], [true, [keys.assistant(1, 1)]])
    assert.equal((await store.session(SESSION))?.openTurn, 1)
  },
  'refuses what comes after it, and turns that never were': async (store) => {
    await refused(store, 'TurnClosed', () => end(store, 1))
    await start(store, 'p')
    await end(store, 1)
    await refused(store, 'TurnClosed', () => appendTo(store, 1, [userMessage('late', 'late', { turn: 1 })]))
    await refused(store, 'NotOwner', () =>
      store.endTurn({ sessionId: SESSION, actor: NEXT_RUN, turn: 1, reason: 'completed' }),
    )
  },
  'is refused while a compaction of the turn is open': async (store) => {
    await start(store, 'p')
    const { head, generation } = await store.surface(SESSION)
    const plan = {
      shadowedSeqs: [3],
      shadowedTokenCount: 2,
      generation,
      chunkEnds: [3],
      tokensBefore: 2,
      checkpointTokens: 9,
    }
    await openPlanned(store, { head, plan, turn: 1 })
    await refused(store, 'LogRejected', () => end(store, 1))
  },
  'is of a known session': async (store) => {
    await failure(
      () => store.endTurn({ ...AS_OWNER, sessionId: 'nobody', turn: 1, reason: 'completed' }),
      'SessionNotFound',
    )
  },
}

/** Rule 5: turns bound appends. */
export const turnsTests: Readonly<Record<string, StoreTests>> = {
  startTurn: startTurnTests,
  endTurn: endTurnTests,
}
