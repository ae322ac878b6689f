import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import { requestProblems } from '../../src/shared/session/request-check.ts'
import {
  type Acceptance,
  allText,
  openAcceptance,
  reached,
  replied,
  SUMMARY,
  said,
  times,
} from '../support/acceptance.ts'
import { rebuiltRequests } from '../support/rebuilt-requests.ts'

// Every request, summaries included, is rebuilt byte for byte from the store alone. On the real path.

let stage: Acceptance
before(async () => {
  stage = await openAcceptance()
})
after(() => stage.close())

async function assertRebuilt(session: Session, least: number): Promise<void> {
  const sent = stage.requests.filter(({ sessionId }) => sessionId === session.id)
  const rebuilt = await rebuiltRequests({
    sessionId: session.id,
    events: await stage.log(session),
    attempts: await stage.store.attempts({ sessionId: session.id }),
    client: stage.model,
  })
  assert.ok(sent.length >= least, `${sent.length} requests`)
  assert.equal(rebuilt.length, sent.length)
  for (const [n, request] of sent.entries())
    assert.equal(JSON.stringify(rebuilt[n]), JSON.stringify(request), `request ${n}`)
}

test('turns, micro, pruning, pressure, an overflow, a person with a focus, a refused summary, messages that come meanwhile', async () => {
  const session = await stage.spoken({
    system: 'You count words. 漢字 😀',
    sampling: { temperature: 0.3 },
    policy: {
      thresholdTokens: 5_500,
      retainTokens: 1_500,
      micro: { keepLast: 2, minReclaimTokens: 500 },
      prune: { thresholdChars: 3_000, headChars: 100, tailChars: 100 },
    },
  })
  for (const prompt of ['Read both.', 'Read.', 'Talk.', 'Read both.', 'Talk.', 'Talk.'])
    await stage.talk(session, prompt)
  stage.refuseOnce(session)
  await stage.talk(session, 'Talk.')
  let refused = false
  stage.summarize(session, () => {
    if (refused) return SUMMARY
    refused = true
    return ''
  })
  await stage.append(session, replied(7), replied(8))
  assert.ok(await session.compactNow({ focus: 'the words', whenBusy: 'wait' }))
  assert.ok(refused)
  const replies = stage.holdReplies(session)
  const turn = await session.prompt('Read.')
  await reached(replies, turn.result())
  await stage.append(session, said('notice.meanwhile', 'A file changed.'))
  replies.open()
  await turn.result({ timeoutMs: 120_000 })
  const events = await stage.log(session)
  const has = (what: string) => events.some(({ key }) => key.includes(what))
  for (const what of ['.pressure.', '.overflow.', 'manual.', 'shadow.', 'notice.meanwhile'])
    assert.ok(has(what), what)
  await assertRebuilt(session, 15)
})

test('G4: each request answers each call once, directly behind it: after an import, a steering prompt, a cancel', async () => {
  const session = await stage.start()
  const call = { type: 'tool_use', id: 'lost', name: 'words', input: {} }
  await stage.append(
    session,
    said('u.0', 'Go.', 'import'),
    replied(0, 0, [call]),
    said('u.1', 'And?', 'import'),
    replied(1, 5),
  )
  const replies = stage.holdReplies(session)
  const turn = await session.prompt('Read both.')
  await reached(replies, turn.result())
  await session.prompt('Faster.', { delivery: 'next-step' })
  replies.open()
  await turn.result({ timeoutMs: 120_000 })
  const held = stage.holdReplies(session)
  const stopped = await session.prompt('Read.')
  await reached(held, stopped.result())
  await session.cancelTurn({ reason: 'not this' })
  assert.equal((await stopped.result({ timeoutMs: 120_000 })).reason, 'aborted')
  held.open()
  await stage.talk(session, 'Well?')
  const sent = stage.requestsOf(session, 'turn')
  assert.equal(sent.length, 4)
  for (const { messages } of sent) assert.deepEqual(requestProblems(messages), [])
  const last = allText(sent.at(-1)?.messages ?? [])
  for (const id of ['lost', 'c2_0', 'c2_1']) assert.equal(times(last, `"tool_use_id":"${id}"`), 1, id)
  assert.equal(times(last, 'Faster.'), 1)
})

test('a summary in parts by a model of its own', async () => {
  const session = await stage.start({
    policy: { summarizer: { provider: 'scripted', model: '8000' }, summaryMaxTokens: 1_000 },
  })
  await stage.append(session, ...Array.from({ length: 9 }, (_, n) => replied(n, 1_800)))
  await stage.talk(session)
  assert.ok(await session.compactNow({ whenBusy: 'wait' }))
  await assertRebuilt(session, 5)
})

test('a summary by the second model of the list, in parts of its own, after answers of the first that were refused', async () => {
  const [first, second] = ['32000', '8000'].map((model) => ({ provider: 'scripted', model }))
  const session = await stage.start({
    policy: { summarizer: first, summarizerFallbacks: [second], summaryMaxTokens: 1_000 },
  })
  stage.summarize(session, ({ model }) => (model === first?.model ? '' : SUMMARY))
  await stage.append(session, ...Array.from({ length: 9 }, (_, n) => replied(n, 1_800)))
  await stage.talk(session)
  const result = await session.compactNow({ whenBusy: 'wait' })
  assert.deepEqual(result?.failedModels, [{ ...first, reason: 'blank' }])
  const asked = stage.requestsOf(session, 'summary').map(({ model, index }) => ({ model, index }))
  assert.deepEqual(asked.slice(0, 2), [
    { model: '32000', index: 0 },
    { model: '32000', index: 1 },
  ])
  assert.ok(asked.slice(2).every(({ model, index }) => model === '8000' && index >= 1_000_000_000))
  await assertRebuilt(session, 6)
})

test('replies that are shorter than the policy says, as the input leaves no more room', async () => {
  const models = [{ provider: 'scripted', model: '100000', maxOutputTokens: 40_000 }]
  const session = await stage.spoken({ policy: { auto: false, replyMaxTokens: 40_000, models } })
  await stage.append(session, ...Array.from({ length: 20 }, (_, n) => replied(n + 10, 3_300)))
  await stage.talk(session, 'Read.')
  const [whole, ...shorter] = stage.requestsOf(session, 'turn').map(({ maxTokens }) => maxTokens)
  assert.equal(whole, 40_000)
  assert.equal(shorter.length, 2)
  for (const maxTokens of shorter) assert.ok(maxTokens < 40_000)
  await assertRebuilt(session, 3)
})
