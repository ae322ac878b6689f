import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Session } from '../../src/client/index.ts'
import { eventually } from '../support/eventually.ts'
import { failsAs } from '../support/fails-as.ts'
import { Gate } from '../support/gate.ts'
import { read, readingModel, WORDS } from '../support/reading-session.ts'
import { openRealSessions, type RealSessions } from '../support/real-sessions.ts'

// Undo of a compaction, from the client to the log and back.

const { model, requests, turnGates, summaryGates } = readingModel()
const POLICY = { micro: false, prune: false }

let real: RealSessions
before(async () => {
  real = await openRealSessions({ scripted: model }, [WORDS])
})
after(() => real.close())

const start = (policy: object = {}) =>
  real.start({ model: 'scripted/large', policy: { ...POLICY, ...policy } })

async function compacted(session: Session): Promise<string> {
  const result = await session.compactNow()
  assert.ok(result !== null)
  return result.compactionId
}

const seqs = async (session: Session) => (await real.store.surface(session.id)).nodes.map((node) => node.seq)

describe('preview', () => {
  test('says what the compaction does that follows, by the store alone, and writes nothing', async () => {
    const session = await start()
    assert.deepEqual((await session.previewCompaction()).outcome, 'nothing')
    await read(session, 3)
    const before = await real.store.session(session.id)
    const preview = await session.previewCompaction({ focus: 'the words' })
    assert.ok(preview.outcome === 'compacted')
    assert.deepEqual(await real.store.session(session.id), before)
    const result = await session.compactNow({ focus: 'the words' })
    assert.deepEqual(preview.span, result?.shadowedRange)
    assert.equal(preview.messages, result?.shadowedSeqs.length)
    assert.equal(preview.kept + preview.messages, before === null ? 0 : 8)
    assert.equal(preview.spanTokens, result?.shadowedTokenCount)
    assert.equal(preview.tokensBefore, result?.tokensBefore)
    assert.ok(preview.tokensAfter < preview.tokensBefore && preview.tokensAfter > 0)
    assert.deepEqual([preview.model, preview.calls], ['scripted/large', result?.paid.calls])
    const paid = result?.paid.usage
    const asked = preview.usage.inputTokens + preview.usage.cacheReadTokens
    const spent = (paid?.inputTokens ?? 0) + (paid?.cacheReadTokens ?? 0) + (paid?.cacheWriteTokens ?? 0)
    assert.ok(Math.abs(asked - spent) < 0.5 * spent, `${asked} foreseen, ${spent} paid`)
  })

  test('E3 a region is refused as the compaction of it is', async () => {
    const session = await start()
    await read(session, 3)
    const { nodes } = await real.store.surface(session.id)
    const call = nodes[1]?.seq ?? 0
    await failsAs(
      'InvalidSpan',
      session.previewCompaction({ span: { start: call, end: call } }),
      /separates call call_0/,
    )
    await failsAs('InvalidInput', session.previewCompaction({ focus: 'x'.repeat(801) }), /focus/)
  })
})

