import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import { type Acceptance, openAcceptance, reached, replied, SUMMARY, said } from '../support/acceptance.ts'
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
  await turn.result({ timeoutMs: 60_000 })
  const events = await stage.log(session)
  const has = (what: string) => events.some(({ key }) => key.includes(what))
  for (const what of ['.pressure.', '.overflow.', 'manual.', 'shadow.', 'notice.meanwhile'])
    assert.ok(has(what), what)
  await assertRebuilt(session, 15)
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
