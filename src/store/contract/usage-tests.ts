import assert from 'node:assert/strict'
import type { SessionStore } from '../../shared/ports/store.ts'
import type { NewEvent, Usage } from '../../shared/session/events.ts'
import { keys } from '../../shared/session/keys.ts'
import { type UsageLedger, usedCall } from '../../shared/usage/ledger.ts'
import { AS_OWNER, appendTo, openTurn, refused, SESSION, type StoreTests } from './harness.ts'
import { ATTEMPT_ID, openPlanned, twoMessages } from './sample-attempt.ts'
import { assistantMessage, compactCall, event, stepEnd, stepStart } from './sample-events.ts'

const usage = (inputTokens: number, outputTokens: number, cacheReadTokens = 0): Usage => ({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens: 0,
})

const reply = (step: number, of: Usage | null): NewEvent<'assistant/message'> => {
  const message = assistantMessage(1, step, 'words') as NewEvent<'assistant/message'>
  return { ...message, data: { ...message.data, usage: of } }
}

const lost = (attempt: string): NewEvent =>
  event(
    keys.assistantLost(1, 1, attempt),
    'assistant/lost',
    { turn: 1, step: 1, provider: 'scripted', model: 'small', why: 'failed', usage: usage(7, 1) },
    { turn: 1 },
  )

const call = (index: number, over: Partial<NewEvent<'compact/call'>['data']>): NewEvent<'compact/call'> => {
  const made = compactCall(ATTEMPT_ID, index)
  return { ...made, data: { ...made.data, ...over } }
}

const record = (store: SessionStore, complete: boolean, made: NewEvent<'compact/call'>) =>
  store.recordCall({
    ...AS_OWNER,
    compactionId: ATTEMPT_ID,
    complete,
    event: made,
    index: made.data.index,
  })

/** A turn of three replies and one that was interrupted, whose call counts itself; then five calls of a compaction. Used by tests of files of older versions too. */
export async function payForMuch(store: SessionStore): Promise<void> {
  const { plan } = await twoMessages(store)
  await openTurn(store)
  await appendTo(store, 1, [stepStart(1, 1), reply(1, usage(100, 10)), stepEnd(1, 1)])
  await appendTo(store, 1, [stepStart(1, 2), reply(2, null), stepEnd(1, 2)])
  await appendTo(store, 1, [stepStart(1, 3), reply(3, usage(200, 20, 150_000)), stepEnd(1, 3)])
  const cut = reply(4, null)
  await appendTo(store, 1, [stepStart(1, 4), { ...cut, data: { ...cut.data, interrupted: true } }])
  const { head } = await store.endTurn({ ...AS_OWNER, turn: 1, reason: 'completed' })
  await openPlanned(store, { plan, head })
  await record(store, true, call(0, { accepted: false, refusedBecause: 'blank', usage: usage(1000, 1) }))
  await record(store, true, call(1, { purpose: 'retry', usage: usage(1001, 30) }))
  await record(store, true, call(2, { purpose: 'chunk', model: 'other', usage: usage(50, 5) }))
  await record(store, false, call(3, { accepted: false, usage: usage(40, 4) }))
  await record(store, true, call(4, {}))
}

/** Purpose, model, requests, requests of unknown tokens, input and output of each line. */
export const linesOf = (ledger: UsageLedger = []): string[] =>
  ledger.map(
    ({ purpose, model, promptAbove, requests, unknownRequests, inputTokens, outputTokens }) =>
      `${purpose} ${model}${promptAbove === 0 ? '' : ` >${promptAbove}`} ${requests}/${unknownRequests} ${inputTokens}/${outputTokens}`,
  )

const sums: StoreTests = {
  'fault R01: every reply and every call of a compaction is one request, with null as unknown tokens': async (
    store,
  ) => {
    await payForMuch(store)
    const ofAttempt = [
      'summary other 1/0 50/5',
      'discarded small 2/0 1040/5',
      'retry small 1/0 1001/30',
      'summary small 1/1 0/0',
    ]
    assert.deepEqual(linesOf((await store.attempt(SESSION, ATTEMPT_ID))?.usage), ofAttempt)
    const [paid, ...others] = await store.attemptUsage(SESSION)
    assert.deepEqual([paid?.compactionId, linesOf(paid?.usage), others], [ATTEMPT_ID, ofAttempt, []])
    assert.deepEqual(linesOf((await store.session(SESSION))?.usage), [
      ...ofAttempt,
      'turn small 2/1 100/10',
      'turn small >100000 1/0 200/20',
    ])
  },
  'what is written twice is counted once, and what is refused is not counted': async (store) => {
    await openTurn(store)
    const batch = [stepStart(1, 1), reply(1, usage(100, 10)), lost('run.1.1')]
    await appendTo(store, 1, batch)
    await appendTo(store, 1, batch)
    await appendTo(store, 1, [lost('run.1.1')])
    await refused(store, 'LogRejected', () => appendTo(store, 1, [reply(2, usage(1, 1))].map(inStep2)))
    await appendTo(store, 1, [lost('run.1.2')])
    assert.deepEqual(linesOf((await store.session(SESSION))?.usage), [
      'discarded small 2/0 14/2',
      'turn small 1/0 100/10',
    ])
  },
  'an attempt that paid nothing has no ledger': async (store) => {
    await openPlanned(store, await twoMessages(store))
    assert.deepEqual(await store.attemptUsage(SESSION), [])
  },
  'a call that came after the end of its attempt is counted as discarded': async (store) => {
    await openPlanned(store, await twoMessages(store))
    const error = { code: 'cancelled', stage: 'summarize', message: 'no longer wanted' } as const
    await store.closeAttempt({ sessionId: SESSION, compactionId: ATTEMPT_ID, error })
    await record(store, true, call(0, { usage: usage(9, 3) }))
    const lines = ['discarded small 1/0 9/3']
    assert.deepEqual(linesOf((await store.attempt(SESSION, ATTEMPT_ID))?.usage), lines)
    assert.deepEqual(linesOf((await store.session(SESSION))?.usage), lines)
  },
  'an imported reply that tells no usage was paid for by somebody else': async (store) => {
    const message = { ...reply(1, null), key: keys.loose(0, 'a'), turn: null, step: null }
    assert.equal(usedCall(message), null)
    await appendTo(store, null, [message])
    await appendTo(store, null, [
      { ...message, key: keys.loose(1, 'b'), data: { ...message.data, usage: usage(5, 5) } },
    ])
    assert.deepEqual(linesOf((await store.session(SESSION))?.usage), ['turn small 1/0 5/5'])
  },
}

const inStep2 = (made: NewEvent<'assistant/message'>): NewEvent => ({ ...made, step: 2 })

export const usageTests: Readonly<Record<string, StoreTests>> = { 'what was paid': sums }
