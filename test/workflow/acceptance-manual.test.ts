import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { text } from '../../src/shared/session/content.ts'
import type { SurfaceNode } from '../../src/shared/session/events.ts'
import { keys } from '../../src/shared/session/keys.ts'
import { requestCompactionSignal } from '../../src/workflows/messages.ts'
import {
  type Acceptance,
  allText,
  failsWith,
  openAcceptance,
  reached,
  SUMMARY,
  said,
  times,
  whenIdle,
} from '../support/acceptance.ts'
import { eventually } from '../support/eventually.ts'

// D1 to D6: what a person's compaction does, and what happens beside it. On the real path.

let stage: Acceptance
before(async () => {
  stage = await openAcceptance()
})
after(() => stage.close())

describe('a manual compaction', { concurrency: true }, () => {
  test('D1: of an idle session: owner null, turn numbers unchanged, every field of the result as the log has it', async () => {
    const session = await stage.spoken()
    const nodes = (await stage.surface(session)).nodes
    const result = (await session.compactNow({ focus: 'the words' })) ?? assert.fail('null')
    const [start] = await stage.ofType(session, 'compact/start')
    const [summary] = await stage.ofType(session, 'compact/summary')
    const [end] = await stage.ofType(session, 'compact/end')
    assert.ok(start && summary && end)
    const shadowed = nodes.slice(0, -1)
    const { tokensBefore, tokensAfter, paid, ...rest } = result
    assert.deepEqual(rest, {
      compactionId: start.data.compactionId,
      startSeq: start.seq,
      summarySeq: summary.seq,
      checkpointSeq: (await stage.surface(session)).nodes[0]?.seq,
      endSeq: end.seq,
      summary: [text(SUMMARY)],
      shadowedRange: { start: shadowed[0]?.seq, end: shadowed.at(-1)?.seq },
      shadowedSeqs: shadowed.map(({ seq }) => seq),
      shadowedTokenCount: shadowed.reduce((sum, { tokens }) => sum + tokens, 0),
      cause: 'manual',
      focus: 'the words',
      turn: null,
      lost: summary.data.lost,
      startedAt: start.time,
      endedAt: end.time,
      durationMs: end.time - start.time,
      model: '100000',
    })
    assert.ok(tokensAfter < tokensBefore)
    assert.equal(paid.calls, 1)
    assert.deepEqual([start.turn, start.data.turn, end.turn, end.data.turn], [null, null, null, null])
    const { turn } = await stage.talk(session)
    assert.equal(turn, 2, 'a compaction between turns takes no number')
  })

  test('D2: at 25k of 200k tokens there is something useful: only the newest unit is kept, as it was', async () => {
    const session = await stage.start({ model: 'scripted/200000' })
    for (const key of ['a', 'b', 'c', 'd', 'e'])
      await stage.append(session, said(key, 'word '.repeat(5_000), 'import'))
    await stage.talk(session, 'Well?')
    const before = await stage.surface(session)
    const result = (await session.compactNow()) ?? assert.fail('null')
    assert.ok(result.tokensBefore > 25_000 && result.tokensBefore < 0.2 * 200_000, `${result.tokensBefore}`)
    const { nodes } = await stage.surface(session)
    assert.deepEqual(nodes.slice(1), before.nodes.slice(-1))
    assert.equal(nodes.length, 2)
  })

  test('D2: nothing useful is null: an empty session, one short answer, one that was just compacted; no event is written', async () => {
    const empty = await stage.start()
    const short = await stage.start()
    await stage.talk(short, 'Hello.')
    const compacted = await stage.spoken()
    await compacted.compactNow()
    for (const session of [empty, short, compacted]) {
      await whenIdle(session)
      const before = await stage.log(session)
      assert.equal(await session.compactNow(), null)
      assert.deepEqual(await stage.log(session), before)
    }
  })

  test('D3: a prompt sent meanwhile is accepted, waits, runs on the compacted surface and appears once', async () => {
    const session = await stage.spoken()
    const gate = stage.holdSummaries(session)
    const compaction = session.compactNow()
    await reached(gate, compaction)
    const turn = await session.prompt('Are you there?', { requestId: 'meanwhile' })
    await eventually(
      () => session.state(),
      ({ waitingPrompts, status }) => waitingPrompts === 1 && status === 'compacting',
    )
    assert.equal((await stage.store.turnByRequest(session.id, 'meanwhile')) ?? null, null)
    gate.open()
    const result = (await compaction) ?? assert.fail('null')
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    const request = stage.requestsOf(session, 'turn').at(-1) ?? assert.fail('no request')
    const asked = allText(request.messages)
    assert.equal(times(asked, 'Are you there?'), 1)
    assert.match(asked, /Checkpoint written by code/)
    assert.equal(request.messages.length, 3, 'checkpoint, newest answer, prompt')
    const [, prompt] = (await stage.surface(session)).nodes.filter(({ type }) => type === 'user/message')
    assert.ok((prompt?.seq ?? 0) > result.endSeq)
  })

  test('D4: a message of no turn that comes meanwhile appears once, after the checkpoint', async () => {
    const session = await stage.spoken()
    const gate = stage.holdSummaries(session)
    const compaction = session.compactNow()
    await reached(gate, compaction)
    await stage.append(session, said('notice.late', 'A file changed on disk.'))
    gate.open()
    assert.ok(await compaction)
    const { nodes } = await stage.surface(session)
    assert.deepEqual(
      nodes.map(({ key }) => key.split('.')[0]),
      ['compact', 't1', 'notice'],
    )
    await stage.talk(session, 'Well?')
    const asked = allText(stage.requestsOf(session, 'turn').at(-1)?.messages ?? [])
    assert.equal(times(asked, 'A file changed on disk.'), 1)
    assert.ok(asked.indexOf('A file changed') > asked.indexOf('Checkpoint written by code'))
  })

  test('D5: a running turn: busy at once; by signal, and when asked so, at the next step boundary and owned by the turn', async () => {
    const session = await stage.spoken()
    await whenIdle(session)
    const gate = stage.holdReplies(session)
    const turn = await session.prompt('Read.')
    await reached(gate, turn.result())
    await failsWith(session.compactNow(), 'busy', /wait for it, or ask with whenBusy "wait"/)
    await session.workflow.signal(requestCompactionSignal, { requestId: 'by-signal', focus: 'words' })
    const joined = { requestId: 'joined', focus: 'words', whenBusy: 'wait' } as const
    assert.equal((await session.requestCompaction(joined)).status, 'joined')
    const waiting = session.compactNow(joined)
    assert.deepEqual(await stage.ofType(session, 'compact/start'), [], 'it waits')
    gate.open()
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    const result = (await waiting) ?? assert.fail('null')
    assert.deepEqual([result.turn, result.compactionId], [2, 'manual.by-signal'])
    const log = await stage.log(session)
    const at = (key: string) => log.findIndex((event) => event.key === key)
    assert.ok(at('t2.s1.tool.c4_0') < at(keys.compactStart(result.compactionId)))
    assert.ok(at(keys.compactEnd(result.compactionId)) < at('t2.s2.start'))
    const [start] = await stage.ofType(session, 'compact/start')
    const [end] = await stage.ofType(session, 'compact/end')
    assert.deepEqual([start?.turn, start?.data.turn, end?.turn, end?.data.turn], [2, 2, 2, 2])
  })

  test('D5: asked to wait in a turn that has no further step, it runs after the turn and belongs to none', async () => {
    const session = await stage.spoken()
    const gate = stage.holdReplies(session)
    const turn = await session.prompt('Hello.')
    await reached(gate, turn.result())
    const waiting = session.compactNow({ whenBusy: 'wait' })
    await eventually(
      () => session.state(),
      ({ waitingCompactions }) => waitingCompactions === 1,
    )
    gate.open()
    await turn.result({ timeoutMs: 120_000 })
    assert.equal((await waiting)?.turn, null)
  })

  test('D6: a live open bracket is busy; one of an earlier life ends as interrupted by the takeover, then the request goes on', async () => {
    const session = await stage.spoken()
    await whenIdle(session)
    const { owner: actor, head, generation } = (await session.stored()) ?? assert.fail('no session')
    const { nodes } = await stage.surface(session)
    const [first, last] = [nodes[0] as SurfaceNode, nodes[3] as SurfaceNode]
    await stage.store.openAttempt({
      sessionId: session.id,
      actor,
      expectedHead: head,
      copies: [],
      attempt: {
        compactionId: 'manual.other',
        cause: 'manual',
        turn: null,
        childWorkflowId: `${session.id}/compact/manual.other`,
        namespace: 'default',
        cluster: 'another',
        deadline: Date.now() + 1_800_000,
      },
      plan: {
        shadowedSeqs: nodes.slice(0, 4).map(({ seq }) => seq),
        shadowedTokenCount: nodes.slice(0, 4).reduce((sum, { tokens }) => sum + tokens, 0),
        generation,
        chunkEnds: [last.seq],
        tokensBefore: 4_000,
        checkpointTokens: 1_000,
      },
    })
    await failsWith(session.compactNow(), 'busy')
    assert.equal((await session.stored())?.openCompactionId, 'manual.other', 'it is left alone')
    await session.workflow.terminate()
    const result = (await session.compactNow()) ?? assert.fail('null')
    assert.equal(result.shadowedRange.start, first.seq)
    const ends = await stage.ofType(session, 'compact/end')
    assert.deepEqual(
      ends.map(({ data }) => [data.compactionId, data.error?.code]),
      [
        ['manual.other', 'interrupted'],
        [result.compactionId, undefined],
      ],
    )
    const [seed] = await stage.ofType(session, 'session/end-seed')
    assert.ok((ends[0]?.seq ?? 0) < (seed?.seq ?? 0) && (seed?.seq ?? 0) < result.startSeq)
  })
})
