import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import { isSessionError } from '../../src/shared/errors.ts'
import { text } from '../../src/shared/session/content.ts'
import { type Acceptance, allText, openAcceptance, SUMMARY } from '../support/acceptance.ts'
import { failsAs } from '../support/fails-as.ts'

// E1 to E5: a region of the surface, on the real path.

let stage: Acceptance
before(async () => {
  stage = await openAcceptance()
})
after(() => stage.close())

const nodesOf = async (session: Session) => (await stage.surface(session)).nodes

/** A region that is refused writes no event, and says both seqs. */
async function isInvalid(session: Session, start: number, end: number, why: RegExp): Promise<unknown> {
  const before = await stage.log(session)
  const running = session.compactRegion(start, end, { whenBusy: 'wait' })
  await failsAs('InvalidSpan', running, new RegExp(`\\b${start}\\b`), new RegExp(`\\b${end}\\b`), why)
  assert.deepEqual(await stage.log(session), before)
  return running.catch((error: unknown) => error)
}

describe('a region', { concurrency: true }, () => {
  test('E1: exactly the span is replaced; everything outside, before and behind, is byte for byte as it was', async () => {
    const session = await stage.spoken()
    const before = await nodesOf(session)
    const [start, end] = [before[2]?.seq ?? 0, before[5]?.seq ?? 0]
    const result = (await session.compactRegion(start, end)) ?? assert.fail('null')
    assert.deepEqual(
      [result.cause, result.shadowedRange, result.shadowedSeqs],
      ['region', { start, end }, before.slice(2, 6).map(({ seq }) => seq)],
    )
    const after = await nodesOf(session)
    assert.equal(after[2]?.seq, result.checkpointSeq)
    assert.equal(
      JSON.stringify([...after.slice(0, 2), ...after.slice(3)]),
      JSON.stringify([...before.slice(0, 2), ...before.slice(6)]),
    )
    await stage.talk(session, 'Well?')
    const asked = stage.requestsOf(session, 'turn').at(-1)?.messages ?? []
    assert.deepEqual(asked[1]?.content, before[1]?.data.content, 'and so the next request has it')
  })

  test('E2, E3: missing, shadowed and reversed ends, and an end inside a pair, are refused; a pair by its call id', async () => {
    const session = await stage.spoken()
    await stage.talk(session, 'Read both.')
    const nodes = await nodesOf(session)
    const seqOf = (index: number) => nodes[index]?.seq ?? 0
    await isInvalid(session, 9_998, 9_999, /9998 and 9999 is no current message/)
    await isInvalid(session, seqOf(0), 9_999, /: 9999 is no current message/)
    await isInvalid(session, seqOf(3), seqOf(1), /reversed/)
    const results = nodes.flatMap((node, index) => (node.type === 'tool/result' ? [index] : []))
    assert.equal(results.length, 2)
    const [first = 0, last = 0] = results
    const calls = [first, last].map((index) => {
      const node = nodes[index]
      return node?.type === 'tool/result' ? node.data.callId : ''
    })
    const between = await isInvalid(session, seqOf(0), seqOf(first), /separates call .* from its result/)
    assert.ok(isSessionError(between) && between.message.includes(calls[1] ?? '-'))
    const before = await isInvalid(session, seqOf(0), seqOf(first - 1), /separates call/)
    assert.ok(isSessionError(before) && calls.some((id) => before.message.includes(id)))
    const inside = await isInvalid(session, seqOf(last), seqOf(last + 1), /separates call/)
    assert.ok(isSessionError(inside) && inside.message.includes(calls[1] ?? '-'))
    const done =
      (await session.compactRegion(seqOf(0), seqOf(3), { whenBusy: 'wait' })) ?? assert.fail('null')
    await isInvalid(session, seqOf(1), done.checkpointSeq, /is no current message/)
  })

  test('E4, E5: a region may begin at an earlier checkpoint, whose seq is greater than its end’s, and the summarizer reads its text', async () => {
    const session = await stage.spoken()
    const before = await nodesOf(session)
    const seqOf = (index: number) => before[index]?.seq ?? 0
    const earlier = (await session.compactRegion(seqOf(0), seqOf(2))) ?? assert.fail('null')
    const [start, end] = [earlier.checkpointSeq, seqOf(4)]
    assert.ok(start > end)
    await isInvalid(session, end, start, /reversed/)
    const result = (await session.compactRegion(start, end, { whenBusy: 'wait' })) ?? assert.fail('null')
    assert.deepEqual(result.shadowedRange, { start, end })
    assert.deepEqual(result.shadowedSeqs, [start, seqOf(3), seqOf(4)])
    const request = stage.requestsOf(session, 'summary').at(-1) ?? assert.fail('no request')
    const checkpoint = (await stage.log(session))[start]
    assert.ok(checkpoint?.type === 'user/message')
    assert.deepEqual(request.messages[0]?.content.slice(0, 1), checkpoint.data.content)
    assert.ok(allText(request.messages).includes(SUMMARY), 'with the summary of the earlier one')
    assert.deepEqual(
      (await nodesOf(session)).map(({ seq }) => seq),
      [result.checkpointSeq, ...before.slice(5).map(({ seq }) => seq)],
    )
  })

  test('E1: a region with nothing worth taking is null, one with what the model has not answered is refused', async () => {
    const session = await stage.spoken()
    await stage.append(session, {
      key: 'notice.new',
      type: 'user/message',
      turn: null,
      step: null,
      data: { content: [text('new '.repeat(900))], source: 'notice' },
      tokens: 900,
      surfaceOp: 'append',
    })
    const nodes = await nodesOf(session)
    const [first, last] = [nodes[0]?.seq ?? 0, nodes.at(-1)?.seq ?? 0]
    const head = (await session.stored())?.head
    assert.equal(await session.compactRegion(first, first), null)
    assert.equal((await session.stored())?.head, head)
    await isInvalid(session, first, last, /has not answered yet/)
  })
})