describe('undo', { concurrency: true }, () => {
  test('E6 the replaced messages return to their place, later ones stay behind, and the model sees them all', async () => {
    const session = await start()
    await read(session, 3)
    const before = await seqs(session)
    const id = await compacted(session)
    const tail = await seqs(session)
    await read(session, 1)
    const later = (await seqs(session)).slice(tail.length)
    const undone = await session.undoCompaction(id, { requestId: 'undo-1' })
    assert.deepEqual(await seqs(session), [...before, ...later])
    assert.ok(undone.tokensAfter > undone.tokensBefore)
    assert.equal((await session.undoCompaction(id, { requestId: 'undo-1' })).seq, undone.seq)
    const [stored, live] = [await session.compactions(), await session.compactionHistory()]
    const seen = (records: typeof live) =>
      records.map(({ compactionId, undoneAt, startedAt, endedAt }) => [
        compactionId,
        undoneAt,
        startedAt,
        endedAt,
      ])
    assert.deepEqual(
      stored.map(({ undoneAt }) => undoneAt),
      [undone.seq],
    )
    assert.deepEqual(seen(live), seen(stored), 'both by the store, times too')
    await read(session, 0)
    const results = requests
      .get(session.id)
      ?.at(-1)
      ?.messages.flatMap(({ content }) => content.filter((block) => block.type === 'tool_result'))
    assert.equal(results?.length, 4)
    const restores = (await real.log(session)).filter((event) => event.type === 'compact/restore')
    assert.deepEqual(
      restores.map((event) => event.seq),
      [undone.seq],
    )
  })

  test('E6 refused with both numbers when the result would not be below the pressure limit', async () => {
    const session = await start({ thresholdTokens: 9_000, retainTokens: 500 })
    await read(session, 6)
    const id = await compacted(session)
    await read(session, 6)
    const before = await real.store.session(session.id)
    await failsAs('ContextTooLarge', session.undoCompaction(id), /about (9|1\d)\d{3} tokens/, /below 9000/)
    const now = await real.store.session(session.id)
    assert.equal(now?.head, before?.head)
  })

  test('E6 refused while a later compaction covers the checkpoint; newest first, both can be undone', async () => {
    const session = await start()
    await read(session, 3)
    const before = await seqs(session)
    const first = await compacted(session)
    await read(session, 3)
    const second = await compacted(session)
    await failsAs('InvalidInput', session.undoCompaction(first), new RegExp(`${second} covers`))
    await session.undoCompaction(second)
    await session.undoCompaction(first)
    assert.deepEqual((await seqs(session)).slice(0, before.length), before)
    await failsAs('InvalidInput', session.undoCompaction(first), /undone already, by event #\d+/)
    const third = await compacted(session)
    assert.notEqual(third, first)
  })

  test('E6 an unknown id and an attempt that replaced nothing are one clear error each', async () => {
    const session = await start()
    await failsAs('InvalidInput', session.undoCompaction('manual.nobody'), /no compaction "manual.nobody"/)
    assert.equal(await session.compactNow({ requestId: 'empty' }), null)
    await failsAs('InvalidInput', session.undoCompaction('manual.empty'), /ended as nothing/)
    await session.close()
    await eventually(
      () => real.store.session(session.id),
      (row) => row?.closed === true,
    )
    await failsAs('SessionClosed', session.undoCompaction('manual.empty'), /start it again/)
  })

  test('during a turn it acts at the next step boundary', async () => {
    const session = await start()
    await read(session, 3)
    const id = await compacted(session)
    const gate = new Gate()
    turnGates.set(session.id, gate)
    const turn = await session.prompt('Read 1.')
    await gate.reached
    const undoing = session.undoCompaction(id)
    await eventually(
      () => real.store.inbox(session.id, { kind: 'control' }),
      (rows) => rows[0]?.state === 'waiting',
    )
    gate.open()
    const { seq } = await undoing
    assert.equal((await turn.result({ timeoutMs: 120_000 })).reason, 'completed')
    const around = (await real.log(session)).filter((event) => event.turn === 2 || event.seq === seq)
    const types = around.map((event) => event.type)
    assert.deepEqual(types.slice(types.indexOf('tool/result'), types.indexOf('tool/result') + 4), [
      'tool/result',
      'compact/restore',
      'step/end',
      'step/start',
    ])
  })

  test('during an attempt it acts after its end, and sees what that did', async () => {
    const session = await start()
    await read(session, 3)
    const id = await compacted(session)
    await read(session, 3)
    const gate = new Gate()
    summaryGates.set(session.id, gate)
    const second = session.compactNow({ requestId: 'second' })
    await gate.reached
    const undoing = session.undoCompaction(id)
    undoing.catch(() => undefined)
    await eventually(
      () => real.store.inbox(session.id, { kind: 'control' }),
      (rows) => rows[0]?.state === 'waiting',
    )
    gate.open()
    assert.equal((await second)?.compactionId, 'manual.second')
    await failsAs('InvalidInput', undoing, /manual\.second covers/)
  })
})
